// Updates whose step is the gradient's, perhaps with a memory of its direction: GradientDescent,
// Momentum, and the proximal forms, which shrink towards zero.
#include <cmath>

#include "kernels/ref/training_kernel.h"

namespace carillon {
namespace update {

template <typename C>
struct GradientDescent {
  static constexpr int kSlots = 0;
  GradientDescent(const Hyperparameters& h, const UpdateFlags&) : alpha(C(h[0])) {}
  void operator()(C& var, C grad) const { var -= alpha * grad; }
  C alpha;
};

// What is left of `x` when it moves by `threshold` towards zero.
template <typename C>
C Shrink(C x, C threshold) {
  return std::copysign(std::max(std::abs(x) - threshold, C(0)), x);
}

template <typename C>
struct ProximalGradientDescent {
  static constexpr int kSlots = 0;
  ProximalGradientDescent(const Hyperparameters& h, const UpdateFlags&)
      : alpha(C(h[0])), threshold(alpha * std::max(C(h[1]), C(0))), scale(C(1) + C(h[2]) * alpha) {}
  void operator()(C& var, C grad) const { var = Shrink(var - alpha * grad, threshold) / scale; }
  C alpha, threshold, scale;
};

template <typename C>
struct ProximalAdagrad {
  static constexpr int kSlots = 1;
  ProximalAdagrad(const Hyperparameters& h, const UpdateFlags&)
      : lr(C(h[0])), l1(std::max(C(h[1]), C(0))), l2(C(h[2])) {}
  void operator()(C& var, C& accum, C grad) const {
    accum += grad * grad;
    const C rate = lr / std::sqrt(accum);
    var = Shrink(var - grad * rate, rate * l1) / (C(1) + l2 * rate);
  }
  C lr, l1, l2;
};

template <typename C>
struct Momentum {
  static constexpr int kSlots = 1;
  Momentum(const Hyperparameters& h, const UpdateFlags& flags)
      : lr(C(h[0])), momentum(C(h[1])), nesterov(flags.use_nesterov) {}
  void operator()(C& var, C& accum, C grad) const {
    accum = accum * momentum + grad;
    var -= lr * (nesterov ? grad + accum * momentum : accum);
  }
  C lr, momentum;
  bool nesterov;
};

// Keras puts the learning rate into the accumulator.
template <typename C>
struct KerasMomentum {
  static constexpr int kSlots = 1;
  KerasMomentum(const Hyperparameters& h, const UpdateFlags& flags)
      : lr(C(h[0])), momentum(C(h[1])), nesterov(flags.use_nesterov) {}
  void operator()(C& var, C& accum, C grad) const {
    accum = accum * momentum - grad * lr;
    var += nesterov ? accum * momentum - grad * lr : accum;
  }
  C lr, momentum;
  bool nesterov;
};

}  // namespace update

void AddSimpleUpdateKernels(KernelTable& table) {
  table.Add({
      {"ApplyGradientDescent", "ref", FromClass<RuleKernel<update::GradientDescent>>},
      {"ResourceApplyGradientDescent", "ref", FromClass<RuleKernel<update::GradientDescent>>},
      {"ApplyProximalGradientDescent", "ref",
       FromClass<RuleKernel<update::ProximalGradientDescent>>},
      {"SparseApplyProximalGradientDescent", "ref",
       FromClass<RuleKernel<update::ProximalGradientDescent>>},
      {"ResourceApplyProximalGradientDescent", "ref",
       FromClass<RuleKernel<update::ProximalGradientDescent>>},
      {"ResourceSparseApplyProximalGradientDescent", "ref",
       FromClass<RuleKernel<update::ProximalGradientDescent>>},
      {"ApplyProximalAdagrad", "ref", FromClass<RuleKernel<update::ProximalAdagrad>>},
      {"SparseApplyProximalAdagrad", "ref", FromClass<RuleKernel<update::ProximalAdagrad>>},
      {"ResourceApplyProximalAdagrad", "ref", FromClass<RuleKernel<update::ProximalAdagrad>>},
      {"ResourceSparseApplyProximalAdagrad", "ref", FromClass<RuleKernel<update::ProximalAdagrad>>},
      {"ApplyMomentum", "ref", FromClass<RuleKernel<update::Momentum>>},
      {"SparseApplyMomentum", "ref", FromClass<RuleKernel<update::Momentum>>},
      {"ResourceApplyMomentum", "ref", FromClass<RuleKernel<update::Momentum>>},
      {"ResourceSparseApplyMomentum", "ref", FromClass<RuleKernel<update::Momentum>>},
      {"ResourceApplyKerasMomentum", "ref", FromClass<RuleKernel<update::KerasMomentum>>},
      {"ResourceSparseApplyKerasMomentum", "ref", FromClass<RuleKernel<update::KerasMomentum>>},
  });
}

}  // namespace carillon
