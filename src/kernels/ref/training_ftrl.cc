// Follow the regularised leader (McMahan et al.: "Ad click prediction: a view from the trenches",
// 2013).
#include <cmath>

#include "kernels/ref/training_kernel.h"

namespace carillon {
namespace update {

// Without shrinkage the hyperparameters are lr, l1, l2, lr_power; with it l2_shrinkage comes before
// the last.
template <typename C, bool with_shrinkage>
struct FtrlFormula {
  static constexpr int kSlots = 2;
  static constexpr size_t kPower = with_shrinkage ? 4 : 3;

  static Status Check(const Hyperparameters& h, const UpdateFlags& flags) {
    if (!(h[0] > 0 || (h[0] == 0 && flags.multiply_linear_by_lr))) {
      return InvalidArgument("lr must be positive but is ", h[0]);
    }
    if (!(h[1] >= 0)) return InvalidArgument("l1 must not be negative but is ", h[1]);
    if (!(h[2] >= 0)) return InvalidArgument("l2 must not be negative but is ", h[2]);
    if (with_shrinkage && !(h[3] >= 0)) {
      return InvalidArgument("l2_shrinkage must not be negative but is ", h[3]);
    }
    if (!(h[kPower] <= 0)) {
      return InvalidArgument("lr_power must not be positive but is ", h[kPower]);
    }
    return absl::OkStatus();
  }

  FtrlFormula(const Hyperparameters& h, const UpdateFlags& flags)
      : shrinkage(with_shrinkage ? C(2) * C(h[3]) : C(0)), power(-C(h[kPower])) {
    const C lr = C(h[0]);
    gradient_scale = flags.multiply_linear_by_lr ? lr : C(1);
    accum_divisor = flags.multiply_linear_by_lr ? C(1) : lr;
    l1 = C(h[1]) * gradient_scale;
    l2 = C(2) * C(h[2]) * gradient_scale;
  }

  void operator()(C& var, C& accum, C& linear, C grad) const {
    const C shrunk = grad + shrinkage * var;
    const C sum = accum + grad * grad;
    const bool square_root = power == C(0.5);
    const C now = square_root ? std::sqrt(sum) : std::pow(sum, power);
    const C before = square_root ? std::sqrt(accum) : std::pow(accum, power);
    linear += shrunk * gradient_scale - (now - before) / accum_divisor * var;
    const C quadratic = now / accum_divisor + l2;
    var = std::abs(linear) > l1 ? (std::copysign(l1, linear) - linear) / quadratic : C(0);
    accum = sum;
  }

  C shrinkage, power;
  // The linear term may be kept multiplied by the learning rate; both sides of the formula are
  // then.
  C gradient_scale, accum_divisor, l1, l2;
};

template <typename C>
struct Ftrl : FtrlFormula<C, false> {
  using FtrlFormula<C, false>::FtrlFormula;
};
template <typename C>
struct FtrlV2 : FtrlFormula<C, true> {
  using FtrlFormula<C, true>::FtrlFormula;
};

}  // namespace update

void AddFtrlUpdateKernels(KernelTable& table) {
  table.Add({
      {"ApplyFtrl", "ref", FromClass<RuleKernel<update::Ftrl>>},
      {"SparseApplyFtrl", "ref", FromClass<RuleKernel<update::Ftrl>>},
      {"ResourceApplyFtrl", "ref", FromClass<RuleKernel<update::Ftrl>>},
      {"ResourceSparseApplyFtrl", "ref", FromClass<RuleKernel<update::Ftrl>>},
      {"ApplyFtrlV2", "ref", FromClass<RuleKernel<update::FtrlV2>>},
      {"SparseApplyFtrlV2", "ref", FromClass<RuleKernel<update::FtrlV2>>},
      {"ResourceApplyFtrlV2", "ref", FromClass<RuleKernel<update::FtrlV2>>},
      {"ResourceSparseApplyFtrlV2", "ref", FromClass<RuleKernel<update::FtrlV2>>},
  });
}

}  // namespace carillon
