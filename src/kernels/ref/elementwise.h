// Kernels that compute each element from the elements at the same place: the typed inner loops, and
// the kernels around them, which know nothing of types.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/kernel.h"
#include "kernels/ref/arithmetic.h"
#include "tensor/dispatch.h"

namespace carillon {

// out[i] = f(in[i]) for n elements. `out` may be `in`.
using UnaryLoop = void (*)(const void* in, void* out, int64_t n);

// out[i] = f(a[i * a_stride], b[i * b_stride]) for n elements; the strides are 0 or 1. `out` may be
// `a` or `b` where that moves. False when f has no result for some pair.
using BinaryLoop = bool (*)(const void* a, int64_t a_stride, const void* b, int64_t b_stride,
                            void* out, int64_t n);

// How many elements make it worth to use another thread.
inline constexpr int64_t kCheapGrain = 32 * 1024;  // a few instructions an element
inline constexpr int64_t kCostlyGrain = 4 * 1024;  // a function of the C library

// A null loop declines: no kernel for that dtype.
KernelResult MakeUnaryKernel(const KernelRequest& request, UnaryLoop loop, int64_t grain);

struct BinaryTraits {
  int64_t grain = kCheapGrain;
  bool broadcasts = true;  // else both operands must have the same shape
  // The message of InvalidArgument when the loop returns false.
  std::string_view failure = "no result";
};
KernelResult MakeBinaryKernel(const KernelRequest& request, BinaryLoop loop,
                              const BinaryTraits& traits = {});

// An op of one argument is a struct:
//
//   struct Neg {
//     template <typename T>
//     static T Apply(T x) { return -x; }
//   };
//
// T is Compute<element type>. The result is converted to the output's element type.
template <typename Op, typename In, typename Out>
void RunUnaryLoop(const void* in_data, void* out_data, int64_t n) {
  const In* in = static_cast<const In*>(in_data);
  Out* out = static_cast<Out*>(out_data);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<Out>(Op::Apply(static_cast<Compute<In>>(in[i])));
}

// An op of two arguments has Apply(a, b); one that not every pair has a result for also has
// IsValid(a, b), and Apply then gives something harmless.
template <typename Op, typename In, typename Out>
bool RunBinaryLoop(const void* a_data, int64_t a_stride, const void* b_data, int64_t b_stride,
                   void* out_data, int64_t n) {
  using C = Compute<In>;
  const In* a = static_cast<const In*>(a_data);
  const In* b = static_cast<const In*>(b_data);
  Out* out = static_cast<Out*>(out_data);
  bool valid = true;
  const auto apply = [&valid](const C& x, const C& y) {
    if constexpr (requires { Op::IsValid(x, y); }) valid &= Op::IsValid(x, y);
    return static_cast<Out>(Op::Apply(x, y));
  };
  if (n == 1) {
    out[0] = apply(a[0], b[0]);
  } else if constexpr (kIsRare<In>) {
    for (int64_t i = 0; i < n; ++i) out[i] = apply(a[i * a_stride], b[i * b_stride]);
  } else if (a_stride == 0) {
    const C x = a[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = apply(x, b[i]);
  } else if (b_stride == 0) {
    const C y = b[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = apply(a[i], y);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = apply(a[i], b[i]);
  }
  return valid;
}

// The loops of an op for those element types; null for others. The output has the inputs' type
// unless Out is given.
template <typename Op, typename Out = void, typename... Ts>
UnaryLoop FindUnaryLoop(DType dtype, Types<Ts...>) {
  UnaryLoop loop = nullptr;
  DispatchAmong<Ts...>(dtype, [&]<typename T>() {
    loop = RunUnaryLoop<Op, T, std::conditional_t<std::is_void_v<Out>, T, Out>>;
  });
  return loop;
}
template <typename Op, typename Out = void, typename... Ts>
BinaryLoop FindBinaryLoop(DType dtype, Types<Ts...>) {
  BinaryLoop loop = nullptr;
  DispatchAmong<Ts...>(dtype, [&]<typename T>() {
    loop = RunBinaryLoop<Op, T, std::conditional_t<std::is_void_v<Out>, T, Out>>;
  });
  return loop;
}

// For the tables.
template <typename Op, typename TypeList, int64_t grain = kCheapGrain, typename Out = void>
KernelResult FromUnary(const KernelRequest& request) {
  return MakeUnaryKernel(request, FindUnaryLoop<Op, Out>(request.input_dtype(0), TypeList{}),
                         grain);
}
template <typename Op, typename TypeList, int64_t grain = kCheapGrain, typename Out = void>
KernelResult FromBinary(const KernelRequest& request) {
  BinaryTraits traits{.grain = grain};
  if constexpr (requires { Op::kFailure; }) traits.failure = Op::kFailure;
  return MakeBinaryKernel(request, FindBinaryLoop<Op, Out>(request.input_dtype(0), TypeList{}),
                          traits);
}

}  // namespace carillon
