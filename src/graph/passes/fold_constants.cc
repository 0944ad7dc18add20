#include <algorithm>
#include <optional>
#include <unordered_set>

#include "base/strings.h"
#include "graph/frames.h"
#include "graph/passes/pass.h"
#include "graph/passes/rewiring.h"

namespace carillon {
namespace {

bool IsFoldable(const Node& node) {
  const std::string& op = node.op();
  if (node.spec().is_stateful || node.num_outputs() == 0 || op.starts_with('_') || op == "Const" ||
      op.starts_with("Placeholder"))
    return false;
  if (IsControlFlow(node)) return false;
  for (int i = 0; i < node.num_outputs(); ++i) {
    const DType dtype = node.output(i).dtype;
    if (node.output(i).is_ref || dtype == DType::kResource || dtype == DType::kVariant)
      return false;
  }
  return true;
}

Tensor IntegerTensor(DType dtype, const Shape& shape, std::span<const int64_t> values) {
  Tensor tensor(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kInt32)
      tensor.mutable_data<int32_t>()[i] = static_cast<int32_t>(values[i]);
    else
      tensor.mutable_data<int64_t>()[i] = values[i];
  }
  return tensor;
}

// The value of output `i` where it follows from shapes alone.
std::optional<Tensor> ValueFromShapes(const Node& node, int i) {
  const auto input_shape = [&](int input) {
    return node.input(input).node->output(node.input(input).index).shape;
  };
  const DType dtype = node.output(i).dtype;
  Shape shape;
  if ((node.op() == "Shape" || node.op() == "ShapeN") && input_shape(i).AsShape(&shape))
    return IntegerTensor(dtype, Shape{shape.rank()}, shape.dims());
  if (node.op() == "Size" && input_shape(0).AsShape(&shape)) {
    const int64_t size = shape.num_elements();
    return IntegerTensor(dtype, Shape{}, std::span(&size, 1));
  }
  if (node.op() == "Rank" && input_shape(0).has_rank()) {
    const int64_t rank = input_shape(0).rank();
    return IntegerTensor(dtype, Shape{}, std::span(&rank, 1));
  }
  return std::nullopt;
}

bool TooLarge(const Node& node, int64_t max_bytes) {
  for (int i = 0; i < node.num_outputs(); ++i) {
    Shape shape;
    if (!node.output(i).shape.AsShape(&shape)) return true;  // how much it would make is not known
    if (shape.num_elements() > max_bytes / static_cast<int64_t>(DTypeSize(node.output(i).dtype)))
      return true;
  }
  return false;
}

// A reference variable is read, directly or as TensorFlow's Python does it, by an Identity.
bool ReadsReference(const Node& node) {
  const bool is_identity = node.op() == "Identity" && node.input(0).node != nullptr;
  return (is_identity ? *node.input(0).node : node).op() == "_ReadRef";
}

// Does more than to compute, or may say that something is wrong: it is run also when nobody needs
// its value. Variables have no effect by being read; what passes put in has none of its own.
bool HasEffect(const Node& node) {
  const std::string& op = node.op();
  if (op.starts_with('_') || op == "VarHandleOp" || op == "ReadVariableOp" || op == "VariableV2" ||
      op == "Variable")
    return false;
  if (node.spec().is_stateful) return true;
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (node.input_wants_ref(i)) return true;
  }
  return false;
}

// Which nodes have an effect, or need the value or end of one that has.
class Effects {
 public:
  // Inputs first.
  void Note(const Node& node) {
    const bool has_effect =
        HasEffect(node) ||
        std::ranges::any_of(node.inputs(),
                            [&](const Endpoint& input) { return Has(input.node); }) ||
        std::ranges::any_of(node.control_inputs(), [&](const Node* before) { return Has(before); });
    if (has_effect) nodes_.insert(&node);
  }
  void NoteConstantFor(const Node* node, const Node* constant) {
    if (Has(node)) nodes_.insert(constant);
  }
  bool Has(const Node* node) const { return nodes_.contains(node); }

 private:
  std::unordered_set<const Node*> nodes_;
};

