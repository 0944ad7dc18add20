// What is known of small integer tensors that are computed from shapes.
#pragma once

#include "graph/node_graph.h"

namespace carillon {

// Sets OutputInfo::partial_value where the inputs of `node` determine (part of) its integer
// outputs. Called after the shape function.
void InferPartialValue(Node& node);

}  // namespace carillon
