// Passes: small rewrites of a specialised graph, one a file. A specialised graph holds one
// signature: its feeds are _Arg nodes, its fetches _Retval nodes, its targets the control inputs of
// one _Targets node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/node_graph.h"

namespace carillon {

struct Signature {
  std::vector<Endpoint> feeds;
  std::vector<PartialShape> feed_shapes;  // one for each feed
  std::vector<Endpoint> fetches;
  std::vector<Node*> targets;
};

// Copies what the signature needs, with feeds, fetches and targets turned into nodes.
// InvalidArgument when a needed placeholder is not fed: names both it and the fetch that needs it.
StatusOr<std::unique_ptr<NodeGraph>> PruneToSignature(const NodeGraph& graph,
                                                      const Signature& signature);

// Feeds and fetches that come and go while the step runs: _Arg i becomes a _Recv of FeedKey(i),
// _Retval i a _Send of FetchKey(i).
Status ExchangeInParts(NodeGraph* graph);
std::string FeedKey(int64_t index);
std::string FetchKey(int64_t index);
bool IsPartKey(std::string_view key);  // one of these

// Replaces calls of functions by copies of their bodies, conditionals and loops that call functions
// by Switch, Merge and Enter, …: afterwards nothing refers to the library but kernels that call
// functions themselves. Errors name the node and the function.
Status ExpandFunctions(NodeGraph* graph);

// Drops what no _Retval, _Targets or stateful node needs… stateful nodes count only when something
// kept depends on them.
void RemoveUnused(NodeGraph* graph);

// Puts a _ReadRef before every value input that a reference feeds.
Status ReadReferences(NodeGraph* graph);

// Runs every shape function again, in order: feed shapes spread through the graph, and through
// loops as far as these leave shapes alone.
Status InferAllShapes(NodeGraph* graph);
// The same for some nodes, given in topological order.
Status InferShapesOf(NodeGraph* graph, const std::vector<Node*>& order);

// Computes one stateless node whose inputs are all known.
using Evaluate = absl::FunctionRef<StatusOr<std::vector<Tensor>>(
    const Node& node, const std::vector<Tensor>& inputs)>;
// Replaces what does not change from step to step by constants: nodes with constant inputs, and
// shapes that are known. Results above `max_bytes` stay as they are.
Status FoldConstants(NodeGraph* graph, Evaluate evaluate, int64_t max_bytes = 10 << 20);

// Removes what does nothing: identities, reshapes to the same shape, reductions over no axis.
Status Simplify(NodeGraph* graph);

// Computes no value that nobody reads: where something only waits for a node without effects, as
// the gradients that TensorFlow's Python builds do, it waits for what the node needs instead. Those
// that a caller asked for as targets stay.
Status DropUnusedValues(NodeGraph* graph);

// Merges stateless nodes that compute the same.
Status MergeCommonSubexpressions(NodeGraph* graph);

// Fusions, in the order in which they are meant to run. The ops they make are in ops/internal.cc.
Status UseBiasOps(NodeGraph* graph);  // Add of a vector to a product or convolution is BiasAdd, its
                                      // gradient's Sum is BiasAddGrad
Status FuseBatchNorm(NodeGraph* graph);  // batch norm (+ residual) + relu, and the gradient of both
Status FuseReluPoolGrad(NodeGraph* graph);  // the gradients of a max pool and of the relu before it
Status FuseBias(NodeGraph* graph);          // convolution or product + bias + relu
Status FuseFilterBiasGrad(NodeGraph* graph);  // the gradients of a filter and of its bias

}  // namespace carillon
