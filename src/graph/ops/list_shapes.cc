// What is known of arrays and lists stands in the handle information of their handles: the dtype
// and shape of an element.
#include "graph/ops/list_shapes.h"

#include <optional>
#include <vector>

namespace carillon {
namespace {

// `count` rows of shape `row`.
StatusOr<PartialShape> Rows(int64_t count, const PartialShape& row) {
  if (!row.has_rank()) return PartialShape();
  std::vector<int64_t> dims = {count};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  PartialShape shape;
  if (!PartialShape::TryMake(dims, &shape)) {
    return InvalidArgument("elements of shape ", row.ToString(), " have too many dimensions");
  }
  return shape;
}

PartialShape RowOf(const PartialShape& shape) {
  return shape.rank() > 0 ? PartialShape(shape.dims().subspan(1)) : PartialShape();
}

int64_t FirstDim(const PartialShape& shape) { return shape.rank() > 0 ? shape.dim(0) : -1; }

// What handle input i says of an element, which should be of `dtype`.
StatusOr<PartialShape> ElementOf(const ShapeContext& c, int i, DType dtype) {
  const std::optional<HandleInfo> handle = c.input_handle(i);
  if (!handle.has_value()) return PartialShape();
  if (handle->dtype != DType::kInvalid && handle->dtype != dtype) {
    return InvalidArgument("the elements are ", DTypeName(handle->dtype), ", not ",
                           DTypeName(dtype));
  }
  return handle->shape;
}

// The shape of an element as input i says it.
StatusOr<PartialShape> ElementInput(const ShapeContext& c, int i) {
  if (c.input(i).has_rank() && c.input(i).rank() > 1) {
    return InvalidArgument("an element's shape should be a vector of sizes or -1, not of shape ",
                           c.input(i).ToString());
  }
  // -1 alone: nothing is known.
  if (c.input(i).rank() == 0) return PartialShape();
  return c.input_as_sizes(i).value_or(PartialShape());
}

StatusOr<PartialShape> MergedElement(const ShapeContext& c, int handle, DType dtype, int sizes) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape list, ElementOf(c, handle, dtype));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape wanted, ElementInput(c, sizes));
  return MergeShapes(list, wanted);
}

void SetList(ShapeContext& c, int i, DType dtype, const PartialShape& element) {
  c.set_output(i, Shape{});
  c.set_output_handle(i, {dtype, element});
}

DType ElementType(const ShapeContext& c) { return c.attr<DType>("element_dtype"); }

}  // namespace

Status TensorArrayShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 0).status());
  c.set_output(0, Shape{});
  c.set_output(1, Shape{});
  const auto& element = c.attr<PartialShape>("element_shape");
  if (element.IsFullyKnown() || c.attr<bool>("identical_element_shapes")) {
    c.set_output_handle(0, {c.attr<DType>("dtype"), element});
  }
  return absl::OkStatus();
}

Status GradArrayShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  c.set_output(0, Shape{});
  c.set_output(1, Shape{});
  const std::optional<HandleInfo> array = c.input_handle(0);
  if (c.num_inputs() == 2 && array.has_value()) c.set_output_handle(0, *array);
  return absl::OkStatus();
}

Status WriteShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  CARILLON_RETURN_IF_ERROR(c.WithRank(3, 0).status());
  if (const std::optional<HandleInfo> array = c.input_handle(0)) {
    CARILLON_RETURN_IF_ERROR(MergeShapes(array->shape, c.input(2)).status());
  }
  c.set_output(0, Shape{});
  return absl::OkStatus();
}

Status ReadShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  CARILLON_RETURN_IF_ERROR(c.WithRank(2, 0).status());
  const std::optional<HandleInfo> array = c.input_handle(0);
  c.set_output(0, array.has_value() ? array->shape : PartialShape());
  return absl::OkStatus();
}

Status GatherShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape indices, c.WithRank(1, 1));
  CARILLON_RETURN_IF_ERROR(c.WithRank(2, 0).status());
  PartialShape element = c.attr<PartialShape>("element_shape");
  if (const std::optional<HandleInfo> array = c.input_handle(0)) {
    PartialShape merged;
    if (element.MergeWith(array->shape, &merged)) element = merged;
  }
  CARILLON_ASSIGN_OR_RETURN(const PartialShape rows, Rows(indices.dim(0), element));
  c.set_output(0, rows);
  return absl::OkStatus();
}

Status ScatterShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape indices, c.WithRank(1, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape value, c.WithRankAtLeast(2, 1));
  CARILLON_RETURN_IF_ERROR(c.WithRank(3, 0).status());
  CARILLON_RETURN_IF_ERROR(MergeDim(indices.dim(0), FirstDim(value)).status());
  if (const std::optional<HandleInfo> array = c.input_handle(0); array && value.has_rank()) {
    CARILLON_RETURN_IF_ERROR(MergeShapes(array->shape, RowOf(value)).status());
  }
  c.set_output(0, Shape{});
  return absl::OkStatus();
}

Status ConcatShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  CARILLON_ASSIGN_OR_RETURN(const PartialShape rows,
                            Rows(-1, c.attr<PartialShape>("element_shape_except0")));
  c.set_output(0, rows);
  c.set_output(1, {-1});
  return absl::OkStatus();
}

