// Cuts a placed graph into parts, one for each device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/node_graph.h"

namespace carillon {

// What one device does in a step: a specialised graph of its own (graph/passes/pass.h).
struct Part {
  std::string device;
  std::unique_ptr<NodeGraph> graph;
  // Which of the step's feeds and fetches the part's _Arg and _Retval nodes are, in their order.
  std::vector<int> feeds;
  std::vector<int> fetches;
};

// An edge that was cut: a _Send in one part, a _Recv in another, that meet at the step's
// rendezvous.
struct Channel {
  std::string key;
  int from = 0;  // parts
  int to = 0;
};

struct PartitionedGraph {
  std::vector<Part> parts;
  // In the order in which their values are needed: first those that the longest chain of nodes
  // waits for. Where they have to share a link they should travel in this order.
  std::vector<Channel> channels;
};

// Every node of `graph` names its device, as Place leaves it; shapes are inferred, so that each
// _Recv knows what is known of its tensor. A value goes to a device once, however many read it
// there, and carries the control dependencies on its node with it. Loops that span devices run on
// all of them, each iteration told by the device that decides. `graph` is used up. Unimplemented
// for what cannot be sent (handles of resources, variants): names the node.
StatusOr<PartitionedGraph> Partition(std::unique_ptr<NodeGraph> graph);

}  // namespace carillon
