// Specs of the ops for queues.
#include <string_view>
#include <vector>

#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

enum class QueueNode { kNone, kQueue, kPadding, kPriority };

QueueNode KindOf(const Node* node) {
  if (node == nullptr) return QueueNode::kNone;
  const std::string_view op = node->op();
  if (op == "PriorityQueue" || op == "PriorityQueueV2") return QueueNode::kPriority;
  if (op == "PaddingFIFOQueue" || op == "PaddingFIFOQueueV2") return QueueNode::kPadding;
  if (op == "FIFOQueue" || op == "FIFOQueueV2" || op == "RandomShuffleQueue" ||
      op == "RandomShuffleQueueV2")
    return QueueNode::kQueue;
  return QueueNode::kNone;
}

// The shapes of the components of the queue behind handle input 0, when the handle comes straight
// from the queue's node. Nothing is known of the others.
std::vector<PartialShape> ComponentShapes(const ShapeContext& c) {
  const auto count = static_cast<size_t>(c.num_outputs());
  const Node* node = c.node().input(0).node;
  const QueueNode kind = KindOf(node);
  std::vector<PartialShape> shapes;
  if (kind != QueueNode::kNone) {
    shapes = node->attr<std::vector<PartialShape>>("shapes");
    for (PartialShape& shape : shapes) {
      // There an unknown shape stands for a scalar's.
      if (!shape.has_rank() && kind != QueueNode::kPadding) shape = Shape{};
    }
    if (kind == QueueNode::kPriority) shapes.insert(shapes.begin(), Shape{});
  }
  if (shapes.size() != count) shapes.assign(count, PartialShape());
  return shapes;
}

Status DequeueShape(ShapeContext& c) {
  const std::vector<PartialShape> shapes = ComponentShapes(c);
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[static_cast<size_t>(i)]);
  return absl::OkStatus();
}

// `count` elements, -1 where it is not known, as one tensor each component.
Status BatchShapes(ShapeContext& c, int64_t count) {
  const std::vector<PartialShape> shapes = ComponentShapes(c);
  for (int i = 0; i < c.num_outputs(); ++i) {
    const PartialShape& element = shapes[static_cast<size_t>(i)];
    if (!element.has_rank()) {
      c.set_output(i, PartialShape());
      continue;
    }
    std::vector<int64_t> dims = {count};
    dims.insert(dims.end(), element.dims().begin(), element.dims().end());
    PartialShape batch;
    if (!PartialShape::TryMake(dims, &batch)) {
      return InvalidArgument("component ", i, " of shape ", element.ToString(),
                             " has too many dimensions for a batch");
    }
    c.set_output(i, batch);
  }
  return absl::OkStatus();
}

Status DequeueManyShape(ShapeContext& c) {
  const int64_t n = c.input_as_int(1).value_or(-1);
  if (const Tensor* value = c.input_value(1); value != nullptr && n < 0) {
    return InvalidArgument("n must be one number that is not negative, not ", value->ToString());
  }
  return BatchShapes(c, n);
}

Status DequeueUpToShape(ShapeContext& c) { return BatchShapes(c, -1); }

}  // namespace

void AddQueueOps(OpTable& ops) {
  ops.Add("FIFOQueue() -> (handle: ref(string))",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("FIFOQueueV2() -> (handle: resource)",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("RandomShuffleQueue() -> (handle: ref(string))",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "min_after_dequeue: int = 0; seed: int = 0; seed2: int = 0; container: string = ''; "
          "shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("RandomShuffleQueueV2() -> (handle: resource)",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "min_after_dequeue: int = 0; seed: int = 0; seed2: int = 0; container: string = ''; "
          "shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("PaddingFIFOQueue() -> (handle: ref(string))",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("PaddingFIFOQueueV2() -> (handle: resource)",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("PriorityQueue() -> (handle: ref(string))",
          "component_types: list(type) >= 0 = []; shapes: list(shape) >= 0; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("PriorityQueueV2() -> (handle: resource)",
          "component_types: list(type) >= 0 = []; shapes: list(shape) >= 0; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("QueueEnqueue(handle: ref(string), components: list(Tcomponents)) -> ()",
          "Tcomponents: list(type) >= 1; timeout_ms: int = -1", ShapeNothing);
  ops.Add("QueueEnqueueV2(handle: resource, components: list(Tcomponents)) -> ()",
          "Tcomponents: list(type) >= 1; timeout_ms: int = -1", {stateful}, ShapeNothing);
  ops.Add("QueueEnqueueMany(handle: ref(string), components: list(Tcomponents)) -> ()",
          "Tcomponents: list(type) >= 1; timeout_ms: int = -1", ShapeNothing);
  ops.Add("QueueEnqueueManyV2(handle: resource, components: list(Tcomponents)) -> ()",
          "Tcomponents: list(type) >= 1; timeout_ms: int = -1", {stateful}, ShapeNothing);
  ops.Add("QueueDequeue(handle: ref(string)) -> (components: list(component_types))",
          "component_types: list(type) >= 1; timeout_ms: int = -1", DequeueShape);
  ops.Add("QueueDequeueV2(handle: resource) -> (components: list(component_types))",
          "component_types: list(type) >= 1; timeout_ms: int = -1", {stateful}, DequeueShape);
  ops.Add("QueueDequeueMany(handle: ref(string), n: int32) -> (components: list(component_types))",
          "component_types: list(type) >= 1; timeout_ms: int = -1", DequeueManyShape);
  ops.Add("QueueDequeueManyV2(handle: resource, n: int32) -> (components: list(component_types))",
          "component_types: list(type) >= 1; timeout_ms: int = -1", {stateful}, DequeueManyShape);
  ops.Add("QueueDequeueUpTo(handle: ref(string), n: int32) -> (components: list(component_types))",
          "component_types: list(type) >= 1; timeout_ms: int = -1", DequeueUpToShape);
  ops.Add("QueueDequeueUpToV2(handle: resource, n: int32) -> (components: list(component_types))",
          "component_types: list(type) >= 1; timeout_ms: int = -1", {stateful}, DequeueUpToShape);
  ops.Add("QueueClose(handle: ref(string)) -> ()", "cancel_pending_enqueues: bool = false",
          ShapeNothing);
  ops.Add("QueueCloseV2(handle: resource) -> ()", "cancel_pending_enqueues: bool = false",
          {stateful}, ShapeNothing);
  ops.Add("QueueIsClosed(handle: ref(string)) -> (is_closed: bool)", "", ShapeScalar);
  ops.Add("QueueIsClosedV2(handle: resource) -> (is_closed: bool)", "", {stateful}, ShapeScalar);
  ops.Add("QueueSize(handle: ref(string)) -> (size: int32)", "", ShapeScalar);
  ops.Add("QueueSizeV2(handle: resource) -> (size: int32)", "", {stateful}, ShapeScalar);
}

}  // namespace carillon
