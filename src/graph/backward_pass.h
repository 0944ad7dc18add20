// The backward pass: which ops lie between xs and ys, and in which order their gradients are made.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "carillon/gradients.h"
#include "graph/gradient.h"
#include "graph/loops.h"
#include "graph/node_graph.h"

namespace carillon {

// What the backward passes of one call of Gradients share.
struct BackwardOptions {
  LoopMap* loops = nullptr;
  const GradTable* table = &AllGradients();
  bool colocate = true;
  std::string call;                     // GradContext::call
  std::set<std::pair<int, int>> stops;  // node id and output of values that count as constants

  bool Stops(const Output& value) const {
    return stops.contains({value.node()->id(), value.index()});
  }
};

// Adds the backward graph of one region: the graph outside of loops, or the body of one loop.
// Inside the region a loop is one unit, like an op: see loop_gradient.h.
class BackwardPass {
 public:
  // `frame`: of the loop whose body is the region; 0: outside of loops.
  BackwardPass(Graph& graph, int frame, const BackwardOptions& options)
      : graph_(graph), frame_(frame), options_(options) {}

  // For each x the sum of what arrives there when y_grads arrive at ys.
  std::vector<Gradient> Run(const std::vector<Output>& ys, const std::vector<Gradient>& y_grads,
                            const std::vector<Output>& xs);

  // Those of `candidates` that y is computed from, by values that a gradient could flow through.
  std::vector<bool> DependsOn(const Output& y, const std::vector<Output>& candidates) const;

 private:
  using Key = std::pair<int, int>;  // node id, output
  static Key KeyOf(const Output& value) { return {value.node()->id(), value.index()}; }

  // An op, or a whole loop.
  struct Unit {
    Node* node = nullptr;
    const Loop* loop = nullptr;
    auto operator<=>(const Unit&) const = default;
  };
  Unit UnitOf(const Output& value) const;
  // Those of its inputs that a gradient could flow into.
  std::vector<Output> TrainableInputs(const Unit& unit) const;
  // What ys are computed from, producers first.
  std::vector<Unit> UnitsBefore(const std::vector<Output>& ys) const;
  // True when `value` is an x or computed from one.
  bool IsConnected(const Output& value) const;
  void CheckRegion(const std::vector<Output>& values, const char* what) const;
  // The sum of the gradients that have arrived at `value`.
  const Gradient& Arrived(const Output& value);
  // The same as its producer sees it.
  Gradient ArrivedFor(const Output& value);
  void Add(const Output& value, Gradient gradient);
  void Differentiate(const Operation& op);
  void Differentiate(const Loop& loop);

  Graph& graph_;
  const int frame_;
  const BackwardOptions& options_;
  std::set<Key> xs_;
  std::set<Unit> connected_;
  std::map<Key, std::vector<Gradient>> arrived_;
};

}  // namespace carillon
