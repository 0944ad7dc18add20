#include "graph/gradient.h"

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/op_builder.h"
#include "graph/node_graph.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

const OutputInfo& InfoOf(const Output& value) { return value.node()->output(value.index()); }

Tensor ScalarOf(DType dtype, double element) {
  Tensor scalar;
  const bool known = DispatchNumber(
      dtype, [&]<typename T>() { scalar = Tensor::Scalar<T>(static_cast<T>(element)); });
  if (!known) Throw(Internal("there is no number of dtype ", DTypeName(dtype)));
  return scalar;
}

Output Concatenate(const std::vector<Output>& parts) {
  return OpBuilder("ConcatV2").Args(parts).Arg(0);
}

IndexedSlices ConcatenateSlices(const std::vector<Gradient>& parts) {
  bool wide = false;
  for (const Gradient& part : parts) wide |= part.slices().indices.dtype() == DType::kInt64;
  std::vector<Output> values, indices;
  for (const Gradient& part : parts) {
    values.push_back(part.slices().values);
    Output index = part.slices().indices;
    if (wide && index.dtype() != DType::kInt64)
      index = OpBuilder("Cast").Arg(index).Attr("DstT", DType::kInt64);
    indices.push_back(index);
  }
  return {Concatenate(values), Concatenate(indices), parts.front().slices().dense_shape};
}

}  // namespace

bool IsTrainable(const Output& value) {
  if (value.dtype() == DType::kVariant) {
    const auto& element = InfoOf(value).handle;
    return !element.has_value() || IsFloating(element->dtype) || element->dtype == DType::kVariant;
  }
  return IsFloating(value.dtype()) || value.dtype() == DType::kResource;
}

Output FillLike(const Output& value, double element) {
  // Through the shape rather than ZerosLike, so that the value itself need not live until the
  // backward pass. Never through a constant shape, which would be alive in branches not taken.
  const OutputInfo& info = InfoOf(value);
  if (info.dtype == DType::kVariant) {
    if (element != 0) {
      Throw(InvalidArgument("'", value.name(),
                            "' is a list, which has no ones: its gradient must "
                            "start from a list that is given"));
    }
    return OpBuilder("ZerosLike").Arg(value);
  }
  if (info.dtype != DType::kResource) {
    Output shape = OpBuilder("Shape").Arg(value);
    return OpBuilder("Fill").Arg(shape).Arg(ScalarOf(info.dtype, element));
  }
  const DType dtype = info.handle.has_value() ? info.handle->dtype : DType::kFloat;
  Output shape = OpBuilder("VariableShape").Arg(value);
  return OpBuilder("Fill").Arg(shape).Arg(ScalarOf(dtype, element));
}

Output Gradient::Dense() const {
  if (empty()) return Output();
  if (!is_slices()) return tensor();
  const auto& [values, indices, dense_shape] = slices();
  // The size of the first dimension: dense_shape[0].
  Output rows = OpBuilder("StridedSlice")
                    .Arg(dense_shape)
                    .Arg(Tensor::FromVector<int32_t>({0}))
                    .Arg(Tensor::FromVector<int32_t>({1}))
                    .Arg(Tensor::FromVector<int32_t>({1}))
                    .Attr("shrink_axis_mask", 1);
  return OpBuilder("UnsortedSegmentSum").Arg(values).Arg(indices).Arg(rows);
}

Gradient SumGradients(const std::vector<Gradient>& parts) {
  std::vector<Gradient> present;
  bool all_slices = true;
  for (const Gradient& part : parts) {
    if (part.empty()) continue;
    present.push_back(part);
    all_slices &= part.is_slices();
  }
  if (present.empty()) return Gradient();
  if (present.size() == 1) return present.front();
  if (all_slices) return ConcatenateSlices(present);
  std::vector<Output> dense;
  for (const Gradient& part : present) dense.push_back(part.Dense());
  return Output(OpBuilder("AddN").Args(dense));
}

Output GradContext::grad(int i) const {
  const Gradient& arrived = raw_grad(i);
  return arrived.empty() ? FillLike(op_.output(i), 0.0) : arrived.Dense();
}

GradTable::GradTable() {
  AddArrayGradients(*this);
  AddMathGradients(*this);
  AddNnGradients(*this);
  AddStateGradients(*this);
  AddImageGradients(*this);
  AddControlFlowGradients(*this);
  AddFunctionGradients(*this);
  AddListGradients(*this);
}

void GradTable::Add(std::string_view op, GradFn fn) {
  functions_.insert_or_assign(std::string(op), fn);
}

void GradTable::AddNone(std::initializer_list<std::string_view> ops) {
  for (const std::string_view op : ops) Add(op, nullptr);
}

GradFn GradTable::Find(std::string_view op, bool* known) const {
  const auto found = functions_.find(std::string(op));
  *known = found != functions_.end();
  return *known ? found->second : nullptr;
}

const GradTable& AllGradients() {
  static const GradTable table;
  return table;
}

}  // namespace carillon
