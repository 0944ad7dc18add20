// Specs of the ops for optimizer updates.
#include "graph/op_spec.h"
#include "graph/shape_context.h"

namespace carillon {

void AddTrainingOps(OpTable& ops) {
  ops.Add("ApplyGradientDescent(var: ref(T), alpha: T, delta: T) -> (out: ref(T))",
          "T: {number}; use_locking: bool = false");
  ops.Add("ResourceApplyGradientDescent(var: resource, alpha: T, delta: T) -> ()",
          "T: {number}; use_locking: bool = false", {stateful});
  ops.Add(
      "ApplyProximalGradientDescent(var: ref(T), alpha: T, l1: T, l2: T, delta: T) -> (out: "
      "ref(T))",
      "T: {number}; use_locking: bool = false");
  ops.Add(
      "SparseApplyProximalGradientDescent(var: ref(T), alpha: T, l1: T, l2: T, grad: T, indices: "
      "Tindices) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false");
  ops.Add(
      "ResourceApplyProximalGradientDescent(var: resource, alpha: T, l1: T, l2: T, delta: T) -> ()",
      "T: {number}; use_locking: bool = false", {stateful});
  ops.Add(
      "ResourceSparseApplyProximalGradientDescent(var: resource, alpha: T, l1: T, l2: T, grad: T, "
      "indices: Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false", {stateful});
  ops.Add(
      "ApplyAdadelta(var: ref(T), accum: ref(T), accum_update: ref(T), lr: T, rho: T, epsilon: T, "
      "grad: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false");
  ops.Add(
      "SparseApplyAdadelta(var: ref(T), accum: ref(T), accum_update: ref(T), lr: T, rho: T, "
      "epsilon: T, grad: T, indices: Tindices) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false");
  ops.Add(
      "ResourceApplyAdadelta(var: resource, accum: resource, accum_update: resource, lr: T, rho: "
      "T, epsilon: T, grad: T) -> ()",
      "T: {number}; use_locking: bool = false", {stateful});
  ops.Add(
      "ResourceSparseApplyAdadelta(var: resource, accum: resource, accum_update: resource, lr: T, "
      "rho: T, epsilon: T, grad: T, indices: Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false", {stateful});
  ops.Add("ApplyAdagrad(var: ref(T), accum: ref(T), lr: T, grad: T) -> (out: ref(T))",
          "T: {number}; use_locking: bool = false; update_slots: bool = true");
  ops.Add(
      "SparseApplyAdagrad(var: ref(T), accum: ref(T), lr: T, grad: T, indices: Tindices) -> (out: "
      "ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; update_slots: bool = true");
  ops.Add("ResourceApplyAdagrad(var: resource, accum: resource, lr: T, grad: T) -> ()",
          "T: {number}; use_locking: bool = false; update_slots: bool = true", {stateful});
  ops.Add(
      "ResourceSparseApplyAdagrad(var: resource, accum: resource, lr: T, grad: T, indices: "
      "Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false; update_slots: bool = true",
      {stateful});
  ops.Add("ApplyAdagradV2(var: ref(T), accum: ref(T), lr: T, epsilon: T, grad: T) -> (out: ref(T))",
          "T: {number}; use_locking: bool = false; update_slots: bool = true");
  ops.Add(
      "SparseApplyAdagradV2(var: ref(T), accum: ref(T), lr: T, epsilon: T, grad: T, indices: "
      "Tindices) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; update_slots: bool = true");
  ops.Add(
      "ResourceApplyAdagradV2(var: resource, accum: resource, lr: T, epsilon: T, grad: T) -> ()",
      "T: {number}; use_locking: bool = false; update_slots: bool = true", {stateful});
  ops.Add(
      "ResourceSparseApplyAdagradV2(var: resource, accum: resource, lr: T, epsilon: T, grad: T, "
      "indices: Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false; update_slots: bool = true",
      {stateful});
  ops.Add(
      "ApplyProximalAdagrad(var: ref(T), accum: ref(T), lr: T, l1: T, l2: T, grad: T) -> (out: "
      "ref(T))",
      "T: {number}; use_locking: bool = false");
  ops.Add(
      "SparseApplyProximalAdagrad(var: ref(T), accum: ref(T), lr: T, l1: T, l2: T, grad: T, "
      "indices: Tindices) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false");
  ops.Add(
      "ResourceApplyProximalAdagrad(var: resource, accum: resource, lr: T, l1: T, l2: T, grad: T) "
      "-> ()",
      "T: {number}; use_locking: bool = false", {stateful});
  ops.Add(
      "ResourceSparseApplyProximalAdagrad(var: resource, accum: resource, lr: T, l1: T, l2: T, "
      "grad: T, indices: Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false", {stateful});
  ops.Add(
      "ApplyFtrl(var: ref(T), accum: ref(T), linear: ref(T), grad: T, lr: T, l1: T, l2: T, "
      "lr_power: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false; multiply_linear_by_lr: bool = false");
  ops.Add(
      "SparseApplyFtrl(var: ref(T), accum: ref(T), linear: ref(T), grad: T, indices: Tindices, lr: "
      "T, l1: T, l2: T, lr_power: T) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; multiply_linear_by_lr: bool = "
      "false");
  ops.Add(
      "ResourceApplyFtrl(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, "
      "l2: T, lr_power: T) -> ()",
      "T: {number}; use_locking: bool = false; multiply_linear_by_lr: bool = false", {stateful});
  ops.Add(
      "ResourceSparseApplyFtrl(var: resource, accum: resource, linear: resource, grad: T, indices: "
      "Tindices, lr: T, l1: T, l2: T, lr_power: T) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false; multiply_linear_by_lr: bool = "
      "false",
      {stateful});
  ops.Add(
      "ApplyFtrlV2(var: ref(T), accum: ref(T), linear: ref(T), grad: T, lr: T, l1: T, l2: T, "
      "l2_shrinkage: T, lr_power: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false; multiply_linear_by_lr: bool = false");
  ops.Add(
      "SparseApplyFtrlV2(var: ref(T), accum: ref(T), linear: ref(T), grad: T, indices: Tindices, "
      "lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; multiply_linear_by_lr: bool = "
      "false");
  ops.Add(
      "ResourceApplyFtrlV2(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: "
      "T, l2: T, l2_shrinkage: T, lr_power: T) -> ()",
      "T: {number}; use_locking: bool = false; multiply_linear_by_lr: bool = false", {stateful});
  ops.Add(
      "ResourceSparseApplyFtrlV2(var: resource, accum: resource, linear: resource, grad: T, "
      "indices: Tindices, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false; multiply_linear_by_lr: bool = "
      "false",
      {stateful});
  ops.Add("ApplyMomentum(var: ref(T), accum: ref(T), lr: T, grad: T, momentum: T) -> (out: ref(T))",
          "T: {number}; use_locking: bool = false; use_nesterov: bool = false");
  ops.Add(
      "SparseApplyMomentum(var: ref(T), accum: ref(T), lr: T, grad: T, indices: Tindices, "
      "momentum: T) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; use_nesterov: bool = false");
  ops.Add(
      "ResourceApplyMomentum(var: resource, accum: resource, lr: T, grad: T, momentum: T) -> ()",
      "T: {number}; use_locking: bool = false; use_nesterov: bool = false", {stateful});
  ops.Add(
      "ResourceSparseApplyMomentum(var: resource, accum: resource, lr: T, grad: T, indices: "
      "Tindices, momentum: T) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false; use_nesterov: bool = false",
      {stateful});
  ops.Add(
      "ResourceApplyKerasMomentum(var: resource, accum: resource, lr: T, grad: T, momentum: T) -> "
      "()",
      "T: {number}; use_locking: bool = false; use_nesterov: bool = false", {stateful});
  ops.Add(
      "ResourceSparseApplyKerasMomentum(var: resource, accum: resource, lr: T, grad: T, indices: "
      "Tindices, momentum: T) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false; use_nesterov: bool = false",
      {stateful});
  ops.Add(
      "ApplyRMSProp(var: ref(T), ms: ref(T), mom: ref(T), lr: T, rho: T, momentum: T, epsilon: T, "
      "grad: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false");
  ops.Add(
      "SparseApplyRMSProp(var: ref(T), ms: ref(T), mom: ref(T), lr: T, rho: T, momentum: T, "
      "epsilon: T, grad: T, indices: Tindices) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false");
  ops.Add(
      "ResourceApplyRMSProp(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: "
      "T, epsilon: T, grad: T) -> ()",
      "T: {number}; use_locking: bool = false", {stateful});
  ops.Add(
      "ResourceSparseApplyRMSProp(var: resource, ms: resource, mom: resource, lr: T, rho: T, "
      "momentum: T, epsilon: T, grad: T, indices: Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false", {stateful});
  ops.Add(
      "ApplyCenteredRMSProp(var: ref(T), mg: ref(T), ms: ref(T), mom: ref(T), lr: T, rho: T, "
      "momentum: T, epsilon: T, grad: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false");
  ops.Add(
      "SparseApplyCenteredRMSProp(var: ref(T), mg: ref(T), ms: ref(T), mom: ref(T), lr: T, rho: T, "
      "momentum: T, epsilon: T, grad: T, indices: Tindices) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false");
  ops.Add(
      "ResourceApplyCenteredRMSProp(var: resource, mg: resource, ms: resource, mom: resource, lr: "
      "T, rho: T, momentum: T, epsilon: T, grad: T) -> ()",
      "T: {number}; use_locking: bool = false", {stateful});
  ops.Add(
      "ResourceSparseApplyCenteredRMSProp(var: resource, mg: resource, ms: resource, mom: "
      "resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false", {stateful});
  ops.Add(
      "ApplyAdam(var: ref(T), m: ref(T), v: ref(T), beta1_power: T, beta2_power: T, lr: T, beta1: "
      "T, beta2: T, epsilon: T, grad: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false; use_nesterov: bool = false");
  ops.Add(
      "ResourceApplyAdam(var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, "
      "lr: T, beta1: T, beta2: T, epsilon: T, grad: T) -> ()",
      "T: {number}; use_locking: bool = false; use_nesterov: bool = false", {stateful});
  ops.Add(
      "ApplyAdaMax(var: ref(T), m: ref(T), v: ref(T), beta1_power: T, lr: T, beta1: T, beta2: T, "
      "epsilon: T, grad: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false");
  ops.Add(
      "ResourceApplyAdaMax(var: resource, m: resource, v: resource, beta1_power: T, lr: T, beta1: "
      "T, beta2: T, epsilon: T, grad: T) -> ()",
      "T: {number}; use_locking: bool = false", {stateful});
}

}  // namespace carillon
