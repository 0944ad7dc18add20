#include "carillon/ops/queue.h"

#include "base/throw.h"
#include "carillon/op_builder.h"
#include "graph/attr.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

OpBuilder QueueBuilder(Graph& g, const char* op, const std::vector<DType>& component_types,
                       const QueueOpOptions& options) {
  OpBuilder builder(g, op);
  builder.Name(options.name)
      .Attr("component_types", component_types)
      .AttrValueOf("shapes", AttrValue(options.shapes))
      .Attr("capacity", options.capacity)
      .Attr("container", options.container)
      .Attr("shared_name", options.shared_name);
  return builder;
}

// What the elements of the queue are made of.
std::vector<DType> ComponentTypes(const Output& queue) {
  if (!queue.valid()) Throw(InvalidArgument("a queue that refers to nothing was used"));
  const AttrValue* types = queue.node()->FindAttr("component_types");
  if (types == nullptr || queue.node()->num_inputs() > 0) {
    Throw(
        InvalidArgument("'", queue.name(), "' is no queue: it is made by op ", queue.node()->op()));
  }
  std::vector<DType> result = *types->get_if<std::vector<DType>>();
  if (queue.node()->op() == "PriorityQueueV2") result.insert(result.begin(), DType::kInt64);
  return result;
}

std::vector<Output> Outputs(const Operation& op) {
  std::vector<Output> outputs;
  for (int i = 0; i < op.num_outputs(); ++i) outputs.push_back(op.output(i));
  return outputs;
}

Operation Enqueue(const char* op, const Output& queue, const std::vector<Input>& components) {
  return OpBuilder(op)
      .Arg(queue)
      .Args(components)
      .Attr("Tcomponents", ComponentTypes(queue))
      .Build();
}

}  // namespace

Output FIFOQueue(Graph& g, const std::vector<DType>& component_types,
                 const QueueOpOptions& options) {
  return QueueBuilder(g, "FIFOQueueV2", component_types, options);
}
Output PaddingFIFOQueue(Graph& g, const std::vector<DType>& component_types,
                        const QueueOpOptions& options) {
  return QueueBuilder(g, "PaddingFIFOQueueV2", component_types, options);
}
Output RandomShuffleQueue(Graph& g, const std::vector<DType>& component_types,
                          const RandomShuffleQueueOptions& options) {
  return QueueBuilder(g, "RandomShuffleQueueV2", component_types, options.queue)
      .Attr("min_after_dequeue", options.min_after_dequeue)
      .Attr("seed", options.seed)
      .Attr("seed2", options.seed2);
}
Output PriorityQueue(Graph& g, const std::vector<DType>& component_types,
                     const QueueOpOptions& options) {
  return QueueBuilder(g, "PriorityQueueV2", component_types, options);
}

Operation QueueEnqueue(const Output& queue, const std::vector<Input>& components) {
  return Enqueue("QueueEnqueueV2", queue, components);
}
Operation QueueEnqueueMany(const Output& queue, const std::vector<Input>& components) {
  return Enqueue("QueueEnqueueManyV2", queue, components);
}

std::vector<Output> QueueDequeue(const Output& queue) {
  return Outputs(OpBuilder("QueueDequeueV2")
                     .Arg(queue)
                     .Attr("component_types", ComponentTypes(queue))
                     .Build());
}
std::vector<Output> QueueDequeueMany(const Output& queue, const Input& n) {
  return Outputs(OpBuilder("QueueDequeueManyV2")
                     .Arg(queue)
                     .Arg(n)
                     .Attr("component_types", ComponentTypes(queue))
                     .Build());
}
std::vector<Output> QueueDequeueUpTo(const Output& queue, const Input& n) {
  return Outputs(OpBuilder("QueueDequeueUpToV2")
                     .Arg(queue)
                     .Arg(n)
                     .Attr("component_types", ComponentTypes(queue))
                     .Build());
}

Operation QueueClose(const Output& queue, bool cancel_pending_enqueues) {
  return OpBuilder("QueueCloseV2")
      .Arg(queue)
      .Attr("cancel_pending_enqueues", cancel_pending_enqueues)
      .Build();
}
Output QueueIsClosed(const Output& queue) { return OpBuilder("QueueIsClosedV2").Arg(queue); }
Output QueueSize(const Output& queue) { return OpBuilder("QueueSizeV2").Arg(queue); }

}  // namespace carillon
