// The gradient of a whole loop: a second loop that runs as many iterations as the first did, back
// to front.
//
// The forward loop is given a counter. Each forward value that the backward loop needs is pushed on
// a stack of its own in every iteration and popped in the matching one; the counters of both loops
// wait for pushes and pops, so that the order holds however many iterations run at once. What
// enters the forward loop as a constant needs no stack, but its gradient is a sum over all
// iterations. Loops inside the body are handled by the body's own backward pass.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "carillon/gradients.h"
#include "graph/backward_pass.h"
#include "graph/control_flow_context.h"
#include "graph/loops.h"

namespace carillon {

// The part that is added to the forward loop.
struct ForwardCounter {
  Node* in_body = nullptr;  // the count at the start of an iteration; dead after the last one
  Node* sync = nullptr;     // a ControlTrigger that the next count waits for
  Output total;             // how many iterations there were; appears outside
};

// The backward loop while it is being built: a forward value that is used inside is brought in
// through a stack.
class BackwardLoopContext final : public LoopContext {
 public:
  BackwardLoopContext(Graph& graph, std::string frame_name, ControlFlowContext* outer,
                      const Loop& forward, LoopMap* loops);

  const Loop& forward() const { return forward_; }
  const ForwardCounter& counter() const { return counter_; }
  // What runs in the backward loop before the next iteration may start.
  void AddToSync(Node* node);
  void set_sync(Node* sync) { sync_ = sync; }

  Output Capture(const Output& value) override;
  void Adopt(NodeInit& init) override;
  void AddOp(Node* node) override;

 private:
  // The context, this one or one around it, whose forward loop `value` is a varying value of.
  BackwardLoopContext* OwnerOf(const Output& value);
  BackwardLoopContext* outer_backward() const;
  bool MovesForward(std::string_view op, const Output& input);
  void BuildForwardCounter();
  Output PopForward(const Output& value);
  Output MakeStack(const Output& value);
  // `handle`, which is outside of the outermost of the loops that are being differentiated, as
  // seen in the forward loop.
  Output EnterForward(const Output& handle);

  const Loop forward_;
  LoopMap* const loops_;  // only while the gradient is being built
  ForwardCounter counter_;
  Node* sync_ = nullptr;
  std::map<std::pair<int, int>, Output> popped_;
};

class LoopGradient {
 public:
  LoopGradient(Graph& graph, const Loop& loop, const BackwardOptions& options)
      : graph_(graph), loop_(loop), options_(options) {}

  // exit_grads: one for each loop variable. `is_connected` says whether an input of the loop is
  // computed from an x; `deliver` hears of the gradients of inputs.
  void Build(const std::vector<Gradient>& exit_grads,
             const std::function<bool(const Output&)>& is_connected,
             const std::function<void(const Output&, Gradient)>& deliver);

 private:
  // A variable of the backward loop.
  struct Carried {
    Output merged;
    LoopContext::Choice choice;
  };
  void FindActive(const std::vector<Gradient>& exit_grads,
                  const std::function<bool(const Output&)>& is_connected);
  void OpenCounter(BackwardLoopContext& context);
  Carried Open(BackwardLoopContext& context, const Output& initial, const PartialShape& shape);
  Output InitialGradient(size_t variable, const Gradient& exit_grad);

  Graph& graph_;
  const Loop& loop_;
  const BackwardOptions& options_;
  std::vector<size_t> active_;     // variables that gradients flow through
  std::vector<Node*> invariants_;  // constant Enters that are connected
};

}  // namespace carillon
