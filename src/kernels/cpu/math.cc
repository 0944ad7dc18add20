// Functions of one operand in vector code; the other element-wise kernels are vector code as they
// stand in ref/.
#include "kernels/cpu/math.h"

#include "kernels/cpu/simd_math.h"
#include "kernels/families.h"
#include "kernels/ref/elementwise.h"

namespace carillon {
namespace {

template <float (*function)(float)>
struct Function {
  static float Apply(float x) { return function(x); }
};

template <float (*function)(float)>
KernelResult FromSimd(const KernelRequest& request) {
  if (request.input_dtype(0) != kFloat) return Unimplemented("only for float");
  constexpr int64_t kGrain = 16 * 1024;
  return MakeUnaryKernel(request, RunUnaryLoop<Function<function>, float, float>, kGrain);
}

}  // namespace

void AddMathCpuKernels(KernelTable& table) {
  table.Add({
      {"Exp", "simd", FromSimd<simd::Exp>},
      {"Expm1", "simd", FromSimd<simd::Expm1>},
      {"Log", "simd", FromSimd<simd::Log>},
      {"Log1p", "simd", FromSimd<simd::Log1p>},
      {"Sigmoid", "simd", FromSimd<simd::Sigmoid>},
      {"Tanh", "simd", FromSimd<simd::Tanh>},
      {"Erf", "simd", FromSimd<simd::Erf>},
  });
  AddMatMulCpuKernels(table);
}

}  // namespace carillon
