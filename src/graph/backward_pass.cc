#include "graph/backward_pass.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "base/throw.h"

namespace carillon {

BackwardPass::BackwardPass(Graph& graph, bool colocate, const std::vector<Output>& stop_gradients,
                           const GradTable& table)
    : graph_(graph), colocate_(colocate), table_(table) {
  for (const Output& stop : stop_gradients) stops_.insert(KeyOf(stop));
}

std::vector<Output> BackwardPass::TrainableInputs(const Operation& op) const {
  std::vector<Output> inputs;
  for (int i = 0; i < op.num_inputs(); ++i) {
    const Output input = op.input(i);
    if (input.valid() && IsTrainable(input)) inputs.push_back(input);
  }
  return inputs;
}

std::vector<Operation> BackwardPass::OpsBefore(const std::vector<Output>& ys) const {
  struct Visit {
    Operation op;
    std::vector<Output> inputs;
    size_t next = 0;
  };
  std::vector<Operation> order;
  std::vector<bool> seen(static_cast<size_t>(graph_.nodes().num_nodes()), false);
  std::vector<Visit> stack;  // instead of recursion: graphs may be deep
  const auto enter = [&](const Output& value) {
    if (stops_.contains(KeyOf(value))) return;
    const size_t id = static_cast<size_t>(value.node()->id());
    if (seen[id]) return;
    seen[id] = true;
    stack.push_back({value.op(), TrainableInputs(value.op())});
  };
  for (const Output& y : ys) {
    if (IsTrainable(y)) enter(y);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.inputs.size()) {
        enter(Output(top.inputs[top.next++]));
      } else {
        order.push_back(top.op);
        stack.pop_back();
      }
    }
  }
  return order;
}

std::set<int> BackwardPass::OpsAfter(const std::set<Key>& xs,
                                     const std::vector<Operation>& ops) const {
  std::set<int> after;
  for (const Operation& op : ops) {
    const bool reached = std::ranges::any_of(TrainableInputs(op), [&](const Output& input) {
      if (xs.contains(KeyOf(input))) return true;
      return !stops_.contains(KeyOf(input)) && after.contains(input.node()->id());
    });
    if (reached) after.insert(op.node()->id());
  }
  return after;
}

const Gradient& BackwardPass::Arrived(const Output& value) {
  static const Gradient nothing;
  const auto found = arrived_.find(KeyOf(value));
  if (found == arrived_.end()) return nothing;
  std::vector<Gradient>& parts = found->second;
  if (parts.size() > 1) {
    std::optional<ColocateWith> colocate;
    if (colocate_) colocate.emplace(graph_, value.op());
    parts = {SumGradients(parts)};
  }
  return parts.front();
}

void BackwardPass::Differentiate(const Operation& op) {
  std::vector<Gradient> output_grads;
  bool any = false;
  for (int i = 0; i < op.num_outputs(); ++i) {
    const Output output = op.output(i);
    output_grads.push_back(stops_.contains(KeyOf(output)) ? Gradient() : Arrived(output));
    any |= !output_grads.back().empty();
  }
  if (!any) return;

  bool known = false;
  const GradFn gradient_of = table_.Find(op.type(), &known);
  if (!known) {
    Throw(Unimplemented("op ", op.type(), " has no gradient, but node '", op.name(),
                        "' lies between the values to differentiate; pass its outputs as "
                        "stop_gradients to treat them as constants"));
  }
  if (gradient_of == nullptr) return;

  const NameScope scope(graph_, op.name() + "_grad");
  std::optional<ColocateWith> colocate;
  if (colocate_) colocate.emplace(graph_, op);
  GradContext context(op, std::move(output_grads));
  gradient_of(context);
  for (int i = 0; i < op.num_inputs(); ++i) {
    Gradient& gradient = context.input_grads()[static_cast<size_t>(i)];
    const Output input = op.input(i);
    if (gradient.empty() || !IsTrainable(input)) continue;
    arrived_[KeyOf(input)].push_back(std::move(gradient));
  }
}

std::vector<Gradient> BackwardPass::Run(const std::vector<Output>& ys,
                                        const std::vector<Gradient>& y_grads,
                                        const std::vector<Output>& xs) {
  const std::vector<Operation> before = OpsBefore(ys);
  std::set<Key> x_keys;
  for (const Output& x : xs) x_keys.insert(KeyOf(x));
  const std::set<int> after = OpsAfter(x_keys, before);
  for (size_t i = 0; i < ys.size(); ++i) {
    if (IsTrainable(ys[i])) arrived_[KeyOf(ys[i])].push_back(y_grads[i]);
  }
  // Consumers first, so that when an op's turn comes everything has arrived at its outputs.
  for (auto op = before.rbegin(); op != before.rend(); ++op) {
    if (after.contains(op->node()->id())) Differentiate(*op);
  }
  std::vector<Gradient> result;
  for (const Output& x : xs) result.push_back(Arrived(x));
  return result;
}

}  // namespace carillon
