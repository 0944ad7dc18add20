// Specs of the ops for optimizer updates.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

// Every update op takes the variable, its slots, the gradient, perhaps indices, and
// hyperparameters, in an order of its own; the names and types of the arguments tell which is
// which.
Status UpdateShape(ShapeContext& c) {
  const std::vector<ArgSpec>& arguments = c.node().spec().inputs;
  PartialShape variable, gradient, indices;
  bool is_sparse = false;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const ArgSpec& argument = arguments[static_cast<size_t>(i)];
    if (argument.is_ref) {
      CARILLON_ASSIGN_OR_RETURN(variable, MergeShapes(variable, c.input(i)));
    } else if (argument.dtype == DType::kResource) {
      if (const auto handle = c.input_handle(i)) {
        if (handle->dtype != DType::kInvalid && handle->dtype != c.attr<DType>("T")) {
          return InvalidArgument("'", argument.name, "' holds ", DTypeName(handle->dtype), ", not ",
                                 DTypeName(c.attr<DType>("T")));
        }
        CARILLON_ASSIGN_OR_RETURN(variable, MergeShapes(variable, handle->shape));
      }
    } else if (argument.name == "grad" || argument.name == "delta") {
      gradient = c.input(i);
    } else if (argument.name == "indices") {
      is_sparse = true;
      CARILLON_ASSIGN_OR_RETURN(indices, c.WithRank(i, 1));
    } else {
      CARILLON_RETURN_IF_ERROR(c.WithRank(i, 0).status());
    }
  }
  if (!is_sparse) {
    CARILLON_ASSIGN_OR_RETURN(variable, MergeShapes(variable, gradient));
  } else if (variable.has_rank()) {
    if (variable.rank() < 1) return InvalidArgument("a scalar variable has no rows to update");
    PartialShape rows = variable;
    rows.set_dim(0, indices.dim(0));
    CARILLON_RETURN_IF_ERROR(MergeShapes(rows, gradient).status());
  }
  if (c.num_outputs() > 0) c.set_output(0, variable);
  return absl::OkStatus();
}

}  // namespace

