// Where ops are being made: inside which branch of a conditional or body of a loop. Build-time
// state: the graph itself says everything that later layers need.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "carillon/graph.h"
#include "graph/node_graph.h"

namespace carillon {

// Contexts nest. They belong to their graph and live as long as it, since later ops are checked
// against them.
class ControlFlowContext {
 public:
  ControlFlowContext(Graph& graph, std::string name, ControlFlowContext* outer)
      : graph_(graph), name_(std::move(name)), outer_(outer) {}
  virtual ~ControlFlowContext() = default;
  ControlFlowContext(const ControlFlowContext&) = delete;
  ControlFlowContext& operator=(const ControlFlowContext&) = delete;

  Graph& graph() const { return graph_; }
  const std::string& name() const { return name_; }
  ControlFlowContext* outer() const { return outer_; }
  virtual bool is_loop() const { return false; }

  // `value` as ops inside read it: itself when it was made inside, else brought in by a Switch or
  // an Enter. Throws Error(InvalidArgument) for a value from inside a loop that is not around.
  virtual Output Capture(const Output& value);
  // The same for an op to run after.
  virtual Node* CaptureControl(Node* before);

  // Makes the inputs of a node that is about to be added inside fit.
  virtual void Adopt(NodeInit& init);
  // Every node that was added inside.
  virtual void AddOp(Node* node);

 protected:
  // A value that is visible just outside, brought in.
  virtual Output BringIn(const Output& value) = 0;
  bool Contains(const Node* node) const;
  // Ops that would not otherwise wait for anything inside wait for this one.
  Node* pivot_ = nullptr;

 private:
  Graph& graph_;
  const std::string name_;
  ControlFlowContext* const outer_;
  std::map<std::pair<int, int>, Output> captured_;  // by node id and output
};

// One branch of a conditional. Values enter through a Switch on `pred`.
class BranchContext final : public ControlFlowContext {
 public:
  // `pivot` is alive exactly when the branch is taken; `pred` is visible outside.
  BranchContext(Graph& graph, std::string name, ControlFlowContext* outer, Output pred, bool branch,
                Node* pivot);

 private:
  Output BringIn(const Output& value) override;
  const Output pred_;
  const bool branch_;
};

// A loop under construction. Values enter through a constant Enter.
class LoopContext : public ControlFlowContext {
 public:
  LoopContext(Graph& graph, std::string frame_name, ControlFlowContext* outer,
              int parallel_iterations);

  bool is_loop() const override { return true; }
  void Adopt(NodeInit& init) override;
  Node* CaptureControl(Node* before) override;

  // The pieces of a loop variable, in the order in which they are made; all but the first under
  // this context. `value` must be visible outside. `invariant` is the shape that holds in every
  // iteration.
  Output EnterVariable(const Output& value);
  Output OpenMerge(const Output& entered, const PartialShape& invariant);
  void set_pivot(const Output& pivot) { pivot_ = pivot.node(); }
  void set_condition(const Output& loop_cond) { condition_ = loop_cond; }
  // What happens to a merged value when the loop goes on, and when it ends.
  struct Choice {
    Output body;
    Node* switch_node;
  };
  Choice Switch(const Output& merged);
  // InvalidArgument when the loop would change the shape of a variable beyond its invariant.
  static Status CheckInvariant(const Output& merged, const Output& next);
  void CloseMerge(const Output& merged, const Output& next);
  Output Exit(const Choice& choice);

 private:
  Output BringIn(const Output& value) override { return Enter(value, true); }
  Output Enter(const Output& value, bool is_constant);
  const int parallel_iterations_;
  Output condition_;
  std::map<int, Node*> tokens_;  // by the id of the op outside: what stands for it inside
};

// For adding to what was built before: ops are made beside `neighbour` and read what they are
// given.
class GraftContext final : public ControlFlowContext {
 public:
  GraftContext(Graph& graph, const Node& neighbour);
  Output Capture(const Output& value) override { return value; }
  Node* CaptureControl(Node* before) override { return before; }
  void Adopt(NodeInit&) override {}
  void AddOp(Node* node) override;

 private:
  Output BringIn(const Output& value) override { return value; }
  const Node& neighbour_;
};

// Where an op was made; null: outside of all.
ControlFlowContext* ContextOf(const Graph& graph, const Node& node);
// From now on `node` counts as made where `neighbour` was.
void PlaceBeside(Graph& graph, const Node& node, const Node& neighbour);

void KeepContext(Graph& graph, std::unique_ptr<ControlFlowContext> context);
// A context that lives as long as its graph.
template <typename Context, typename... Args>
Context& NewContext(Graph& graph, Args&&... args) {
  auto made = std::make_unique<Context>(graph, std::forward<Args>(args)...);
  Context& context = *made;
  KeepContext(graph, std::move(made));
  return context;
}

// Ops made while it lives are made inside `context` (null: outside of all).
class ContextScope {
 public:
  ContextScope(Graph& graph, ControlFlowContext* context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  Graph& graph_;
  ControlFlowContext* const outer_;
};

// For AddUnderScopes: InvalidArgument when a value that is used outside of all contexts comes from
// inside a loop.
Status CheckOutsideLoops(const Graph& graph, const NodeInit& init);

}  // namespace carillon
