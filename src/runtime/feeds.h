// What is fed to a step, against the graph.
#pragma once

#include <span>

#include "base/status.h"
#include "carillon/tensor.h"
#include "graph/node_graph.h"

namespace carillon {

// InvalidArgument, with the mark of the node, unless each value has the dtype of the output that it
// is fed to, and a shape which that may have.
Status CheckFeeds(std::span<const Endpoint> to, std::span<const Tensor> values);

}  // namespace carillon
