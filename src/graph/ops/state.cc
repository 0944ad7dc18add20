// Specs of the ops for variables and stacks.
#include <optional>
#include <vector>

#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

Status ShapeOfAttr(ShapeContext& c) {
  c.set_output(0, c.attr<PartialShape>("shape"));
  return absl::OkStatus();
}

// The old Variable cannot say that its shape is unknown: a scalar's stands for that.
Status OldVariableShape(ShapeContext& c) {
  const auto& shape = c.attr<PartialShape>("shape");
  c.set_output(0, shape.rank() == 0 ? PartialShape() : shape);
  return absl::OkStatus();
}

Status VarHandleShape(ShapeContext& c) {
  c.set_output(0, Shape{});
  c.set_output_handle(0, {c.attr<DType>("dtype"), c.attr<PartialShape>("shape")});
  return absl::OkStatus();
}

Status AssignShape(ShapeContext& c) {
  PartialShape shape = c.input(1);
  if (c.attr<bool>("validate_shape")) {
    CARILLON_ASSIGN_OR_RETURN(shape, MergeShapes(c.input(0), shape));
  }
  c.set_output(0, shape);
  return absl::OkStatus();
}

// The shape of the variable behind handle input 0, which must hold `dtype`.
StatusOr<PartialShape> VariableBehind(const ShapeContext& c, DType dtype) {
  const std::optional<HandleInfo> handle = c.input_handle(0);
  if (!handle.has_value()) return PartialShape();
  if (handle->dtype != DType::kInvalid && handle->dtype != dtype) {
    return InvalidArgument("the variable holds ", DTypeName(handle->dtype), ", not ",
                           DTypeName(dtype));
  }
  return handle->shape;
}

// Variables come in two forms: a reference, whose shape is its own, and a handle.
StatusOr<PartialShape> VariableShapeOf(const ShapeContext& c, DType dtype) {
  if (c.node().input_wants_ref(0)) return c.input(0);
  return VariableBehind(c, dtype);
}

Status ReadShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, VariableBehind(c, c.attr<DType>("dtype")));
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status AssignVariableShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, VariableBehind(c, c.attr<DType>("dtype")));
  return MergeShapes(shape, c.input(1)).status();
}

Status CountShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, VariableShapeOf(c, c.attr<DType>("T")));
  if (shape.has_rank() && shape.rank() != 0) {
    return InvalidArgument("a counter is a scalar, not a variable of shape ", shape.ToString());
  }
  c.set_output(0, Shape{});
  return absl::OkStatus();
}

Status VariableShapeShape(ShapeContext& c) {
  const std::optional<HandleInfo> handle = c.input_handle(0);
  c.set_output(0, {handle.has_value() && handle->shape.has_rank() ? handle->shape.rank() : -1});
  return absl::OkStatus();
}

// `head` followed by `tail` from its dimension `skip` on.
PartialShape Join(const PartialShape& head, const PartialShape& tail, int skip) {
  if (!head.has_rank() || !tail.has_rank()) return PartialShape();
  std::vector<int64_t> dims(head.dims().begin(), head.dims().end());
  dims.insert(dims.end(), tail.dims().begin() + skip, tail.dims().end());
  PartialShape joined;
  PartialShape::TryMake(dims, &joined);  // leaves it unknown when there are too many
  return joined;
}

// Scatter…: updates are a row for each index, or one value for all.
Status ScatterShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape variable, VariableShapeOf(c, c.input_dtype(2)));
  if (variable.rank() == 0) return InvalidArgument("a scalar variable has no rows to update");
  const PartialShape updates = c.input(2);
  if (variable.has_rank() && updates.rank() != 0) {
    CARILLON_RETURN_IF_ERROR(MergeShapes(Join(c.input(1), variable, 1), updates).status());
  }
  if (c.num_outputs() > 0) c.set_output(0, variable);
  return absl::OkStatus();
}

// The dimensions before the last of an Nd op's indices, then those of the slices of `variable` that
// the last one addresses.
StatusOr<PartialShape> SlicesShape(const PartialShape& indices, const PartialShape& variable) {
  if (!indices.has_rank() || !variable.has_rank()) return PartialShape();
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth < 0) return PartialShape();
  if (depth > variable.rank()) {
    return InvalidArgument("indices of shape ", indices.ToString(),
                           " have more parts than a variable of shape ", variable.ToString(),
                           " has dimensions");
  }
  const PartialShape outer(indices.dims().first(static_cast<size_t>(indices.rank() - 1)));
  return Join(outer, variable, static_cast<int>(depth));
}

Status ScatterNdShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape variable, VariableShapeOf(c, c.input_dtype(2)));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape indices, c.WithRankAtLeast(1, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape slices, SlicesShape(indices, variable));
  CARILLON_RETURN_IF_ERROR(MergeShapes(slices, c.input(2)).status());
  if (c.num_outputs() > 0) c.set_output(0, variable);
  return absl::OkStatus();
}

