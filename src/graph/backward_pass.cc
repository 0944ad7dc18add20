#include "graph/backward_pass.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "base/throw.h"
#include "graph/function_library.h"
#include "graph/gradient.h"
#include "graph/loop_gradient.h"

namespace carillon {

BackwardPass::Unit BackwardPass::UnitOf(const Output& value) const {
  if (const Loop* loop = options_.loops->LoopLeftBy(*value.node())) return {.loop = loop};
  return {.node = value.node()};
}

std::vector<Output> BackwardPass::TrainableInputs(const Unit& unit) const {
  std::vector<Output> inputs;
  const auto add = [&](const Node& node, int i) {
    const Output input(node.input(i).node, node.input(i).index);
    if (input.valid() && IsTrainable(input)) inputs.push_back(input);
  };
  if (unit.loop != nullptr) {
    for (const LoopVariable& variable : unit.loop->variables) add(*variable.enter, 0);
    for (const Node* enter : unit.loop->invariants) add(*enter, 0);
  } else if (!options_.loops->IsLoopInput(*unit.node)) {  // there the region ends
    for (int i = 0; i < unit.node->num_inputs(); ++i) add(*unit.node, i);
  }
  return inputs;
}

std::vector<BackwardPass::Unit> BackwardPass::UnitsBefore(const std::vector<Output>& ys) const {
  struct Visit {
    Unit unit;
    std::vector<Output> inputs;
    size_t next = 0;
  };
  std::vector<Unit> order;
  std::set<Unit> seen;
  std::vector<Visit> stack;  // instead of recursion: graphs may be deep
  const auto enter = [&](const Output& value) {
    if (options_.Stops(value)) return;
    const Unit unit = UnitOf(value);
    if (seen.insert(unit).second) stack.push_back({unit, TrainableInputs(unit)});
  };
  for (const Output& y : ys) {
    if (IsTrainable(y)) enter(y);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.inputs.size()) {
        enter(Output(top.inputs[top.next++]));
      } else {
        order.push_back(top.unit);
        stack.pop_back();
      }
    }
  }
  return order;
}

std::vector<bool> BackwardPass::DependsOn(const Output& y,
                                          const std::vector<Output>& candidates) const {
  std::set<Key> read = {KeyOf(y)};
  for (const Unit& unit : UnitsBefore({y})) {
    for (const Output& input : TrainableInputs(unit)) read.insert(KeyOf(input));
  }
  std::vector<bool> result;
  for (const Output& candidate : candidates) result.push_back(read.contains(KeyOf(candidate)));
  return result;
}

bool BackwardPass::IsConnected(const Output& value) const {
  if (xs_.contains(KeyOf(value))) return true;
  return !options_.Stops(value) && connected_.contains(UnitOf(value));
}

void BackwardPass::CheckRegion(const std::vector<Output>& values, const char* what) const {
  for (const Output& value : values) {
    const Loop* loop = options_.loops->FindLoop(options_.loops->FrameOf(*value.node()));
    if (loop == nullptr || loop->frame == frame_) continue;
    Throw(InvalidArgument("'", value.name(), "', one of ", what, ", is inside the loop '",
                          loop->name, "' and has no gradient outside of it"));
  }
}

const Gradient& BackwardPass::Arrived(const Output& value) {
  static const Gradient nothing;
  const auto found = arrived_.find(KeyOf(value));
  if (found == arrived_.end()) return nothing;
  std::vector<Gradient>& parts = found->second;
  if (parts.size() > 1) {
    std::optional<ColocateWith> colocate;
    if (options_.colocate) colocate.emplace(graph_, value.op());
    parts = {SumGradients(parts)};
  }
  return parts.front();
}

Gradient BackwardPass::ArrivedFor(const Output& value) {
  return options_.Stops(value) ? Gradient() : Arrived(value);
}

