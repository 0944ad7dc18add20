// Pictures of graphs.
#pragma once

#include <string>

#include "graph/node_graph.h"

namespace carillon {

// The graph in Graphviz's language: `dot -Tsvg` draws it. Control dependencies are dashed, edges
// carry dtype and shape.
std::string ToGraphviz(const NodeGraph& graph);

// One line a node, in topological order where there is one: name = Op(inputs) attrs ->
// dtype[shape].
std::string ToText(const NodeGraph& graph);

}  // namespace carillon
