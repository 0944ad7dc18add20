// Specs of the ops for calls of functions.
#include "graph/function_library.h"
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/ops/function_shapes.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

// One gradient for each argument. That of a handle is shaped like what is behind it.
Status SymbolicGradientShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs() && i < c.num_inputs(); ++i) {
    if (c.input_dtype(i) != DType::kResource) c.set_output(i, c.input(i));
  }
  return absl::OkStatus();
}

Status FakeParamShape(ShapeContext& c) {
  c.set_output(0, c.attr<PartialShape>("shape"));
  return absl::OkStatus();
}

}  // namespace

Status FunctionCallShape(ShapeContext& c) {
  const FunctionLibrary* library = c.node().graph().functions().get();
  if (library == nullptr) return absl::OkStatus();
  std::vector<OutputInfo> args;
  for (int i = c.node().op() == "RemoteCall" ? 1 : 0; i < c.num_inputs(); ++i)
    args.push_back({.dtype = c.input_dtype(i), .shape = c.input(i), .handle = c.input_handle(i)});
  const std::vector<OutputInfo> results = library->ResultsOf(CalledFunction(c.node()), args);
  if (results.size() != static_cast<size_t>(c.num_outputs())) return absl::OkStatus();
  for (int i = 0; i < c.num_outputs(); ++i) {
    const OutputInfo& result = results[static_cast<size_t>(i)];
    if (result.dtype != c.node().output(i).dtype) continue;
    c.set_output(i, result.shape);
    if (result.handle.has_value()) c.set_output_handle(i, *result.handle);
  }
  return absl::OkStatus();
}

Status FunctionOutputShapes(ShapeContext& c) {
  const auto& shapes = c.attr<std::vector<PartialShape>>("output_shapes");
  if (shapes.empty()) return absl::OkStatus();
  if (shapes.size() != static_cast<size_t>(c.num_outputs()))
    return InvalidArgument("there are ", shapes.size(), " output_shapes for ", c.num_outputs(),
                           " outputs");
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[static_cast<size_t>(i)]);
  return absl::OkStatus();
}

void AddFunctionOps(OpTable& ops) {
  ops.Add("PartitionedCall(args: list(Tin)) -> (output: list(Tout))",
          "Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; config: string = ''; "
          "config_proto: string = ''; executor_type: string = ''",
          FunctionCallShape);
  ops.Add("StatefulPartitionedCall(args: list(Tin)) -> (output: list(Tout))",
          "Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; config: string = ''; "
          "config_proto: string = ''; executor_type: string = ''",
          {stateful}, FunctionCallShape);
  ops.Add("If(cond: Tcond, input: list(Tin)) -> (output: list(Tout))",
          "Tcond: type; Tin: list(type) >= 0; Tout: list(type) >= 0; then_branch: func; "
          "else_branch: func; output_shapes: list(shape) = []",
          {stateful}, FunctionOutputShapes);
  ops.Add("StatelessIf(cond: Tcond, input: list(Tin)) -> (output: list(Tout))",
          "Tcond: type; Tin: list(type) >= 0; Tout: list(type) >= 0; then_branch: func; "
          "else_branch: func; output_shapes: list(shape) = []",
          FunctionOutputShapes);
  ops.Add("While(input: list(T)) -> (output: list(T))",
          "T: list(type) >= 0; cond: func; body: func; output_shapes: list(shape) = []; "
          "parallel_iterations: int = 10",
          {stateful}, FunctionOutputShapes);
  ops.Add("StatelessWhile(input: list(T)) -> (output: list(T))",
          "T: list(type) >= 0; cond: func; body: func; output_shapes: list(shape) = []; "
          "parallel_iterations: int = 10",
          FunctionOutputShapes);
  ops.Add("Case(branch_index: int32, input: list(Tin)) -> (output: list(Tout))",
          "Tin: list(type) >= 0; Tout: list(type) >= 0; branches: list(func) >= 1; output_shapes: "
          "list(shape) = []",
          {stateful}, FunctionOutputShapes);
  ops.Add("StatelessCase(branch_index: int32, input: list(Tin)) -> (output: list(Tout))",
          "Tin: list(type) >= 0; Tout: list(type) >= 0; branches: list(func) >= 1; output_shapes: "
          "list(shape) = []",
          FunctionOutputShapes);
  ops.Add("For(start: int32, limit: int32, delta: int32, input: list(T)) -> (output: list(T))",
          "T: list(type) >= 0; body: func", ShapeUnknown);
  ops.Add("RemoteCall(target: string, args: list(Tin)) -> (output: list(Tout))",
          "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func", {stateful}, FunctionCallShape);
  ops.Add("SymbolicGradient(input: list(Tin)) -> (output: list(Tout))",
          "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func", SymbolicGradientShape);
  ops.Add("FakeParam() -> (output: dtype)", "dtype: type; shape: shape", FakeParamShape);
  ops.Add("ToBool(input: T) -> (output: bool)", "T: type", ShapeScalar);
  ops.Add("DeviceIndex() -> (index: int32)", "device_names: list(string)", {stateful}, ShapeScalar);
}

}  // namespace carillon