void BackwardPass::Add(const Output& value, Gradient gradient) {
  if (!gradient.empty() && IsTrainable(value))
    arrived_[KeyOf(value)].push_back(std::move(gradient));
}

void BackwardPass::Differentiate(const Operation& op) {
  std::vector<Gradient> output_grads;
  for (int i = 0; i < op.num_outputs(); ++i) output_grads.push_back(ArrivedFor(op.output(i)));
  if (std::ranges::all_of(output_grads, &Gradient::empty)) return;

  bool known = false;
  GradFn gradient_of = options_.table->Find(op.type(), &known);
  if (!known && op.type() != "RemoteCall" && IsFunctionCall(*op.node())) {
    gradient_of = CallGradient;
    known = true;
  }
  if (!known) {
    Throw(Unimplemented("op ", op.type(), " has no gradient, but node '", op.name(),
                        "' lies between the values to differentiate; pass its outputs as "
                        "stop_gradients to treat them as constants"));
  }
  if (gradient_of == nullptr) return;

  const NameScope scope(graph_, op.name() + "_grad");
  std::optional<ColocateWith> colocate;
  if (options_.colocate) colocate.emplace(graph_, op);
  GradContext context(op, std::move(output_grads), options_.call);
  gradient_of(context);
  for (int i = 0; i < op.num_inputs(); ++i)
    Add(op.input(i), std::move(context.input_grads()[static_cast<size_t>(i)]));
}

void BackwardPass::Differentiate(const Loop& loop) {
  std::vector<Gradient> exit_grads;
  for (const LoopVariable& variable : loop.variables) {
    std::vector<Gradient> parts;
    for (Node* exit : variable.exits) parts.push_back(ArrivedFor(Output(exit, 0)));
    exit_grads.push_back(SumGradients(parts));
  }
  if (std::ranges::all_of(exit_grads, &Gradient::empty)) return;
  if (loop.pops_stacks) {
    Throw(
        Unimplemented("loop '", loop.name,
                      "' reads stacks, as the gradient of a loop does: its own gradient cannot be "
                      "taken; pass its results as stop_gradients to treat them as constants"));
  }
  const NameScope scope(graph_, loop.name + "_grad");
  std::optional<ColocateWith> colocate;
  if (options_.colocate) colocate.emplace(graph_, Operation(loop.variables.front().merge));
  LoopGradient gradient(graph_, loop, options_);
  gradient.Build(
      exit_grads, [this](const Output& value) { return IsConnected(value); },
      [this](const Output& value, Gradient part) { Add(value, std::move(part)); });
}

std::vector<Gradient> BackwardPass::Run(const std::vector<Output>& ys,
                                        const std::vector<Gradient>& y_grads,
                                        const std::vector<Output>& xs) {
  CheckRegion(ys, "ys");
  CheckRegion(xs, "xs");
  for (const Output& x : xs) xs_.insert(KeyOf(x));
  const std::vector<Unit> before = UnitsBefore(ys);
  for (const Unit& unit : before) {
    const std::vector<Output> inputs = TrainableInputs(unit);
    // What a stack holds may come from anywhere.
    const bool reads_stacks = unit.loop != nullptr && unit.loop->pops_stacks;
    if (reads_stacks ||
        std::ranges::any_of(inputs, [&](const Output& input) { return IsConnected(input); }))
      connected_.insert(unit);
  }
  for (size_t i = 0; i < ys.size(); ++i) Add(ys[i], y_grads[i]);
  // Consumers first, so that when a unit's turn comes everything has arrived at its outputs.
  for (auto unit = before.rbegin(); unit != before.rend(); ++unit) {
    if (!connected_.contains(*unit)) continue;
    if (unit->loop != nullptr) {
      Differentiate(*unit->loop);
    } else {
      Differentiate(Operation(unit->node));
    }
  }
  std::vector<Gradient> result;
  for (const Output& x : xs) result.push_back(Arrived(x));
  return result;
}

}  // namespace carillon
