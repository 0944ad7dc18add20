// Decides on which device each node runs.
#pragma once

#include <string>
#include <vector>

#include "graph/node_graph.h"

namespace carillon {

struct PlacerOptions {
  bool allow_soft_placement = false;  // type and number of a device are wishes
  // What the graph was cut from: a node that is not in the graph may still have others colocated
  // with it. Null: nothing is known of it.
  const NodeGraph* whole = nullptr;
};

// Sets the device of every node to one of `devices`, which are full names; the first is that of the
// task whose session this is: what asks for nothing runs there. Nodes that share a variable or a
// resource, or are colocated by name, run together; whoever uses a variable or a resource is where
// it is, whatever it asks for; an Identity is where its input is if neither asks for anything.
// Within what it asks for, a node without inputs goes where its value is used, one that looks at
// the shape of its input alone where that is; a fetch stays where its value is. InvalidArgument
// names the node, what it asks for and what there is.
Status Place(NodeGraph* graph, const std::vector<std::string>& devices,
             const PlacerOptions& options);

}  // namespace carillon
