// Specs of the ops that passes make. Their names start with '_'; no user writes them.
#include "graph/op_spec.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

Status ArgShape(ShapeContext& c) {
  c.set_output(0, c.attr<PartialShape>("shape"));
  return absl::OkStatus();
}

}  // namespace

void AddInternalOps(OpTable& ops) {
  // The value of a reference variable, read when its control inputs have run.
  ops.Add("_ReadRef(ref: ref(T)) -> (value: T)", "T: type", {stateful}, ShapeOfInput);

  // What goes into a step and what comes out: the feeds and fetches of a specialised graph, by
  // position. _Targets only waits for its control inputs.
  ops.Add("_Arg() -> (output: T)", "T: type; index: int; shape: shape = ?", {stateful}, ArgShape);
  ops.Add("_Retval(input: T) -> ()", "T: type; index: int", {stateful}, ShapeNothing);
  ops.Add("_Targets() -> ()", "", {stateful}, ShapeNothing);

  // The two ends of an edge that was cut, between parts of one step that meet at a rendezvous.
  ops.Add("_Send(tensor: T) -> ()", "T: type; key: string", {stateful}, ShapeNothing);
  ops.Add("_Recv() -> (tensor: T)", "T: type; key: string; shape: shape = ?", {stateful}, ArgShape);
}

}  // namespace carillon