Status ResourceGatherShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape variable, VariableBehind(c, c.attr<DType>("dtype")));
  const PartialShape indices = c.input(1);
  const int64_t batch_dims = c.attr<int64_t>("batch_dims");
  if (batch_dims < 0) return InvalidArgument("batch_dims is negative (", batch_dims, ")");
  if ((variable.has_rank() && variable.rank() <= batch_dims) ||
      (indices.has_rank() && indices.rank() < batch_dims)) {
    return InvalidArgument("batch_dims ", batch_dims, " is too large for a variable of shape ",
                           variable.ToString(), " and indices of shape ", indices.ToString());
  }
  if (!variable.has_rank() || !indices.has_rank()) return ShapeUnknown(c);
  PartialShape batched = indices;  // what either knows of the batch
  for (int i = 0; i < batch_dims; ++i) {
    CARILLON_ASSIGN_OR_RETURN(const int64_t dim, MergeDim(variable.dim(i), indices.dim(i)));
    batched.set_dim(i, dim);
  }
  c.set_output(0, Join(batched, variable, static_cast<int>(batch_dims) + 1));
  return absl::OkStatus();
}

Status ResourceGatherNdShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape variable, VariableBehind(c, c.attr<DType>("dtype")));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape indices, c.WithRankAtLeast(1, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape slices, SlicesShape(indices, variable));
  c.set_output(0, slices);
  return absl::OkStatus();
}

Status StackShape(ShapeContext& c) {
  if (c.num_inputs() > 0) CARILLON_RETURN_IF_ERROR(c.WithRank(0, 0).status());
  return ShapeScalar(c);
}

Status StackPushShape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

}  // namespace

