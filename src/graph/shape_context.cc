#include "graph/shape_context.h"

#include <algorithm>

#include "base/strings.h"
#include "tensor/dispatch.h"

namespace carillon {

PartialShape ShapeContext::input(int i) const {
  const Endpoint& from = node_.input(i);
  return from.node == nullptr ? PartialShape() : from.node->output(from.index).shape;
}

const Tensor* ShapeContext::input_value(int i) const {
  const Node* from = node_.input(i).node;
  return from != nullptr && from->op() == "Const" ? &from->attr<Tensor>("value") : nullptr;
}

std::optional<PartialShape> ShapeContext::input_as_sizes(int i) const {
  const Endpoint& from = node_.input(i);
  if (from.node == nullptr) return std::nullopt;
  if (const Tensor* value = input_value(i)) {
    if (value->rank() > 1 || value->num_elements() > kMaxRank) return std::nullopt;
    std::vector<int64_t> sizes;
    DispatchAmong<int32_t, int64_t>(value->dtype(), [&]<typename T>() {
      sizes.assign(value->data<T>(), value->data<T>() + value->num_elements());
    });
    PartialShape shape;
    if (sizes.size() != static_cast<size_t>(value->num_elements()) ||
        !PartialShape::TryMake(sizes, &shape))
      return std::nullopt;
    return shape;
  }
  const OutputInfo& info = from.node->output(from.index);
  if (info.partial_value.has_value()) return info.partial_value;
  // Nothing is known of the elements, but perhaps their number.
  if (info.shape.rank() == 1 && info.shape.dim(0) >= 0 && info.shape.dim(0) <= kMaxRank) {
    return PartialShape::UnknownOfRank(static_cast<int>(info.shape.dim(0)));
  }
  return std::nullopt;
}

std::optional<int64_t> ShapeContext::input_as_int(int i) const {
  if (const Tensor* value = input_value(i)) {
    std::optional<int64_t> result;
    if (value->num_elements() == 1) {
      DispatchInteger(value->dtype(),
                      [&]<typename T>() { result = static_cast<int64_t>(value->data<T>()[0]); });
    }
    return result;
  }
  const Endpoint& from = node_.input(i);
  if (from.node == nullptr) return std::nullopt;
  const OutputInfo& info = from.node->output(from.index);
  if (info.partial_value.has_value() && info.partial_value->rank() == 1 &&
      info.partial_value->dim(0) >= 0)
    return info.partial_value->dim(0);
  return std::nullopt;
}

std::optional<HandleInfo> ShapeContext::input_handle(int i) const {
  const Endpoint& from = node_.input(i);
  return from.node == nullptr ? std::nullopt : from.node->output(from.index).handle;
}

std::string ShapeContext::InputName(int i) const {
  for (const ArgSpec& arg : node_.spec().inputs) {
    const auto [begin, end] = node_.InputRange(arg.name);
    if (i >= begin && i < end) return StrCat("input ", i, " ('", arg.name, "')");
  }
  return StrCat("input ", i);
}

StatusOr<PartialShape> ShapeContext::WithRank(int i, int rank) const {
  PartialShape shape = input(i);
  if (!shape.has_rank()) return PartialShape::UnknownOfRank(rank);
  if (shape.rank() != rank)
    return InvalidArgument(InputName(i), " should have rank ", rank, " but has shape ",
                           shape.ToString());
  return shape;
}

StatusOr<PartialShape> ShapeContext::WithRankAtLeast(int i, int rank) const {
  PartialShape shape = input(i);
  if (shape.has_rank() && shape.rank() < rank) {
    return InvalidArgument(InputName(i), " should have rank ", rank, " or more but has shape ",
                           shape.ToString());
  }
  return shape;
}

StatusOr<int64_t> MergeDim(int64_t a, int64_t b) {
  if (a >= 0 && b >= 0 && a != b)
    return InvalidArgument("dimensions ", a, " and ", b, " should be equal");
  return std::max(a, b);
}

StatusOr<PartialShape> MergeShapes(const PartialShape& a, const PartialShape& b) {
  PartialShape merged;
  if (!a.MergeWith(b, &merged))
    return InvalidArgument("shapes ", a.ToString(), " and ", b.ToString(), " should be equal");
  return merged;
}

StatusOr<PartialShape> BroadcastShapes(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape();
  const int rank = std::max(a.rank(), b.rank());
  PartialShape result = PartialShape::UnknownOfRank(rank);
  for (int i = 0; i < rank; ++i) {
    const int ai = i - (rank - a.rank());
    const int bi = i - (rank - b.rank());
    const int64_t x = ai < 0 ? 1 : a.dim(ai);
    const int64_t y = bi < 0 ? 1 : b.dim(bi);
    int64_t size;
    if (x == 1) {
      size = y;
    } else if (y == 1) {
      size = x;
    } else if (x < 0 || y < 0) {
      size = std::max(x, y);  // a known size above 1 wins: the unknown one must be it or 1
    } else if (x == y) {
      size = x;
    } else {
      return InvalidArgument("shapes ", a.ToString(), " and ", b.ToString(),
                             " cannot be broadcast together");
    }
    result.set_dim(i, size);
  }
  return result;
}

StatusOr<int> ResolveAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    return InvalidArgument("axis ", axis, " is not in [", -rank, ", ", rank, ")");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Status ShapeUnknown(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape());
  return absl::OkStatus();
}

Status ShapeScalar(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, Shape{});
  return absl::OkStatus();
}

Status ShapeOfInput(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(0));
  if (const auto handle = c.input_handle(0); handle.has_value() && c.num_outputs() > 0)
    c.set_output_handle(0, *handle);
  return absl::OkStatus();
}

Status ShapeMergeInputs(ShapeContext& c) {
  PartialShape merged;
  for (int i = 0; i < c.num_inputs(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(merged, MergeShapes(merged, c.input(i)));
  }
  c.set_output(0, merged);
  // Of lists: what each says of an element.
  std::optional<HandleInfo> handle = c.input_handle(0);
  for (int i = 1; i < c.num_inputs() && handle.has_value(); ++i) {
    const std::optional<HandleInfo> other = c.input_handle(i);
    if (!other.has_value()) continue;
    CARILLON_ASSIGN_OR_RETURN(handle->shape, MergeShapes(handle->shape, other->shape));
  }
  if (handle.has_value()) c.set_output_handle(0, *handle);
  return absl::OkStatus();
}

Status ShapeBroadcast(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape shape, BroadcastShapes(c.input(0), c.input(1)));
  c.set_output(0, shape);
  return absl::OkStatus();
}

Status ShapeNothing(ShapeContext&) { return absl::OkStatus(); }

}  // namespace carillon
