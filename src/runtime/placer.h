// Decides on which device each node runs.
#pragma once

#include <string>
#include <vector>

#include "graph/node_graph.h"

namespace carillon {

struct PlacerOptions {
  bool allow_soft_placement = false;  // type and number of a device are wishes
};

// Sets the device of every node to one of `devices`, which are full names; the first is that of the
// task whose session this is: what asks for nothing runs there. Nodes that share a variable or a
// resource, or are colocated by name, run together; whoever uses a variable or a resource is where
// it is, whatever it asks for. A node without inputs that asks for nothing
// goes where its value is used; a fetch stays where its value is. InvalidArgument names the node,
// what it asks for and what there is.
Status Place(NodeGraph* graph, const std::vector<std::string>& devices,
             const PlacerOptions& options);

}  // namespace carillon
