// Gradients of the ops on arrays and lists of tensors.
#include "carillon/ops/list.h"

#include "carillon/ops/array.h"
#include "graph/gradient.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

// Arrays: an element's gradient is the element of an array of gradients. What was read from the
// array is written there, what was written is read; the flow's gradient is the flow of that array,
// so that reads come after the writes they depend on.

// The array of gradients behind the forward op's array, for use after `flow`.
TensorArrayOutputs GradientArray(const GradContext& c, const Output& flow) {
  const Output handle = TensorArrayGradV3(c.input(0), flow, c.call()).handle;
  const ControlDependencies made(c.graph(), {handle.op()});
  return {handle, Identity(flow, "gradient_flow")};
}

// The flow that arrived, once the forward op has run: its element's shape is known then.
Output FlowAfterForward(const GradContext& c) {
  const Output done = Identity(c.output(0), "flow_out");
  const ControlDependencies after(c.graph(), {done.op()});
  return Identity(c.grad(0), "write_barrier");
}

void ReadGradient(GradContext& c) {
  const auto [handle, flow] = GradientArray(c, c.input(2));
  c.set(2, TensorArrayWriteV3(handle, c.input(1), c.grad(0), flow));
}

void WriteGradient(GradContext& c) {
  const Output arrived = FlowAfterForward(c);
  const auto [handle, flow] = GradientArray(c, arrived);
  c.set(2, TensorArrayReadV3(handle, c.input(1), flow, c.input(2).dtype()));
  c.set(3, arrived);
}

void GatherGradient(GradContext& c) {
  const auto [handle, flow] = GradientArray(c, c.input(2));
  c.set(2, TensorArrayScatterV3(handle, c.input(1), c.grad(0), flow));
}

void ScatterGradient(GradContext& c) {
  const Output arrived = FlowAfterForward(c);
  const auto [handle, flow] = GradientArray(c, arrived);
  c.set(2, TensorArrayGatherV3(handle, c.input(1), flow, c.input(2).dtype()));
  c.set(3, arrived);
}

void ConcatGradient(GradContext& c) {
  const auto [handle, flow] = GradientArray(c, c.input(1));
  c.set(1, TensorArraySplitV3(handle, c.grad(0), c.output(1), flow));
}

void SplitGradient(GradContext& c) {
  const Output arrived = FlowAfterForward(c);
  const auto [handle, flow] = GradientArray(c, arrived);
  c.set(1, TensorArrayConcatV3(handle, flow, c.input(1).dtype()).value);
  c.set(3, arrived);
}

// Lists: the gradient of a list is a list of its elements' gradients.

// The sizes of a row of `tensor`.
Output RowSizes(const Output& tensor) {
  return StridedSlice(ShapeOf(tensor), {1}, {0}, {1}, {.end_mask = 1});
}

void PushBackGradient(GradContext& c) {
  const auto [list, tensor] = TensorListPopBack(c.grad(0), ShapeOf(c.input(1)), c.input(1).dtype());
  c.set(0, list);
  c.set(1, tensor);
}

void PopBackGradient(GradContext& c) {
  const Output list = c.HasGrad(0) ? c.grad(0)
                                   : EmptyTensorList(c.graph(), c.output(1).dtype(),
                                                     TensorListElementShape(c.output(0)));
  c.set(0, TensorListPushBack(list, c.grad(1)));
}

void StackGradient(GradContext& c) {
  c.set(0, TensorListFromTensor(c.grad(0), RowSizes(c.grad(0))));
}

void FromTensorGradient(GradContext& c) {
  const PartialShape shape = c.input(0).shape();
  c.set(0, TensorListStack(c.grad(0), RowSizes(c.input(0)), c.input(0).dtype(),
                           shape.rank() > 0 ? shape.dim(0) : -1));
}

void GetItemGradient(GradContext& c) {
  const Output zeros =
      TensorListReserve(c.graph(), c.grad(0).dtype(), TensorListElementShape(c.input(0)),
                        TensorListLength(c.input(0)));
  c.set(0, TensorListSetItem(zeros, c.input(1), c.grad(0)));
}

void SetItemGradient(GradContext& c) {
  const Output item = c.input(2);
  c.set(0, TensorListSetItem(c.grad(0), c.input(1), ZerosLike(item)));
  c.set(2, TensorListGetItem(c.grad(0), c.input(1), ShapeOf(item), item.dtype()));
}

void ResizeGradient(GradContext& c) {
  c.set(0, TensorListResize(c.grad(0), TensorListLength(c.input(0))));
}

void ListGatherGradient(GradContext& c) {
  c.set(0, TensorListScatter(c.grad(0), c.input(1), TensorListElementShape(c.input(0)),
                             TensorListLength(c.input(0))));
}

void ListScatterGradient(GradContext& c) {
  const Output tensor = c.input(0);
  c.set(0, TensorListGather(c.grad(0), c.input(1), RowSizes(tensor), tensor.dtype()));
}

void ScatterIntoGradient(GradContext& c) {
  const Output tensor = c.input(1);
  c.set(0, TensorListScatterIntoExistingList(c.grad(0), ZerosLike(tensor), c.input(2)));
  c.set(1, TensorListGather(c.grad(0), c.input(2), RowSizes(tensor), tensor.dtype()));
}

void ListConcatGradient(GradContext& c) {
  c.set(0, TensorListSplit(c.grad(0), TensorListElementShape(c.input(0)), c.output(1)));
}

void ListSplitGradient(GradContext& c) {
  c.set(0, TensorListConcat(c.grad(0), c.input(1), c.input(2), c.input(0).dtype()).tensor);
}

}  // namespace

void AddListGradients(GradTable& grads) {
  grads.Add("TensorArrayReadV3", ReadGradient);
  grads.Add("TensorArrayWriteV3", WriteGradient);
  grads.Add("TensorArrayGatherV3", GatherGradient);
  grads.Add("TensorArrayScatterV3", ScatterGradient);
  grads.Add("TensorArrayConcatV3", ConcatGradient);
  grads.Add("TensorArraySplitV3", SplitGradient);
  grads.AddNone({"TensorArrayV3", "TensorArrayGradV3", "TensorArrayGradWithShape",
                 "TensorArraySizeV3", "TensorArrayCloseV3"});
  grads.Add("TensorListPushBack", PushBackGradient);
  grads.Add("TensorListPopBack", PopBackGradient);
  grads.Add("TensorListStack", StackGradient);
  grads.Add("TensorListFromTensor", FromTensorGradient);
  grads.Add("TensorListGetItem", GetItemGradient);
  grads.Add("TensorListSetItem", SetItemGradient);
  grads.Add("TensorListResize", ResizeGradient);
  grads.Add("TensorListGather", ListGatherGradient);
  grads.Add("TensorListScatter", ListScatterGradient);
  grads.Add("TensorListScatterV2", ListScatterGradient);
  grads.Add("TensorListScatterIntoExistingList", ScatterIntoGradient);
  grads.Add("TensorListConcat", ListConcatGradient);
  grads.Add("TensorListConcatV2", ListConcatGradient);
  grads.Add("TensorListSplit", ListSplitGradient);
  grads.AddNone(
      {"EmptyTensorList", "TensorListReserve", "TensorListLength", "TensorListElementShape"});
}

}  // namespace carillon