// What a constant in the place of `node` must wait for: whatever the node waited for, itself or
// through its constant inputs; inputs with effects, since those are wanted though the value is not;
// and the reading of a reference variable, which is an error while it has no value (not so with
// resource variables: as in TensorFlow). Inside of control flow the constant also belongs to the
// branch and iteration of the node's inputs.
std::vector<Node*> ControlInputsForConstant(const Node& node, const Effects& effects,
                                            bool has_control_flow) {
  std::vector<Node*> before = node.control_inputs();
  for (const Endpoint& input : node.inputs()) {
    if (input.node->op() == "Const") {
      before.insert(before.end(), input.node->control_inputs().begin(),
                    input.node->control_inputs().end());
    } else if (has_control_flow || effects.Has(input.node) ||
               (ReadsReference(*input.node) && input.node->device() == node.device())) {
      before.push_back(input.node);
    }
  }
  std::ranges::sort(before, {}, &Node::id);
  before.erase(std::ranges::unique(before).begin(), before.end());
  return before;
}

// True when the deadness of an input cannot be passed on by a control input: a Switch is alive even
// when the output that is read is dead.
bool ReadsSwitch(const Node& node) {
  return std::ranges::any_of(node.inputs(), [](const Endpoint& input) {
    return input.node->op() == "Switch" || input.node->op() == "RefSwitch";
  });
}

Status ReplaceByConstant(NodeGraph* graph, Rewiring* rewiring, Effects* effects, Node* node, int i,
                         Tensor value, const std::vector<Node*>& before) {
  AttrMap attrs;
  attrs.emplace("dtype", AttrValue(value.dtype()));
  attrs.emplace("value", AttrValue(std::move(value)));
  CARILLON_ASSIGN_OR_RETURN(
      Node * constant, graph->Add({.name = graph->UniqueName(StrCat(node->name(), "/_folded_", i)),
                                   .op = "Const",
                                   .control_inputs = before,
                                   .attrs = std::move(attrs),
                                   .device = node->device()}));
  effects->NoteConstantFor(node, constant);
  rewiring->Redirect({node, i}, {constant, 0});
  return absl::OkStatus();
}

}  // namespace

Status FoldConstants(NodeGraph* graph, Evaluate evaluate, int64_t max_bytes) {
  CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph->TopologicalOrder());
  const bool has_control_flow =
      std::ranges::any_of(order, [](const Node* node) { return IsControlFlow(*node); });
  Rewiring rewiring(graph);
  Effects effects;
  for (Node* node : order) {
    rewiring.Update(node);
    effects.Note(*node);
    if (!IsFoldable(*node) || (has_control_flow && ReadsSwitch(*node))) continue;
    // Inputs may have become constants. What does not fit them may be in a branch that is not
    // taken.
    if (const Status status = graph->InferShapes(node); !status.ok()) {
      if (!has_control_flow) return status;
      continue;
    }
    std::vector<std::optional<Tensor>> values(static_cast<size_t>(node->num_outputs()));
    for (int i = 0; i < node->num_outputs(); ++i)
      values[static_cast<size_t>(i)] = ValueFromShapes(*node, i);
    std::vector<Tensor> inputs;
    for (const Endpoint& input : node->inputs()) {
      if (input.node != nullptr && input.node->op() == "Const")
        inputs.push_back(input.node->attr<Tensor>("value"));
    }
    const bool all_known = static_cast<int>(inputs.size()) == node->num_inputs();
    if (!values[0].has_value() && all_known && !TooLarge(*node, max_bytes)) {
      StatusOr<std::vector<Tensor>> results = evaluate(*node, inputs);
      if (!results.ok()) continue;  // the step will say what is wrong, if it gets there
      for (size_t i = 0; i < values.size(); ++i) {
        if ((*results)[i].has_value()) values[i] = std::move((*results)[i]);
      }
    }
    if (std::ranges::none_of(values, &std::optional<Tensor>::has_value)) continue;
    const std::vector<Node*> before = ControlInputsForConstant(*node, effects, has_control_flow);
    for (int i = 0; i < node->num_outputs(); ++i) {
      std::optional<Tensor>& value = values[static_cast<size_t>(i)];
      if (value.has_value())
        CARILLON_RETURN_IF_ERROR(
            ReplaceByConstant(graph, &rewiring, &effects, node, i, *std::move(value), before));
    }
  }
  rewiring.Finish();
  RemoveUnused(graph);
  return absl::OkStatus();
}

}  // namespace carillon
