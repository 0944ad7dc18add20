#include "carillon/ops/training.h"

#include <initializer_list>
#include <string>
#include <utility>

#include "base/strings.h"
#include "carillon/op_builder.h"
#include "graph/build/variable_kind.h"

namespace carillon {
namespace {

using Flag = std::pair<const char*, bool>;

// `inputs` in the op's order, the variable first.
Operation Update(const char* op, std::initializer_list<Input> inputs,
                 std::initializer_list<Flag> flags = {}) {
  const Output& variable = inputs.begin()->output();
  OpBuilder builder(IsReference(variable) ? std::string(op) : StrCat("Resource", op));
  for (const Input& input : inputs) builder.Arg(input);
  builder.Attr("T", VariableDType(variable));
  for (const auto& [name, value] : flags) builder.Attr(name, value);
  return builder.Build();
}

}  // namespace

Operation ApplyGradientDescent(const Output& var, const Input& alpha, const Input& delta) {
  return Update("ApplyGradientDescent", {var, alpha, delta});
}
Operation ApplyProximalGradientDescent(const Output& var, const Input& alpha, const Input& l1,
                                       const Input& l2, const Input& delta) {
  return Update("ApplyProximalGradientDescent", {var, alpha, l1, l2, delta});
}
Operation SparseApplyProximalGradientDescent(const Output& var, const Input& alpha, const Input& l1,
                                             const Input& l2, const Input& grad,
                                             const Input& indices) {
  return Update("SparseApplyProximalGradientDescent", {var, alpha, l1, l2, grad, indices});
}
Operation ApplyMomentum(const Output& var, const Output& accum, const Input& lr, const Input& grad,
                        const Input& momentum, bool use_nesterov) {
  return Update("ApplyMomentum", {var, accum, lr, grad, momentum},
                {{"use_nesterov", use_nesterov}});
}
Operation SparseApplyMomentum(const Output& var, const Output& accum, const Input& lr,
                              const Input& grad, const Input& indices, const Input& momentum,
                              bool use_nesterov) {
  return Update("SparseApplyMomentum", {var, accum, lr, grad, indices, momentum},
                {{"use_nesterov", use_nesterov}});
}
Operation ApplyKerasMomentum(const Output& var, const Output& accum, const Input& lr,
                             const Input& grad, const Input& momentum, bool use_nesterov) {
  return Update("ApplyKerasMomentum", {var, accum, lr, grad, momentum},
                {{"use_nesterov", use_nesterov}});
}
Operation SparseApplyKerasMomentum(const Output& var, const Output& accum, const Input& lr,
                                   const Input& grad, const Input& indices, const Input& momentum,
                                   bool use_nesterov) {
  return Update("SparseApplyKerasMomentum", {var, accum, lr, grad, indices, momentum},
                {{"use_nesterov", use_nesterov}});
}
Operation ApplyAdagrad(const Output& var, const Output& accum, const Input& lr, const Input& grad,
                       bool update_slots) {
  return Update("ApplyAdagrad", {var, accum, lr, grad}, {{"update_slots", update_slots}});
}
Operation SparseApplyAdagrad(const Output& var, const Output& accum, const Input& lr,
                             const Input& grad, const Input& indices, bool update_slots) {
  return Update("SparseApplyAdagrad", {var, accum, lr, grad, indices},
                {{"update_slots", update_slots}});
}
Operation ApplyAdagradV2(const Output& var, const Output& accum, const Input& lr,
                         const Input& epsilon, const Input& grad, bool update_slots) {
  return Update("ApplyAdagradV2", {var, accum, lr, epsilon, grad},
                {{"update_slots", update_slots}});
}
Operation SparseApplyAdagradV2(const Output& var, const Output& accum, const Input& lr,
                               const Input& epsilon, const Input& grad, const Input& indices,
                               bool update_slots) {
  return Update("SparseApplyAdagradV2", {var, accum, lr, epsilon, grad, indices},
                {{"update_slots", update_slots}});
}
Operation ApplyProximalAdagrad(const Output& var, const Output& accum, const Input& lr,
                               const Input& l1, const Input& l2, const Input& grad) {
  return Update("ApplyProximalAdagrad", {var, accum, lr, l1, l2, grad});
}
Operation SparseApplyProximalAdagrad(const Output& var, const Output& accum, const Input& lr,
                                     const Input& l1, const Input& l2, const Input& grad,
                                     const Input& indices) {
  return Update("SparseApplyProximalAdagrad", {var, accum, lr, l1, l2, grad, indices});
}
Operation ApplyAdadelta(const Output& var, const Output& accum, const Output& accum_update,
                        const Input& lr, const Input& rho, const Input& epsilon,
                        const Input& grad) {
  return Update("ApplyAdadelta", {var, accum, accum_update, lr, rho, epsilon, grad});
}
Operation SparseApplyAdadelta(const Output& var, const Output& accum, const Output& accum_update,
                              const Input& lr, const Input& rho, const Input& epsilon,
                              const Input& grad, const Input& indices) {
  return Update("SparseApplyAdadelta", {var, accum, accum_update, lr, rho, epsilon, grad, indices});
}
Operation ApplyRMSProp(const Output& var, const Output& ms, const Output& mom, const Input& lr,
                       const Input& rho, const Input& momentum, const Input& epsilon,
                       const Input& grad) {
  return Update("ApplyRMSProp", {var, ms, mom, lr, rho, momentum, epsilon, grad});
}
Operation SparseApplyRMSProp(const Output& var, const Output& ms, const Output& mom,
                             const Input& lr, const Input& rho, const Input& momentum,
                             const Input& epsilon, const Input& grad, const Input& indices) {
  return Update("SparseApplyRMSProp", {var, ms, mom, lr, rho, momentum, epsilon, grad, indices});
}
Operation ApplyCenteredRMSProp(const Output& var, const Output& mg, const Output& ms,
                               const Output& mom, const Input& lr, const Input& rho,
                               const Input& momentum, const Input& epsilon, const Input& grad) {
  return Update("ApplyCenteredRMSProp", {var, mg, ms, mom, lr, rho, momentum, epsilon, grad});
}
Operation SparseApplyCenteredRMSProp(const Output& var, const Output& mg, const Output& ms,
                                     const Output& mom, const Input& lr, const Input& rho,
                                     const Input& momentum, const Input& epsilon, const Input& grad,
                                     const Input& indices) {
  return Update("SparseApplyCenteredRMSProp",
                {var, mg, ms, mom, lr, rho, momentum, epsilon, grad, indices});
}
Operation ApplyAdam(const Output& var, const Output& m, const Output& v, const Input& beta1_power,
                    const Input& beta2_power, const Input& lr, const Input& beta1,
                    const Input& beta2, const Input& epsilon, const Input& grad,
                    bool use_nesterov) {
  return Update("ApplyAdam", {var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad},
                {{"use_nesterov", use_nesterov}});
}
Operation ApplyAdaMax(const Output& var, const Output& m, const Output& v, const Input& beta1_power,
                      const Input& lr, const Input& beta1, const Input& beta2, const Input& epsilon,
                      const Input& grad) {
  return Update("ApplyAdaMax", {var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad});
}
Operation ApplyFtrl(const Output& var, const Output& accum, const Output& linear, const Input& grad,
                    const Input& lr, const Input& l1, const Input& l2, const Input& lr_power,
                    bool multiply_linear_by_lr) {
  return Update("ApplyFtrl", {var, accum, linear, grad, lr, l1, l2, lr_power},
                {{"multiply_linear_by_lr", multiply_linear_by_lr}});
}
Operation SparseApplyFtrl(const Output& var, const Output& accum, const Output& linear,
                          const Input& grad, const Input& indices, const Input& lr, const Input& l1,
                          const Input& l2, const Input& lr_power, bool multiply_linear_by_lr) {
  return Update("SparseApplyFtrl", {var, accum, linear, grad, indices, lr, l1, l2, lr_power},
                {{"multiply_linear_by_lr", multiply_linear_by_lr}});
}
Operation ApplyFtrlV2(const Output& var, const Output& accum, const Output& linear,
                      const Input& grad, const Input& lr, const Input& l1, const Input& l2,
                      const Input& l2_shrinkage, const Input& lr_power,
                      bool multiply_linear_by_lr) {
  return Update("ApplyFtrlV2", {var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power},
                {{"multiply_linear_by_lr", multiply_linear_by_lr}});
}
Operation SparseApplyFtrlV2(const Output& var, const Output& accum, const Output& linear,
                            const Input& grad, const Input& indices, const Input& lr,
                            const Input& l1, const Input& l2, const Input& l2_shrinkage,
                            const Input& lr_power, bool multiply_linear_by_lr) {
  return Update("SparseApplyFtrlV2",
                {var, accum, linear, grad, indices, lr, l1, l2, l2_shrinkage, lr_power},
                {{"multiply_linear_by_lr", multiply_linear_by_lr}});
}

}  // namespace carillon
