// NodeGraph to and from GraphDef, binary and text.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "graph/node_graph.h"
#include "tensor/allocator.h"

namespace tensorflow {
class GraphDef;
class AttrValue;
class NodeDef;
}  // namespace tensorflow

namespace carillon {

// Adds the nodes in whatever order they come; names get `prefix/` in front when it is not empty. On
// failure (unknown op, attribute or input, a cycle, …) the error names the node, and nothing has
// been added. The constants' memory is `allocator`'s: ResourceExhausted when it has no room.
Status ImportGraphDef(const tensorflow::GraphDef& graph_def, const std::string& prefix,
                      NodeGraph* graph, Allocator* allocator = HostAllocator());
// How many outputs such a node of an op would have: a small one may have a great many.
int64_t NumOutputs(const tensorflow::NodeDef& node, const OpSpec& spec);
// Names of nodes that are not in a graph because somebody's op is not known, and the error of that.
using NodesLeftOut = std::unordered_map<std::string, Status>;
// The same, but nodes of unknown ops are left out, with those that need them, unless a loop comes
// back through them: whoever wants one is to be given its error. `left_out` holds those of earlier
// imports into the graph; on failure nothing has been added there either.
Status ImportKnownNodes(const tensorflow::GraphDef& graph_def, NodeGraph* graph,
                        NodesLeftOut* left_out, Allocator* allocator);
// A graph that passes have specialised (graph/passes/pass.h), with the ops that only they may use.
// For what comes from ourselves.
Status ImportSpecializedGraphDef(const tensorflow::GraphDef& graph_def, NodeGraph* graph,
                                 Allocator* allocator);
Status ImportGraphDefBinary(std::string_view bytes, const std::string& prefix, NodeGraph* graph);
Status ImportGraphDefText(std::string_view text, const std::string& prefix, NodeGraph* graph);

// Attributes at their default are left out, as the format allows.
// Only nodes from id `first_node` on: what came since an earlier export.
void ExportGraphDef(const NodeGraph& graph, tensorflow::GraphDef* graph_def, int first_node = 0);
std::string ExportGraphDefBinary(const NodeGraph& graph);
std::string ExportGraphDefText(const NodeGraph& graph);

StatusOr<AttrValue> AttrFromProto(const tensorflow::AttrValue& proto,
                                  Allocator* allocator = HostAllocator());
void AttrToProto(const AttrValue& value, tensorflow::AttrValue* proto);

// NotFound, with the name that is nearest, when there is none.
StatusOr<Node*> FindNode(const NodeGraph& graph, std::string_view name);
// "name" or "name:index". NotFound when there is none.
StatusOr<Endpoint> FindEndpoint(const NodeGraph& graph, std::string_view name);

}  // namespace carillon
