// The backward pass: which ops lie between xs and ys, and in which order their gradients are made.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "carillon/gradients.h"
#include "graph/gradient.h"
#include "graph/node_graph.h"

namespace carillon {

// Adds the backward graph of one region: the graph outside of loops, or the body of one loop.
class BackwardPass {
 public:
  BackwardPass(Graph& graph, bool colocate, const std::vector<Output>& stop_gradients,
               const GradTable& table = AllGradients());

  // For each x the sum of what arrives there when y_grads arrive at ys.
  std::vector<Gradient> Run(const std::vector<Output>& ys, const std::vector<Gradient>& y_grads,
                            const std::vector<Output>& xs);

 private:
  using Key = std::pair<int, int>;  // node id, output
  static Key KeyOf(const Output& value) { return {value.node()->id(), value.index()}; }

  // Those of the op's inputs that a gradient could flow into.
  std::vector<Output> TrainableInputs(const Operation& op) const;
  // The ops that ys are computed from, producers first.
  std::vector<Operation> OpsBefore(const std::vector<Output>& ys) const;
  // Those of `ops` that compute with an x.
  std::set<int> OpsAfter(const std::set<Key>& xs, const std::vector<Operation>& ops) const;
  // The sum of the gradients that have arrived at `value`.
  const Gradient& Arrived(const Output& value);
  void Differentiate(const Operation& op);

  Graph& graph_;
  const bool colocate_;
  const GradTable& table_;
  std::set<Key> stops_;
  std::map<Key, std::vector<Gradient>> arrived_;
};

}  // namespace carillon