Status SplitShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(2, 1).status());
  CARILLON_RETURN_IF_ERROR(c.WithRank(3, 0).status());
  c.set_output(0, Shape{});
  return absl::OkStatus();
}

Status NewListShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  CARILLON_ASSIGN_OR_RETURN(const PartialShape element, ElementInput(c, 0));
  SetList(c, 0, ElementType(c), element);
  return absl::OkStatus();
}

Status ListPushShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape element, ElementOf(c, 0, ElementType(c)));
  CARILLON_RETURN_IF_ERROR(MergeShapes(element, c.input(1)).status());
  SetList(c, 0, ElementType(c), element);
  return absl::OkStatus();
}

Status ListPopShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape list, ElementOf(c, 0, ElementType(c)));
  SetList(c, 0, ElementType(c), list);
  CARILLON_ASSIGN_OR_RETURN(const PartialShape element, MergedElement(c, 0, ElementType(c), 1));
  c.set_output(1, element);
  return absl::OkStatus();
}

Status ListGetShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  CARILLON_ASSIGN_OR_RETURN(const PartialShape element, MergedElement(c, 0, ElementType(c), 2));
  c.set_output(0, element);
  return absl::OkStatus();
}

Status ListSetShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  CARILLON_ASSIGN_OR_RETURN(const PartialShape element, ElementOf(c, 0, ElementType(c)));
  CARILLON_RETURN_IF_ERROR(MergeShapes(element, c.input(2)).status());
  SetList(c, 0, ElementType(c), element);
  return absl::OkStatus();
}

Status ListStackShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape element, MergedElement(c, 0, ElementType(c), 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape rows,
                            Rows(std::max<int64_t>(-1, c.attr<int64_t>("num_elements")), element));
  c.set_output(0, rows);
  return absl::OkStatus();
}

Status ListFromShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape value, c.WithRankAtLeast(0, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape element, ElementInput(c, 1));
  if (value.has_rank()) CARILLON_RETURN_IF_ERROR(MergeShapes(RowOf(value), element).status());
  SetList(c, 0, ElementType(c), element);
  return absl::OkStatus();
}

Status ListGatherShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape element, MergedElement(c, 0, ElementType(c), 2));
  const PartialShape indices = c.input(1);
  CARILLON_ASSIGN_OR_RETURN(const PartialShape rows,
                            Rows(indices.rank() == 1 ? indices.dim(0) : -1, element));
  c.set_output(0, rows);
  return absl::OkStatus();
}

Status ListScatterShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape value, c.WithRankAtLeast(0, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape element, ElementInput(c, 2));
  if (value.has_rank()) CARILLON_RETURN_IF_ERROR(MergeShapes(RowOf(value), element).status());
  SetList(c, 0, ElementType(c), element);
  return absl::OkStatus();
}

Status ListIntoShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape element, ElementOf(c, 0, ElementType(c)));
  CARILLON_RETURN_IF_ERROR(c.WithRankAtLeast(1, 1).status());
  SetList(c, 0, ElementType(c), element);
  return absl::OkStatus();
}

// TensorListConcat, whose element's shape is an attribute, and TensorListConcatV2.
Status ListConcatShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape list, ElementOf(c, 0, ElementType(c)));
  PartialShape wanted;
  if (c.num_inputs() > 1) {
    CARILLON_ASSIGN_OR_RETURN(wanted, ElementInput(c, 1));
  } else {
    wanted = c.attr<PartialShape>("element_shape");
  }
  CARILLON_ASSIGN_OR_RETURN(PartialShape merged, MergeShapes(list, wanted));
  if (merged.rank() > 0) merged.set_dim(0, -1);
  c.set_output(0, merged.rank() == 0 ? PartialShape() : merged);
  c.set_output(1, {-1});
  return absl::OkStatus();
}

Status ListJoinShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape a, ElementOf(c, 0, ElementType(c)));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape b, ElementOf(c, 1, ElementType(c)));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape element, MergeShapes(a, b));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape lists, MergeShapes(c.input(0), c.input(1)));
  c.set_output(0, lists);
  c.set_output_handle(0, {ElementType(c), element});
  return absl::OkStatus();
}

Status ListSplitShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRankAtLeast(0, 1).status());
  CARILLON_RETURN_IF_ERROR(c.WithRank(2, 1).status());
  CARILLON_ASSIGN_OR_RETURN(PartialShape element, ElementInput(c, 1));
  if (element.rank() > 0) element.set_dim(0, -1);  // parts differ in length, whatever it says
  SetList(c, 0, ElementType(c), element);
  return absl::OkStatus();
}

Status ListElementShapeShape(ShapeContext& c) {
  const std::optional<HandleInfo> list = c.input_handle(0);
  // A scalar when the rank is unknown in the step too, so the rank of what is known decides.
  const bool known = list.has_value() && list->shape.has_rank();
  c.set_output(0, known ? PartialShape({list->shape.rank()}) : PartialShape());
  return absl::OkStatus();
}

Status ListResizeShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  c.set_output(0, Shape{});
  if (const std::optional<HandleInfo> list = c.input_handle(0)) c.set_output_handle(0, *list);
  return absl::OkStatus();
}

Status ListBatchShape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  if (const std::optional<HandleInfo> list = c.input_handle(0)) c.set_output_handle(0, *list);
  return absl::OkStatus();
}

}  // namespace carillon
