// About what graphs and programs take outside of tensors, for whoever counts what it keeps of them.
#pragma once

#include <cstdint>

#include "graph/node_graph.h"

namespace carillon {

// Of a graph, without its functions.
int64_t EstimateGraph(const NodeGraph& graph);
// Of a program that runs this graph, which is part of it.
int64_t EstimateProgram(const NodeGraph& graph);

}  // namespace carillon
