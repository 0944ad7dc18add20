// Variables as ops. Programs use carillon/variable.h, which is written with these.
//
// A variable is given as the output that stands for it: a resource handle (VarHandleOp) or a
// reference (VariableV2). The functions take either and make the op of that kind; where the op is
// one on references, its output is the reference again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

struct VariableOpOptions {
  std::string name;         // of the node
  std::string container;    // where the variable lives; empty: the default container
  std::string shared_name;  // nodes of equal container and shared name share one variable; empty:
                            // the node's name
};

// A handle to a variable that holds tensors of `dtype` and `shape`.
Output VarHandleOp(Graph& g, DType dtype, const PartialShape& shape,
                   const VariableOpOptions& options = {});
// A reference to one.
Output VariableV2(Graph& g, DType dtype, const PartialShape& shape,
                  const VariableOpOptions& options = {});

// The value, when what the op depends on has run. FailedPrecondition in a step where there is none.
Output ReadVariableOp(const Output& variable);
Output IsVariableInitialized(const Output& variable);
// The shape of the value. Of handles only.
Output VariableShape(const Output& variable, DType out_type = kInt32);

// Sets the value. With `validate_shape` its shape must be that of the old value, if there is one.
Operation Assign(const Output& variable, const Input& value, bool validate_shape = true);
// Add to the value and subtract from it; the shapes must be equal.
Operation AssignAdd(const Output& variable, const Input& value);
Operation AssignSub(const Output& variable, const Input& value);

// Combine rows of the value with updates: row indices[i] of the value with row i of `updates`
// (shape: that of indices, then that of a row), in order, or with one scalar. InvalidArgument for
// an index out of range; nothing is changed then.
Operation ScatterUpdate(const Output& variable, const Input& indices, const Input& updates);
Operation ScatterAdd(const Output& variable, const Input& indices, const Input& updates);
Operation ScatterSub(const Output& variable, const Input& indices, const Input& updates);
Operation ScatterMul(const Output& variable, const Input& indices, const Input& updates);
Operation ScatterDiv(const Output& variable, const Input& indices, const Input& updates);
Operation ScatterMin(const Output& variable, const Input& indices, const Input& updates);
Operation ScatterMax(const Output& variable, const Input& indices, const Input& updates);
// The same with slices: the last dimension of `indices` addresses a slice of the value.
Operation ScatterNdUpdate(const Output& variable, const Input& indices, const Input& updates);
Operation ScatterNdAdd(const Output& variable, const Input& indices, const Input& updates);
Operation ScatterNdSub(const Output& variable, const Input& indices, const Input& updates);

// Rows of the value, without reading the others. Of handles only.
Output ResourceGather(const Output& variable, const Input& indices, int batch_dims = 0);
Output ResourceGatherNd(const Output& variable, const Input& indices);

// The value of an integer scalar, which then grows by one; OutOfRange when it has reached `limit`.
Output CountUpTo(const Output& variable, int64_t limit);

// Ends the variable (or other resource): whoever makes it again by name gets a new one. Of handles
// only.
Operation DestroyResourceOp(const Output& resource, bool ignore_lookup_error = true);

// A variable for one step, and its last value.
Output TemporaryVariable(Graph& g, DType dtype, const PartialShape& shape, const std::string& name);
Output DestroyTemporaryVariable(const Output& variable, const std::string& name);

// Stacks of tensors, for one step. `max_size` 0 or less: no limit. Order pushes and pops by control
// dependencies.
Output StackV2(Graph& g, const Input& max_size, DType elem_type);
Output StackPushV2(const Output& handle, const Input& elem, bool swap_memory = false);
Output StackPopV2(const Output& handle, DType elem_type);
Operation StackCloseV2(const Output& handle);

}  // namespace carillon
