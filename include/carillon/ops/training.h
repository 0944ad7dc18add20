// Optimizer updates as ops. Programs use the optimizers, which are written with these.
//
// The variable and its slots are given as the outputs that stand for them (see
// carillon/ops/state.h), all of one shape, changed in place. Hyperparameters are scalars of the
// variable's dtype. In the Sparse forms `grad` has a row for each of `indices`, which may repeat:
// those rows of the variable are updated, one after the other; InvalidArgument for an index out of
// range.
#pragma once

#include "carillon/graph.h"

namespace carillon {

// var -= alpha · delta
Operation ApplyGradientDescent(const Output& var, const Input& alpha, const Input& delta);
// The same, then shrunk towards zero by l1 and l2.
Operation ApplyProximalGradientDescent(const Output& var, const Input& alpha, const Input& l1,
                                       const Input& l2, const Input& delta);
Operation SparseApplyProximalGradientDescent(const Output& var, const Input& alpha, const Input& l1,
                                             const Input& l2, const Input& grad,
                                             const Input& indices);
// accum = momentum · accum + grad; var -= lr · accum, or with Nesterov's step lr · (grad + momentum
// · accum).
Operation ApplyMomentum(const Output& var, const Output& accum, const Input& lr, const Input& grad,
                        const Input& momentum, bool use_nesterov = false);
Operation SparseApplyMomentum(const Output& var, const Output& accum, const Input& lr,
                              const Input& grad, const Input& indices, const Input& momentum,
                              bool use_nesterov = false);
// accum = momentum · accum - lr · grad; var += accum, or momentum · accum - lr · grad. Handles
// only.
Operation ApplyKerasMomentum(const Output& var, const Output& accum, const Input& lr,
                             const Input& grad, const Input& momentum, bool use_nesterov = false);
Operation SparseApplyKerasMomentum(const Output& var, const Output& accum, const Input& lr,
                                   const Input& grad, const Input& indices, const Input& momentum,
                                   bool use_nesterov = false);
// accum += grad²; var -= lr · grad / √accum. Without `update_slots` accum stays.
Operation ApplyAdagrad(const Output& var, const Output& accum, const Input& lr, const Input& grad,
                       bool update_slots = true);
Operation SparseApplyAdagrad(const Output& var, const Output& accum, const Input& lr,
                             const Input& grad, const Input& indices, bool update_slots = true);
// … / (√accum + epsilon).
Operation ApplyAdagradV2(const Output& var, const Output& accum, const Input& lr,
                         const Input& epsilon, const Input& grad, bool update_slots = true);
Operation SparseApplyAdagradV2(const Output& var, const Output& accum, const Input& lr,
                               const Input& epsilon, const Input& grad, const Input& indices,
                               bool update_slots = true);
// Adagrad, then shrunk towards zero by l1 and l2.
Operation ApplyProximalAdagrad(const Output& var, const Output& accum, const Input& lr,
                               const Input& l1, const Input& l2, const Input& grad);
Operation SparseApplyProximalAdagrad(const Output& var, const Output& accum, const Input& lr,
                                     const Input& l1, const Input& l2, const Input& grad,
                                     const Input& indices);
// Steps scaled by the ratio of past steps to past gradients.
Operation ApplyAdadelta(const Output& var, const Output& accum, const Output& accum_update,
                        const Input& lr, const Input& rho, const Input& epsilon, const Input& grad);
Operation SparseApplyAdadelta(const Output& var, const Output& accum, const Output& accum_update,
                              const Input& lr, const Input& rho, const Input& epsilon,
                              const Input& grad, const Input& indices);
// ms = rho · ms + (1 - rho) · grad²; mom = momentum · mom + lr · grad / √(ms + epsilon); var -=
// mom.
Operation ApplyRMSProp(const Output& var, const Output& ms, const Output& mom, const Input& lr,
                       const Input& rho, const Input& momentum, const Input& epsilon,
                       const Input& grad);
Operation SparseApplyRMSProp(const Output& var, const Output& ms, const Output& mom,
                             const Input& lr, const Input& rho, const Input& momentum,
                             const Input& epsilon, const Input& grad, const Input& indices);
// The same with the variance of the gradients, ms - mg².
Operation ApplyCenteredRMSProp(const Output& var, const Output& mg, const Output& ms,
                               const Output& mom, const Input& lr, const Input& rho,
                               const Input& momentum, const Input& epsilon, const Input& grad);
Operation SparseApplyCenteredRMSProp(const Output& var, const Output& mg, const Output& ms,
                                     const Output& mom, const Input& lr, const Input& rho,
                                     const Input& momentum, const Input& epsilon, const Input& grad,
                                     const Input& indices);
// m and v are running means of grad and grad²; var -= lr · √(1 - beta2_power) / (1 - beta1_power) ·
// m / (√v + epsilon).
Operation ApplyAdam(const Output& var, const Output& m, const Output& v, const Input& beta1_power,
                    const Input& beta2_power, const Input& lr, const Input& beta1,
                    const Input& beta2, const Input& epsilon, const Input& grad,
                    bool use_nesterov = false);
// Adam with v the largest |grad|, decayed by beta2.
Operation ApplyAdaMax(const Output& var, const Output& m, const Output& v, const Input& beta1_power,
                      const Input& lr, const Input& beta1, const Input& beta2, const Input& epsilon,
                      const Input& grad);
// Follow the regularised leader, with l1 and l2.
Operation ApplyFtrl(const Output& var, const Output& accum, const Output& linear, const Input& grad,
                    const Input& lr, const Input& l1, const Input& l2, const Input& lr_power,
                    bool multiply_linear_by_lr = false);
Operation SparseApplyFtrl(const Output& var, const Output& accum, const Output& linear,
                          const Input& grad, const Input& indices, const Input& lr, const Input& l1,
                          const Input& l2, const Input& lr_power,
                          bool multiply_linear_by_lr = false);
// … with shrinkage, which penalises magnitude and not sparsity.
Operation ApplyFtrlV2(const Output& var, const Output& accum, const Output& linear,
                      const Input& grad, const Input& lr, const Input& l1, const Input& l2,
                      const Input& l2_shrinkage, const Input& lr_power,
                      bool multiply_linear_by_lr = false);
Operation SparseApplyFtrlV2(const Output& var, const Output& accum, const Output& linear,
                            const Input& grad, const Input& indices, const Input& lr,
                            const Input& l1, const Input& l2, const Input& l2_shrinkage,
                            const Input& lr_power, bool multiply_linear_by_lr = false);

}  // namespace carillon
