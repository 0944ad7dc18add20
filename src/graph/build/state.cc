#include "carillon/ops/state.h"

#include <optional>

#include "base/throw.h"
#include "carillon/op_builder.h"
#include "graph/build/variable_kind.h"
#include "graph/node_graph.h"

namespace carillon {

bool IsReference(const Output& variable) {
  if (!variable.valid()) Throw(InvalidArgument("a variable that refers to nothing was used"));
  if (variable.node()->output(variable.index()).is_ref) return true;
  if (variable.dtype() == DType::kResource) return false;
  Throw(InvalidArgument("'", variable.name(), "' is no variable but a ",
                        DTypeName(variable.dtype()), " value"));
}

DType VariableDType(const Output& variable) {
  if (IsReference(variable)) return variable.dtype();
  const auto& handle = variable.node()->output(variable.index()).handle;
  if (!handle.has_value() || handle->dtype == DType::kInvalid) {
    Throw(InvalidArgument("the dtype of the variable behind '", variable.name(), "' is not known"));
  }
  return handle->dtype;
}

namespace {

Output MakeVariable(Graph& g, const char* op, DType dtype, const PartialShape& shape,
                    const VariableOpOptions& options) {
  return OpBuilder(g, op)
      .Name(options.name)
      .Attr("dtype", dtype)
      .Attr("shape", shape)
      .Attr("container", options.container)
      .Attr("shared_name", options.shared_name);
}

// `op` on references, `op`VariableOp on handles.
Operation AssignOp(const std::string& op, const Output& variable, const Input& value,
                   std::optional<bool> validate_shape = std::nullopt) {
  const bool reference = IsReference(variable);
  OpBuilder builder(reference ? op : op + "VariableOp");
  builder.Arg(variable).Arg(value).Attr(reference ? "T" : "dtype", VariableDType(variable));
  if (validate_shape.has_value()) builder.Attr("validate_shape", *validate_shape);
  return builder.Build();
}

// `op` on references, Resource`op` on handles.
Operation Scatter(const std::string& op, const Output& variable, const Input& indices,
                  const Input& updates) {
  const bool reference = IsReference(variable);
  OpBuilder builder(reference ? op : "Resource" + op);
  builder.Arg(variable).Arg(indices).Arg(updates);
  const bool is_nd = op.find("Nd") != std::string::npos;
  builder.Attr(reference || is_nd ? "T" : "dtype", VariableDType(variable));
  return builder.Build();
}

void RequireHandle(const Output& variable, const char* op) {
  if (IsReference(variable)) {
    Throw(InvalidArgument(op, " takes a resource handle, and '", variable.name(),
                          "' is a reference"));
  }
}

}  // namespace

Output VarHandleOp(Graph& g, DType dtype, const PartialShape& shape,
                   const VariableOpOptions& options) {
  return MakeVariable(g, "VarHandleOp", dtype, shape, options);
}
Output VariableV2(Graph& g, DType dtype, const PartialShape& shape,
                  const VariableOpOptions& options) {
  return MakeVariable(g, "VariableV2", dtype, shape, options);
}

Output ReadVariableOp(const Output& variable) {
  if (IsReference(variable)) return OpBuilder("Identity").Name("read").Arg(variable);
  return OpBuilder("ReadVariableOp").Arg(variable).Attr("dtype", VariableDType(variable));
}
Output IsVariableInitialized(const Output& variable) {
  return OpBuilder(IsReference(variable) ? "IsVariableInitialized" : "VarIsInitializedOp")
      .Arg(variable);
}
Output VariableShape(const Output& variable, DType out_type) {
  RequireHandle(variable, "VariableShape");
  return OpBuilder("VariableShape").Arg(variable).Attr("out_type", out_type);
}

Operation Assign(const Output& variable, const Input& value, bool validate_shape) {
  return AssignOp("Assign", variable, value, validate_shape);
}
Operation AssignAdd(const Output& variable, const Input& value) {
  return AssignOp("AssignAdd", variable, value);
}
Operation AssignSub(const Output& variable, const Input& value) {
  return AssignOp("AssignSub", variable, value);
}

Operation ScatterUpdate(const Output& variable, const Input& indices, const Input& updates) {
  return Scatter("ScatterUpdate", variable, indices, updates);
}
Operation ScatterAdd(const Output& variable, const Input& indices, const Input& updates) {
  return Scatter("ScatterAdd", variable, indices, updates);
}
Operation ScatterSub(const Output& variable, const Input& indices, const Input& updates) {
  return Scatter("ScatterSub", variable, indices, updates);
}
Operation ScatterMul(const Output& variable, const Input& indices, const Input& updates) {
  return Scatter("ScatterMul", variable, indices, updates);
}
Operation ScatterDiv(const Output& variable, const Input& indices, const Input& updates) {
  return Scatter("ScatterDiv", variable, indices, updates);
}
Operation ScatterMin(const Output& variable, const Input& indices, const Input& updates) {
  return Scatter("ScatterMin", variable, indices, updates);
}
Operation ScatterMax(const Output& variable, const Input& indices, const Input& updates) {
  return Scatter("ScatterMax", variable, indices, updates);
}
Operation ScatterNdUpdate(const Output& variable, const Input& indices, const Input& updates) {
  return Scatter("ScatterNdUpdate", variable, indices, updates);
}
Operation ScatterNdAdd(const Output& variable, const Input& indices, const Input& updates) {
  return Scatter("ScatterNdAdd", variable, indices, updates);
}
Operation ScatterNdSub(const Output& variable, const Input& indices, const Input& updates) {
  return Scatter("ScatterNdSub", variable, indices, updates);
}

Output ResourceGather(const Output& variable, const Input& indices, int batch_dims) {
  RequireHandle(variable, "ResourceGather");
  return OpBuilder("ResourceGather")
      .Arg(variable)
      .Arg(indices)
      .Attr("dtype", VariableDType(variable))
      .Attr("batch_dims", batch_dims);
}
Output ResourceGatherNd(const Output& variable, const Input& indices) {
  RequireHandle(variable, "ResourceGatherNd");
  return OpBuilder("ResourceGatherNd")
      .Arg(variable)
      .Arg(indices)
      .Attr("dtype", VariableDType(variable));
}

Output CountUpTo(const Output& variable, int64_t limit) {
  return OpBuilder(IsReference(variable) ? "CountUpTo" : "ResourceCountUpTo")
      .Arg(variable)
      .Attr("limit", limit)
      .Attr("T", VariableDType(variable));
}

Operation DestroyResourceOp(const Output& resource, bool ignore_lookup_error) {
  return OpBuilder("DestroyResourceOp")
      .Arg(resource)
      .Attr("ignore_lookup_error", ignore_lookup_error)
      .Build();
}

Output TemporaryVariable(Graph& g, DType dtype, const PartialShape& shape,
                         const std::string& name) {
  return OpBuilder(g, "TemporaryVariable")
      .Attr("dtype", dtype)
      .Attr("shape", shape)
      .Attr("var_name", name);
}
Output DestroyTemporaryVariable(const Output& variable, const std::string& name) {
  return OpBuilder("DestroyTemporaryVariable").Arg(variable).Attr("var_name", name);
}

Output StackV2(Graph& g, const Input& max_size, DType elem_type) {
  return OpBuilder(g, "StackV2").Arg(max_size).Attr("elem_type", elem_type);
}
Output StackPushV2(const Output& handle, const Input& elem, bool swap_memory) {
  return OpBuilder("StackPushV2").Arg(handle).Arg(elem).Attr("swap_memory", swap_memory);
}
Output StackPopV2(const Output& handle, DType elem_type) {
  return OpBuilder("StackPopV2").Arg(handle).Attr("elem_type", elem_type);
}
Operation StackCloseV2(const Output& handle) {
  return OpBuilder("StackCloseV2").Arg(handle).Build();
}

}  // namespace carillon
