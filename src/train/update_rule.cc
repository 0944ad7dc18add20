#include <algorithm>

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/initializers.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "carillon/optimizer.h"
#include "tensor/dispatch.h"
#include "train/variable_kind.h"

namespace carillon {

void UpdateRule::CreateSlots(const std::vector<Variable>& variables) {}
std::vector<Operation> UpdateRule::Finish() { return {}; }

Operation UpdateRule::ApplySlices(const IndexedSlices& gradient, const Variable& variable) {
  const UniqueOutputs unique = Unique(gradient.indices);
  const Output summed = UnsortedSegmentSum(gradient.values, unique.idx, Size(unique.y));
  return ApplySparse(summed, unique.y, variable);
}

Variable UpdateRule::slot(const Variable& variable, const std::string& name) const {
  const auto found = slots_.find({variable.handle().node(), name});
  if (found == slots_.end()) {
    Throw(NotFound("the optimizer ", name_, " has no slot '", name, "' for the variable '",
                   variable.name(), "'"));
  }
  return found->second;
}

void UpdateRule::MakeSlot(const Variable& variable, const std::string& name, float value) {
  const std::pair key(variable.handle().node(), name);
  if (slots_.contains(key)) return;
  Graph& graph = variable.graph();
  const NameScope scope(graph, StrCat(variable.name(), "/"));
  const ColocateWith placed(graph, variable.handle().op());
  const VariableOptions options{.trainable = false, .use_resource = IsResource(variable)};
  Shape shape;
  if (variable.shape().AsShape(&shape)) {
    state_.emplace_back(graph, name_, shape, init::Constant(value), variable.dtype(), options);
  } else {
    const Output element = Cast(Const(graph, value), variable.dtype());
    state_.emplace_back(graph, name_, Fill(ShapeOf(variable.initial_value()), element), options);
  }
  slots_.emplace(key, state_.back());
}

Variable UpdateRule::MakeScalar(const std::vector<Variable>& variables, const Input& value,
                                const std::string& name) {
  const Variable& first = *std::ranges::min_element(
      variables, {}, [](const Variable& variable) { return variable.name(); });
  Graph& graph = first.graph();
  const ColocateWith placed(graph, first.handle().op());
  state_.emplace_back(graph, name, Shared(graph, value, name + "/initial_value"),
                      VariableOptions{.trainable = false, .use_resource = IsResource(first)});
  return state_.back();
}

Output UpdateRule::Shared(Graph& graph, const Input& value, const std::string& name) const {
  if (value.is_output()) return value.output();
  if (value.value().num_elements() != 1)
    Throw(InvalidArgument("the ", name, " of an optimizer must be one number"));
  float number = 0;
  if (!DispatchAmong<float, double, int32_t, int64_t>(value.value().dtype(), [&]<typename T>() {
        number = static_cast<float>(value.value().data<T>()[0]);
      }))
    Throw(InvalidArgument("the ", name, " of an optimizer must be a number"));
  return Const(graph, number, name);
}

Output UpdateRule::As(const Variable& variable, const Output& value) {
  if (value.dtype() == variable.dtype()) return value;
  return Cast(value, variable.dtype());
}

OpBuilder UpdateRule::Update(const std::string& op, const Variable& variable,
                             const std::vector<std::string>& slots) const {
  OpBuilder builder(IsResource(variable) ? "Resource" + op : op);
  builder.Arg(variable.handle());
  for (const std::string& name : slots) builder.Arg(slot(variable, name).handle());
  return builder;
}

}  // namespace carillon