void AddTrainingOps(OpTable& ops) {
  ops.Add("ApplyGradientDescent(var: ref(T), alpha: T, delta: T) -> (out: ref(T))",
          "T: {number}; use_locking: bool = false", UpdateShape);
  ops.Add("ResourceApplyGradientDescent(var: resource, alpha: T, delta: T) -> ()",
          "T: {number}; use_locking: bool = false", {stateful}, UpdateShape);
  ops.Add(
      "ApplyProximalGradientDescent(var: ref(T), alpha: T, l1: T, l2: T, delta: T) -> (out: "
      "ref(T))",
      "T: {number}; use_locking: bool = false", UpdateShape);
  ops.Add(
      "SparseApplyProximalGradientDescent(var: ref(T), alpha: T, l1: T, l2: T, grad: T, indices: "
      "Tindices) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false", UpdateShape);
  ops.Add(
      "ResourceApplyProximalGradientDescent(var: resource, alpha: T, l1: T, l2: T, delta: T) -> ()",
      "T: {number}; use_locking: bool = false", {stateful}, UpdateShape);
  ops.Add(
      "ResourceSparseApplyProximalGradientDescent(var: resource, alpha: T, l1: T, l2: T, grad: T, "
      "indices: Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false", {stateful}, UpdateShape);
  ops.Add(
      "ApplyAdadelta(var: ref(T), accum: ref(T), accum_update: ref(T), lr: T, rho: T, epsilon: T, "
      "grad: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false", UpdateShape);
  ops.Add(
      "SparseApplyAdadelta(var: ref(T), accum: ref(T), accum_update: ref(T), lr: T, rho: T, "
      "epsilon: T, grad: T, indices: Tindices) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false", UpdateShape);
  ops.Add(
      "ResourceApplyAdadelta(var: resource, accum: resource, accum_update: resource, lr: T, rho: "
      "T, epsilon: T, grad: T) -> ()",
      "T: {number}; use_locking: bool = false", {stateful}, UpdateShape);
  ops.Add(
      "ResourceSparseApplyAdadelta(var: resource, accum: resource, accum_update: resource, lr: T, "
      "rho: T, epsilon: T, grad: T, indices: Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false", {stateful}, UpdateShape);
  ops.Add("ApplyAdagrad(var: ref(T), accum: ref(T), lr: T, grad: T) -> (out: ref(T))",
          "T: {number}; use_locking: bool = false; update_slots: bool = true", UpdateShape);
  ops.Add(
      "SparseApplyAdagrad(var: ref(T), accum: ref(T), lr: T, grad: T, indices: Tindices) -> (out: "
      "ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; update_slots: bool = true",
      UpdateShape);
  ops.Add("ResourceApplyAdagrad(var: resource, accum: resource, lr: T, grad: T) -> ()",
          "T: {number}; use_locking: bool = false; update_slots: bool = true", {stateful},
          UpdateShape);
  ops.Add(
      "ResourceSparseApplyAdagrad(var: resource, accum: resource, lr: T, grad: T, indices: "
      "Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false; update_slots: bool = true",
      {stateful}, UpdateShape);
  ops.Add("ApplyAdagradV2(var: ref(T), accum: ref(T), lr: T, epsilon: T, grad: T) -> (out: ref(T))",
          "T: {number}; use_locking: bool = false; update_slots: bool = true", UpdateShape);
  ops.Add(
      "SparseApplyAdagradV2(var: ref(T), accum: ref(T), lr: T, epsilon: T, grad: T, indices: "
      "Tindices) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; update_slots: bool = true",
      UpdateShape);
  ops.Add(
      "ResourceApplyAdagradV2(var: resource, accum: resource, lr: T, epsilon: T, grad: T) -> ()",
      "T: {number}; use_locking: bool = false; update_slots: bool = true", {stateful}, UpdateShape);
  ops.Add(
      "ResourceSparseApplyAdagradV2(var: resource, accum: resource, lr: T, epsilon: T, grad: T, "
      "indices: Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false; update_slots: bool = true",
      {stateful}, UpdateShape);
  ops.Add(
      "ApplyProximalAdagrad(var: ref(T), accum: ref(T), lr: T, l1: T, l2: T, grad: T) -> (out: "
      "ref(T))",
      "T: {number}; use_locking: bool = false", UpdateShape);
  ops.Add(
      "SparseApplyProximalAdagrad(var: ref(T), accum: ref(T), lr: T, l1: T, l2: T, grad: T, "
      "indices: Tindices) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false", UpdateShape);
  ops.Add(
      "ResourceApplyProximalAdagrad(var: resource, accum: resource, lr: T, l1: T, l2: T, grad: T) "
      "-> ()",
      "T: {number}; use_locking: bool = false", {stateful}, UpdateShape);
  ops.Add(
      "ResourceSparseApplyProximalAdagrad(var: resource, accum: resource, lr: T, l1: T, l2: T, "
      "grad: T, indices: Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false", {stateful}, UpdateShape);
  ops.Add(
      "ApplyFtrl(var: ref(T), accum: ref(T), linear: ref(T), grad: T, lr: T, l1: T, l2: T, "
      "lr_power: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false; multiply_linear_by_lr: bool = false", UpdateShape);
  ops.Add(
      "SparseApplyFtrl(var: ref(T), accum: ref(T), linear: ref(T), grad: T, indices: Tindices, lr: "
      "T, l1: T, l2: T, lr_power: T) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; multiply_linear_by_lr: bool = "
      "false",
      UpdateShape);
  ops.Add(
      "ResourceApplyFtrl(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: T, "
      "l2: T, lr_power: T) -> ()",
      "T: {number}; use_locking: bool = false; multiply_linear_by_lr: bool = false", {stateful},
      UpdateShape);
  ops.Add(
      "ResourceSparseApplyFtrl(var: resource, accum: resource, linear: resource, grad: T, indices: "
      "Tindices, lr: T, l1: T, l2: T, lr_power: T) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false; multiply_linear_by_lr: bool = "
      "false",
      {stateful}, UpdateShape);
  ops.Add(
      "ApplyFtrlV2(var: ref(T), accum: ref(T), linear: ref(T), grad: T, lr: T, l1: T, l2: T, "
      "l2_shrinkage: T, lr_power: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false; multiply_linear_by_lr: bool = false", UpdateShape);
  ops.Add(
      "SparseApplyFtrlV2(var: ref(T), accum: ref(T), linear: ref(T), grad: T, indices: Tindices, "
      "lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; multiply_linear_by_lr: bool = "
      "false",
      UpdateShape);
  ops.Add(
      "ResourceApplyFtrlV2(var: resource, accum: resource, linear: resource, grad: T, lr: T, l1: "
      "T, l2: T, l2_shrinkage: T, lr_power: T) -> ()",
      "T: {number}; use_locking: bool = false; multiply_linear_by_lr: bool = false", {stateful},
      UpdateShape);
  ops.Add(
      "ResourceSparseApplyFtrlV2(var: resource, accum: resource, linear: resource, grad: T, "
      "indices: Tindices, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false; multiply_linear_by_lr: bool = "
      "false",
      {stateful}, UpdateShape);
  ops.Add("ApplyMomentum(var: ref(T), accum: ref(T), lr: T, grad: T, momentum: T) -> (out: ref(T))",
          "T: {number}; use_locking: bool = false; use_nesterov: bool = false", UpdateShape);
  ops.Add(
      "SparseApplyMomentum(var: ref(T), accum: ref(T), lr: T, grad: T, indices: Tindices, "
      "momentum: T) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; use_nesterov: bool = false",
      UpdateShape);
  ops.Add(
      "ResourceApplyMomentum(var: resource, accum: resource, lr: T, grad: T, momentum: T) -> ()",
      "T: {number}; use_locking: bool = false; use_nesterov: bool = false", {stateful},
      UpdateShape);
  ops.Add(
      "ResourceSparseApplyMomentum(var: resource, accum: resource, lr: T, grad: T, indices: "
      "Tindices, momentum: T) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false; use_nesterov: bool = false",
      {stateful}, UpdateShape);
  ops.Add(
      "ResourceApplyKerasMomentum(var: resource, accum: resource, lr: T, grad: T, momentum: T) -> "
      "()",
      "T: {number}; use_locking: bool = false; use_nesterov: bool = false", {stateful},
      UpdateShape);
  ops.Add(
      "ResourceSparseApplyKerasMomentum(var: resource, accum: resource, lr: T, grad: T, indices: "
      "Tindices, momentum: T) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false; use_nesterov: bool = false",
      {stateful}, UpdateShape);
  ops.Add(
      "ApplyRMSProp(var: ref(T), ms: ref(T), mom: ref(T), lr: T, rho: T, momentum: T, epsilon: T, "
      "grad: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false", UpdateShape);
  ops.Add(
      "SparseApplyRMSProp(var: ref(T), ms: ref(T), mom: ref(T), lr: T, rho: T, momentum: T, "
      "epsilon: T, grad: T, indices: Tindices) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false", UpdateShape);
  ops.Add(
      "ResourceApplyRMSProp(var: resource, ms: resource, mom: resource, lr: T, rho: T, momentum: "
      "T, epsilon: T, grad: T) -> ()",
      "T: {number}; use_locking: bool = false", {stateful}, UpdateShape);
  ops.Add(
      "ResourceSparseApplyRMSProp(var: resource, ms: resource, mom: resource, lr: T, rho: T, "
      "momentum: T, epsilon: T, grad: T, indices: Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false", {stateful}, UpdateShape);
  ops.Add(
      "ApplyCenteredRMSProp(var: ref(T), mg: ref(T), ms: ref(T), mom: ref(T), lr: T, rho: T, "
      "momentum: T, epsilon: T, grad: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false", UpdateShape);
  ops.Add(
      "SparseApplyCenteredRMSProp(var: ref(T), mg: ref(T), ms: ref(T), mom: ref(T), lr: T, rho: T, "
      "momentum: T, epsilon: T, grad: T, indices: Tindices) -> (out: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false", UpdateShape);
  ops.Add(
      "ResourceApplyCenteredRMSProp(var: resource, mg: resource, ms: resource, mom: resource, lr: "
      "T, rho: T, momentum: T, epsilon: T, grad: T) -> ()",
      "T: {number}; use_locking: bool = false", {stateful}, UpdateShape);
  ops.Add(
      "ResourceSparseApplyCenteredRMSProp(var: resource, mg: resource, ms: resource, mom: "
      "resource, lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices) -> ()",
      "T: {number}; Tindices: {index}; use_locking: bool = false", {stateful}, UpdateShape);
  ops.Add(
      "ApplyAdam(var: ref(T), m: ref(T), v: ref(T), beta1_power: T, beta2_power: T, lr: T, beta1: "
      "T, beta2: T, epsilon: T, grad: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false; use_nesterov: bool = false", UpdateShape);
  ops.Add(
      "ResourceApplyAdam(var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, "
      "lr: T, beta1: T, beta2: T, epsilon: T, grad: T) -> ()",
      "T: {number}; use_locking: bool = false; use_nesterov: bool = false", {stateful},
      UpdateShape);
  ops.Add(
      "ApplyAdaMax(var: ref(T), m: ref(T), v: ref(T), beta1_power: T, lr: T, beta1: T, beta2: T, "
      "epsilon: T, grad: T) -> (out: ref(T))",
      "T: {number}; use_locking: bool = false", UpdateShape);
  ops.Add(
      "ResourceApplyAdaMax(var: resource, m: resource, v: resource, beta1_power: T, lr: T, beta1: "
      "T, beta2: T, epsilon: T, grad: T) -> ()",
      "T: {number}; use_locking: bool = false", {stateful}, UpdateShape);
}

}  // namespace carillon
