// Specs of the ops for variables and stacks.
#include "graph/op_spec.h"
#include "graph/shape_context.h"

namespace carillon {

void AddStateOps(OpTable& ops) {
  ops.Add("Variable() -> (ref: ref(dtype))",
          "shape: shape; dtype: type; container: string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("VariableV2() -> (ref: ref(dtype))",
          "shape: shape; dtype: type; container: string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("TemporaryVariable() -> (ref: ref(dtype))",
          "shape: shape; dtype: type; var_name: string = ''", {stateful});
  ops.Add("DestroyTemporaryVariable(ref: ref(T)) -> (value: T)", "T: type; var_name: string");
  ops.Add("Assign(ref: ref(T), value: T) -> (output_ref: ref(T))",
          "T: type; validate_shape: bool = true; use_locking: bool = true", {uninitialized_ok});
  ops.Add("AssignAdd(ref: ref(T), value: T) -> (output_ref: ref(T))",
          "T: {number}; use_locking: bool = false");
  ops.Add("AssignSub(ref: ref(T), value: T) -> (output_ref: ref(T))",
          "T: {number}; use_locking: bool = false");
  ops.Add("IsVariableInitialized(ref: ref(dtype)) -> (is_initialized: bool)", "dtype: type",
          {uninitialized_ok});
  ops.Add("CountUpTo(ref: ref(T)) -> (output: T)", "limit: int; T: {index}");
  ops.Add("ResourceCountUpTo(resource: resource) -> (output: T)", "limit: int; T: {index}",
          {stateful});
  ops.Add("RefIdentity(input: ref(T)) -> (output: ref(T))", "T: type", {uninitialized_ok});
  ops.Add("ScatterUpdate(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: type; Tindices: {index}; use_locking: bool = true");
  ops.Add("ScatterAdd(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: {number}; Tindices: {index}; use_locking: bool = false");
  ops.Add("ScatterSub(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: {number}; Tindices: {index}; use_locking: bool = false");
  ops.Add("ScatterMul(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: {number}; Tindices: {index}; use_locking: bool = false");
  ops.Add("ScatterDiv(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: {number}; Tindices: {index}; use_locking: bool = false");
  ops.Add("ScatterMin(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: {floating, int32, int64}; Tindices: {index}; use_locking: bool = false");
  ops.Add("ScatterMax(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: {floating, int32, int64}; Tindices: {index}; use_locking: bool = false");
  ops.Add("ScatterNdUpdate(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
          "T: type; Tindices: {index}; use_locking: bool = true; bad_indices_policy: string = ''");
  ops.Add(
      "ScatterNdAdd(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; bad_indices_policy: string = ''");
  ops.Add(
      "ScatterNdSub(ref: ref(T), indices: Tindices, updates: T) -> (output_ref: ref(T))",
      "T: {number}; Tindices: {index}; use_locking: bool = false; bad_indices_policy: string = ''");
  ops.Add("VarHandleOp() -> (resource: resource)",
          "container: string = ''; shared_name: string = ''; debug_name: string = ''; dtype: type; "
          "shape: shape; allowed_devices: list(string) = []",
          {stateful});
  ops.Add("ReadVariableOp(resource: resource) -> (value: dtype)", "dtype: type", {stateful});
  ops.Add("AssignVariableOp(resource: resource, value: dtype) -> ()",
          "dtype: type; validate_shape: bool = false", {stateful});
  ops.Add("AssignAddVariableOp(resource: resource, value: dtype) -> ()", "dtype: type", {stateful});
  ops.Add("AssignSubVariableOp(resource: resource, value: dtype) -> ()", "dtype: type", {stateful});
  ops.Add("VarIsInitializedOp(resource: resource) -> (is_initialized: bool)", "", {stateful});
  ops.Add("VariableShape(input: resource) -> (output: out_type)", "out_type: {index} = int32",
          {stateful});
  ops.Add("DestroyResourceOp(resource: resource) -> ()", "ignore_lookup_error: bool = true",
          {stateful});
  ops.Add("ResourceGather(resource: resource, indices: Tindices) -> (output: dtype)",
          "batch_dims: int = 0; validate_indices: bool = true; dtype: type; Tindices: {index}",
          {stateful});
  ops.Add("ResourceGatherNd(resource: resource, indices: Tindices) -> (output: dtype)",
          "dtype: type; Tindices: {index}", {stateful});
  ops.Add("ResourceScatterUpdate(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: type; Tindices: {index}", {stateful});
  ops.Add("ResourceScatterAdd(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: {number}; Tindices: {index}", {stateful});
  ops.Add("ResourceScatterSub(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: {number}; Tindices: {index}", {stateful});
  ops.Add("ResourceScatterMul(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: {number}; Tindices: {index}", {stateful});
  ops.Add("ResourceScatterDiv(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: {number}; Tindices: {index}", {stateful});
  ops.Add("ResourceScatterMin(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: {number}; Tindices: {index}", {stateful});
  ops.Add("ResourceScatterMax(resource: resource, indices: Tindices, updates: dtype) -> ()",
          "dtype: {number}; Tindices: {index}", {stateful});
  ops.Add("ResourceScatterNdUpdate(ref: resource, indices: Tindices, updates: T) -> ()",
          "T: type; Tindices: {index}; use_locking: bool = true; bad_indices_policy: string = ''",
          {stateful});
  ops.Add("ResourceScatterNdAdd(ref: resource, indices: Tindices, updates: T) -> ()",
          "T: type; Tindices: {index}; use_locking: bool = true; bad_indices_policy: string = ''",
          {stateful});
  ops.Add("ResourceScatterNdSub(ref: resource, indices: Tindices, updates: T) -> ()",
          "T: type; Tindices: {index}; use_locking: bool = true; bad_indices_policy: string = ''",
          {stateful});
  ops.Add("StackV2(max_size: int32) -> (handle: resource)",
          "elem_type: type; stack_name: string = ''", {stateful});
  ops.Add("StackPushV2(handle: resource, elem: T) -> (output: T)",
          "T: type; swap_memory: bool = false", {stateful});
  ops.Add("StackPopV2(handle: resource) -> (elem: elem_type)", "elem_type: type", {stateful});
  ops.Add("StackCloseV2(handle: resource) -> ()", "", {stateful});
  ops.Add("Stack() -> (handle: ref(string))", "elem_type: type; stack_name: string = ''",
          {stateful});
  ops.Add("StackPush(handle: ref(string), elem: T) -> (output: T)",
          "T: type; swap_memory: bool = false");
  ops.Add("StackPop(handle: ref(string)) -> (elem: elem_type)", "elem_type: type");
  ops.Add("StackClose(handle: ref(string)) -> ()", "");
}

}  // namespace carillon
