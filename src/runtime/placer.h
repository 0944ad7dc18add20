// Checks that nodes can run where they ask to.
#pragma once

#include "graph/node_graph.h"
#include "runtime/device.h"

namespace carillon {

// Every node's requested device must be (or leave open) that of `device`; with soft placement type
// and index may differ. InvalidArgument names the node, what it asks for and what there is.
Status PlaceOn(const NodeGraph& graph, const Device& device, bool allow_soft_placement);

}  // namespace carillon
