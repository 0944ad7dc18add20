// Which nodes a step may leave out.
#pragma once

#include <vector>

#include "graph/node_graph.h"

namespace carillon {

// By node id: true for what comes after a Switch, in a branch or loop that may not be run. What is
// wrong there is an error only for the step that gets there. Empty when the graph has no order.
std::vector<bool> NodesThatMayNotRun(const NodeGraph& graph);

}  // namespace carillon
