// Updates that scale each element's step by what its gradients have been.
#include <cmath>

#include "kernels/ref/training_kernel.h"

namespace carillon {
namespace update {

template <typename C>
struct Adagrad {
  static constexpr int kSlots = 1;
  Adagrad(const Hyperparameters& h, const UpdateFlags& flags)
      : lr(C(h[0])), update_slots(flags.update_slots) {}
  void operator()(C& var, C& accum, C grad) const {
    accum += update_slots ? grad * grad : C(0);
    var -= grad * lr / std::sqrt(accum);
  }
  C lr;
  bool update_slots;
};

template <typename C>
struct AdagradV2 {
  static constexpr int kSlots = 1;
  AdagradV2(const Hyperparameters& h, const UpdateFlags& flags)
      : lr(C(h[0])), epsilon(C(h[1])), update_slots(flags.update_slots) {}
  void operator()(C& var, C& accum, C grad) const {
    accum += update_slots ? grad * grad : C(0);
    var -= grad * lr / (std::sqrt(accum) + epsilon);
  }
  C lr, epsilon;
  bool update_slots;
};

template <typename C>
struct Adadelta {
  static constexpr int kSlots = 2;
  Adadelta(const Hyperparameters& h, const UpdateFlags&)
      : lr(C(h[0])), rho(C(h[1])), epsilon(C(h[2])) {}
  void operator()(C& var, C& accum, C& accum_update, C grad) const {
    accum = accum * rho + grad * grad * (C(1) - rho);
    const C update = std::sqrt(accum_update + epsilon) / std::sqrt(accum + epsilon) * grad;
    var -= update * lr;
    accum_update = accum_update * rho + update * update * (C(1) - rho);
  }
  C lr, rho, epsilon;
};

template <typename C>
struct RMSProp {
  static constexpr int kSlots = 2;
  RMSProp(const Hyperparameters& h, const UpdateFlags&)
      : lr(C(h[0])), rho(C(h[1])), momentum(C(h[2])), epsilon(C(h[3])) {}
  void operator()(C& var, C& ms, C& mom, C grad) const {
    ms += (grad * grad - ms) * (C(1) - rho);
    mom = mom * momentum + grad * lr / std::sqrt(ms + epsilon);
    var -= mom;
  }
  C lr, rho, momentum, epsilon;
};

template <typename C>
struct CenteredRMSProp {
  static constexpr int kSlots = 3;
  CenteredRMSProp(const Hyperparameters& h, const UpdateFlags&)
      : lr(C(h[0])), rho(C(h[1])), momentum(C(h[2])), epsilon(C(h[3])) {}
  void operator()(C& var, C& mg, C& ms, C& mom, C grad) const {
    ms += (grad * grad - ms) * (C(1) - rho);
    mg += (grad - mg) * (C(1) - rho);
    mom = mom * momentum + grad * lr / std::sqrt(ms - mg * mg + epsilon);
    var -= mom;
  }
  C lr, rho, momentum, epsilon;
};

template <typename C>
struct Adam {
  static constexpr int kSlots = 2;
  Adam(const Hyperparameters& h, const UpdateFlags& flags)
      : alpha(C(h[2]) * std::sqrt(C(1) - C(h[1])) / (C(1) - C(h[0]))),
        beta1(C(h[3])),
        beta2(C(h[4])),
        epsilon(C(h[5])),
        nesterov(flags.use_nesterov) {}
  void operator()(C& var, C& m, C& v, C grad) const {
    m += (grad - m) * (C(1) - beta1);
    v += (grad * grad - v) * (C(1) - beta2);
    const C direction = nesterov ? grad * (C(1) - beta1) + beta1 * m : m;
    var -= direction * alpha / (std::sqrt(v) + epsilon);
  }
  C alpha, beta1, beta2, epsilon;
  bool nesterov;
};

template <typename C>
struct AdaMax {
  static constexpr int kSlots = 2;
  AdaMax(const Hyperparameters& h, const UpdateFlags&)
      : alpha(C(h[1]) / (C(1) - C(h[0]))), beta1(C(h[2])), beta2(C(h[3])), epsilon(C(h[4])) {}
  void operator()(C& var, C& m, C& v, C grad) const {
    m += (grad - m) * (C(1) - beta1);
    v = std::max(beta2 * v, std::abs(grad));
    var -= alpha * m / (v + epsilon);
  }
  C alpha, beta1, beta2, epsilon;
};

}  // namespace update

void AddAdaptiveUpdateKernels(KernelTable& table) {
  table.Add({
      {"ApplyAdagrad", "ref", FromClass<RuleKernel<update::Adagrad>>},
      {"SparseApplyAdagrad", "ref", FromClass<RuleKernel<update::Adagrad>>},
      {"ResourceApplyAdagrad", "ref", FromClass<RuleKernel<update::Adagrad>>},
      {"ResourceSparseApplyAdagrad", "ref", FromClass<RuleKernel<update::Adagrad>>},
      {"ApplyAdagradV2", "ref", FromClass<RuleKernel<update::AdagradV2>>},
      {"SparseApplyAdagradV2", "ref", FromClass<RuleKernel<update::AdagradV2>>},
      {"ResourceApplyAdagradV2", "ref", FromClass<RuleKernel<update::AdagradV2>>},
      {"ResourceSparseApplyAdagradV2", "ref", FromClass<RuleKernel<update::AdagradV2>>},
      {"ApplyAdadelta", "ref", FromClass<RuleKernel<update::Adadelta>>},
      {"SparseApplyAdadelta", "ref", FromClass<RuleKernel<update::Adadelta>>},
      {"ResourceApplyAdadelta", "ref", FromClass<RuleKernel<update::Adadelta>>},
      {"ResourceSparseApplyAdadelta", "ref", FromClass<RuleKernel<update::Adadelta>>},
      {"ApplyRMSProp", "ref", FromClass<RuleKernel<update::RMSProp>>},
      {"SparseApplyRMSProp", "ref", FromClass<RuleKernel<update::RMSProp>>},
      {"ResourceApplyRMSProp", "ref", FromClass<RuleKernel<update::RMSProp>>},
      {"ResourceSparseApplyRMSProp", "ref", FromClass<RuleKernel<update::RMSProp>>},
      {"ApplyCenteredRMSProp", "ref", FromClass<RuleKernel<update::CenteredRMSProp>>},
      {"SparseApplyCenteredRMSProp", "ref", FromClass<RuleKernel<update::CenteredRMSProp>>},
      {"ResourceApplyCenteredRMSProp", "ref", FromClass<RuleKernel<update::CenteredRMSProp>>},
      {"ResourceSparseApplyCenteredRMSProp", "ref", FromClass<RuleKernel<update::CenteredRMSProp>>},
      {"ApplyAdam", "ref", FromClass<RuleKernel<update::Adam>>},
      {"ResourceApplyAdam", "ref", FromClass<RuleKernel<update::Adam>>},
      {"ApplyAdaMax", "ref", FromClass<RuleKernel<update::AdaMax>>},
      {"ResourceApplyAdaMax", "ref", FromClass<RuleKernel<update::AdaMax>>},
  });
}

}  // namespace carillon
