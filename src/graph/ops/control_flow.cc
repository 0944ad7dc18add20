// Specs of the ops for conditionals, loops, assertions.
#include "absl/strings/str_split.h"
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

Status SwitchShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, c.input(0));
    if (const auto handle = c.input_handle(0)) c.set_output_handle(i, *handle);
  }
  return absl::OkStatus();
}

// What all shapes have in common: any input may be the one that arrives.
PartialShape CommonShape(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || a.rank() != b.rank()) return PartialShape();
  PartialShape common = a;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.dim(i) != b.dim(i)) common.set_dim(i, -1);
  }
  return common;
}

Status MergeShape(ShapeContext& c) {
  PartialShape common = c.input(0);
  std::optional<HandleInfo> handle = c.input_handle(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    common = CommonShape(common, c.input(i));
    const std::optional<HandleInfo> other = c.input_handle(i);
    if (handle.has_value() && other.has_value() && handle->dtype == other->dtype) {
      handle->shape = CommonShape(handle->shape, other->shape);
    } else {
      handle.reset();
    }
  }
  c.set_output(0, common);
  if (handle.has_value()) c.set_output_handle(0, *handle);
  c.set_output(1, Shape{});
  return absl::OkStatus();
}

Status LoopCondShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape shape, c.WithRank(0, 0));
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status PrintV2Shape(ShapeContext& c) { return c.WithRank(0, 0).status(); }

Status StringFormatShape(ShapeContext& c) {
  const auto& text = c.attr<std::string>("template");
  const auto& placeholder = c.attr<std::string>("placeholder");
  const std::vector<absl::string_view> parts = absl::StrSplit(text, placeholder);
  if (parts.size() != static_cast<size_t>(c.num_inputs()) + 1) {
    return InvalidArgument("the template has ", parts.size() - 1, " placeholders but there are ",
                           c.num_inputs(), " inputs");
  }
  c.set_output(0, Shape{});
  return absl::OkStatus();
}

}  // namespace

void AddControlFlowOps(OpTable& ops) {
  ops.Add("NoOp() -> ()", "", ShapeNothing);
  ops.Add("Switch(data: T, pred: bool) -> (output_false: T, output_true: T)", "T: type",
          SwitchShape);
  ops.Add("RefSwitch(data: ref(T), pred: bool) -> (output_false: ref(T), output_true: ref(T))",
          "T: type", {uninitialized_ok}, SwitchShape);
  ops.Add("Merge(inputs: N * T) -> (output: T, value_index: int32)", "T: type; N: int >= 1",
          MergeShape);
  ops.Add("RefMerge(inputs: N * ref(T)) -> (output: ref(T), value_index: int32)",
          "T: type; N: int >= 1", MergeShape);
  ops.Add("Enter(data: T) -> (output: T)",
          "T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10",
          ShapeOfInput);
  ops.Add("RefEnter(data: ref(T)) -> (output: ref(T))",
          "T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10",
          ShapeOfInput);
  ops.Add("Exit(data: T) -> (output: T)", "T: type", ShapeOfInput);
  ops.Add("RefExit(data: ref(T)) -> (output: ref(T))", "T: type", ShapeOfInput);
  ops.Add("NextIteration(data: T) -> (output: T)", "T: type", ShapeOfInput);
  ops.Add("RefNextIteration(data: ref(T)) -> (output: ref(T))", "T: type", ShapeOfInput);
  ops.Add("LoopCond(input: bool) -> (output: bool)", "", LoopCondShape);
  ops.Add("ControlTrigger() -> ()", "", ShapeNothing);
  ops.Add("Abort() -> ()", "error_msg: string = ''; exit_without_error: bool = false",
          ShapeNothing);
  ops.Add("Assert(condition: bool, data: list(T)) -> ()", "T: list(type) >= 1; summarize: int = 3",
          {stateful}, ShapeNothing);
  ops.Add(
      "Print(input: T, data: list(U)) -> (output: T)",
      "T: type; U: list(type) >= 0; message: string = ''; first_n: int = -1; summarize: int = 3",
      {stateful}, ShapeOfInput);
  ops.Add("PrintV2(input: string) -> ()", "output_stream: string = 'stderr'; end: string = '\n'",
          {stateful}, PrintV2Shape);
  ops.Add("StringFormat(inputs: list(T)) -> (output: string)",
          "T: list(type) >= 0; template: string = '%s'; placeholder: string = '%s'; summarize: int "
          "= 3",
          StringFormatShape);
}

}  // namespace carillon