void AddStateOps(OpTable& ops) {
  ops.Add("Variable() -> (ref: ref(dtype))",
          "shape: shape; dtype: type; container: string = ''; shared_name: string = ''", {stateful},
          OldVariableShape);
  ops.Add("VariableV2() -> (ref: ref(dtype))",
          "shape: shape; dtype: type; container: string = ''; shared_name: string = ''", {stateful},
          ShapeOfAttr);
  ops.Add("TemporaryVariable() -> (ref: ref(dtype))",
          "shape: shape; dtype: type; var_name: string = ''", {stateful}, ShapeOfAttr);
  ops.Add("DestroyTemporaryVariable(ref: ref(T)) -> (value: T)", "T: type; var_name: string",
          ShapeOfInput);
  ops.Add("Assign(ref: ref(T), value: T) -> (output_ref: ref(T))",
          "T: type; validate_shape: bool = true; use_locking: bool = true", {uninitialized_ok},
          AssignShape);
  ops.Add("AssignAdd(ref: ref(T), value: T) -> (output_ref: ref(T))",
          "T: {number}; use_locking: bool = false", ShapeMergeInputs);
  ops.Add("AssignSub(ref: ref(T), value: T) -> (output_ref: ref(T))",
          "T: {number}; use_locking: bool = false", ShapeMergeInputs);
  ops.Add("IsVariableInitialized(ref: ref(dtype)) -> (is_initialized: bool)", "dtype: type",
          {uninitialized_ok}, ShapeScalar);
  ops.Add("CountUpTo(ref: ref(T)) -> (output: T)", "limit: int; T: {index}", CountShape);
  ops.Add("ResourceCountUpTo(resource: resource) -> (output: T)", "limit: int; T: {index}",
          {stateful}, CountShape);
  ops.Add("RefIdentity(input: ref(T)) -> (output: ref(T))", "T: type", {uninitialized_ok},
          ShapeOfInput);
  ops.Add("ScatterUpdate(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: type; Tindices: {index}; use_locking: bool = true", ScatterShape);
  ops.Add("ScatterAdd(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: {number}; Tindices: {index}; use_locking: bool = false", ScatterShape);
  ops.Add("ScatterSub(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: {number}; Tindices: {index}; use_locking: bool = false", ScatterShape);
  ops.Add("ScatterMul(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: {number}; Tindices: {index}; use_locking: bool = false", ScatterShape);
  ops.Add("ScatterDiv(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: {number}; Tindices: {index}; use_locking: bool = false", ScatterShape);
  ops.Add("ScatterMin(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: {floating, int32, int64}; Tindices: {index}; use_locking: bool = false",
          ScatterShape);
  ops.Add("ScatterMax(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: {floating, int32, int64}; Tindices: {index}; use_locking: bool = false",
          ScatterShape);
  ops.Add("ScatterNdUpdate(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: type; Tindices: {index}; use_locking: bool = true; bad_indices_policy: string = ''",
          ScatterNdShape);
  ops.Add(
      "ScatterNdAdd(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; bad_indices_policy: string = ''",
      ScatterNdShape);
  ops.Add(
      "ScatterNdSub(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; bad_indices_policy: string = ''",
      ScatterNdShape);
  ops.Add("VarHandleOp() -> (resource: resource)",
          "container: string = ''; shared_name: string = ''; debug_name: string = ''; dtype: type; "
          "shape: shape; allowed_devices: list(string) = []",
          {stateful}, VarHandleShape);
  ops.Add("ReadVariableOp(resource: resource) -> (value: dtype)", "dtype: type", {stateful},
          ReadShape);
  ops.Add("AssignVariableOp(resource: resource, value: dtype) -> ()",
          "dtype: type; validate_shape: bool = false", {stateful}, AssignVariableShape);
  ops.Add("AssignAddVariableOp(resource: resource, value: dtype) -> ()", "dtype: type", {stateful},
          AssignVariableShape);
  ops.Add("AssignSubVariableOp(resource: resource, value: dtype) -> ()", "dtype: type", {stateful},
          AssignVariableShape);
  ops.Add("VarIsInitializedOp(resource: resource) -> (is_initialized: bool)", "", {stateful},
          ShapeScalar);
  ops.Add("DisableCopyOnRead(resource: resource) -> ()", "", {stateful}, ShapeNothing);
  ops.Add("VariableShape(input: resource) -> (output: out_type)", "out_type: {index} = int32",
          {stateful}, VariableShapeShape);
  ops.Add("DestroyResourceOp(resource: resource) -> ()", "ignore_lookup_error: bool = true",
          {stateful}, ShapeNothing);
  ops.Add("ResourceGather(resource: resource, indices: Tindices) -> (output: dtype)",
          "batch_dims: int = 0; validate_indices: bool = true; dtype: type; Tindices: {index}",
          {stateful}, ResourceGatherShape);
  ops.Add("ResourceGatherNd(resource: resource, indices: Tindices) -> (output: dtype)",
          "dtype: type; Tindices: {index}", {stateful}, ResourceGatherNdShape);
  ops.Add("ResourceScatterUpdate(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: type; Tindices: {index}", {stateful}, ScatterShape);
  ops.Add("ResourceScatterAdd(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: {number}; Tindices: {index}", {stateful}, ScatterShape);
  ops.Add("ResourceScatterSub(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: {number}; Tindices: {index}", {stateful}, ScatterShape);
  ops.Add("ResourceScatterMul(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: {number}; Tindices: {index}", {stateful}, ScatterShape);
  ops.Add("ResourceScatterDiv(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: {number}; Tindices: {index}", {stateful}, ScatterShape);
  ops.Add("ResourceScatterMin(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: {number}; Tindices: {index}", {stateful}, ScatterShape);
  ops.Add("ResourceScatterMax(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: {number}; Tindices: {index}", {stateful}, ScatterShape);
  ops.Add("ResourceScatterNdUpdate(ref: resource, indices: Tindices, updates: T) -> ()",
          "T: type; Tindices: {index}; use_locking: bool = true; bad_indices_policy: string = ''",
          {stateful}, ScatterNdShape);
  ops.Add("ResourceScatterNdAdd(ref: resource, indices: Tindices, updates: T) -> ()",
          "T: type; Tindices: {index}; use_locking: bool = true; bad_indices_policy: string = ''",
          {stateful}, ScatterNdShape);
  ops.Add("ResourceScatterNdSub(ref: resource, indices: Tindices, updates: T) -> ()",
          "T: type; Tindices: {index}; use_locking: bool = true; bad_indices_policy: string = ''",
          {stateful}, ScatterNdShape);
  ops.Add("StackV2(max_size: int32) -> (handle: resource)",
          "elem_type: type; stack_name: string = ''", {stateful}, StackShape);
  ops.Add("StackPushV2(handle: resource, elem: T) -> (output: T)",
          "T: type; swap_memory: bool = false", {stateful}, StackPushShape);
  ops.Add("StackPopV2(handle: resource) -> (elem: elem_type)", "elem_type: type", {stateful},
          ShapeUnknown);
  ops.Add("StackCloseV2(handle: resource) -> ()", "", {stateful}, ShapeNothing);
  ops.Add("Stack() -> (handle: ref(string))", "elem_type: type; stack_name: string = ''",
          {stateful}, StackShape);
  ops.Add("StackPush(handle: ref(string), elem: T) -> (output: T)",
          "T: type; swap_memory: bool = false", StackPushShape);
  ops.Add("StackPop(handle: ref(string)) -> (elem: elem_type)", "elem_type: type", ShapeUnknown);
  ops.Add("StackClose(handle: ref(string)) -> ()", "", ShapeNothing);
}

}  // namespace carillon
