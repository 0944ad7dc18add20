// TensorList: whole lists from tensors, and tensors from lists.
#include <algorithm>
#include <vector>

#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/list_kernels.h"
#include "kernels/tensor_list.h"

namespace carillon {
namespace {

// What the list and `wanted` say together of the shape of an element.
StatusOr<PartialShape> MergeWithList(const TensorList& list, PartialShape wanted) {
  if (!wanted.MergeWith(list.element_shape(), &wanted)) {
    return InvalidArgument("elements of shape ", wanted.ToString(),
                           " are wanted of a list of elements of shape ",
                           list.element_shape().ToString());
  }
  return wanted;
}

// Output 0 is the elements at `indices`, one row each. Those that hold nothing are zeros of the
// shape of the others.
Status SetRows(KernelContext& context, const TensorList& list, std::span<const int64_t> indices,
               PartialShape shape) {
  for (const int64_t i : indices) {
    if (list[i].has_value() && !shape.MergeWith(list[i].shape(), &shape)) {
      return InvalidArgument("Tried to stack tensors with unequal shapes: element ", i,
                             " has shape ", list[i].shape().ToString(), ", not ", shape.ToString());
    }
  }
  Shape known;
  if (!shape.AsShape(&known)) {
    return InvalidArgument(
        "Tried to stack a list that is empty or only contains uninitialized "
        "tensors and has a non-fully-defined element_shape: ",
        shape.ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(const Shape rows,
                            ShapeOfRows(static_cast<int64_t>(indices.size()), known));
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, rows));
  const int64_t size = known.num_elements();
  for (size_t row = 0; row < indices.size(); ++row) {
    const Tensor& element = list[indices[row]];
    if (element.has_value()) {
      SetRow(element, static_cast<int64_t>(row), *out);
    } else {
      ZeroElements(out->dtype(), At(*out, static_cast<int64_t>(row) * size), size);
    }
  }
  return absl::OkStatus();
}

class StackKernel final : public Kernel {
 public:
  explicit StackKernel(const KernelRequest& request)
      : expected_(request.attr<int64_t>("num_elements")) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const TensorList* list,
                              ListInput(context, 0, context.output_dtype(0)));
    if (expected_ >= 0 && list->size() != expected_) {
      return InvalidArgument("Operation expected a list with ", expected_,
                             " elements but got a list with ", list->size(), " elements.");
    }
    CARILLON_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeFrom(context.input(1)));
    CARILLON_ASSIGN_OR_RETURN(shape, MergeWithList(*list, shape));
    std::vector<int64_t> all(static_cast<size_t>(list->size()));
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
    return SetRows(context, *list, all, shape);
  }

 private:
  const int64_t expected_;
};

Status RunGather(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const TensorList* list, ListInput(context, 0, context.output_dtype(0)));
  CARILLON_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeFrom(context.input(2)));
  CARILLON_ASSIGN_OR_RETURN(shape, MergeWithList(*list, shape));
  std::vector<int64_t> indices;
  for (const int32_t index : context.input(1).values<int32_t>()) {
    if (index < 0 || index >= list->size()) {
      return InvalidArgument("Trying to gather element ", index, " in a list with ", list->size(),
                             " elements.");
    }
    indices.push_back(index);
  }
  return SetRows(context, *list, indices, shape);
}

// Input i, which has rows that are elements of a list of `shape`; may be kept.
StatusOr<Tensor> RowsInput(KernelContext& context, int i, const PartialShape& shape) {
  const Tensor& value = context.input(i);
  if (value.rank() == 0) {
    return InvalidArgument("Tensor must be at least a vector, but saw shape: ",
                           value.shape().ToString());
  }
  if (!shape.IsCompatibleWith(RowShape(value.shape()))) {
    return InvalidArgument("Specified a list with shape ", shape.ToString(),
                           " from a tensor with shape ", RowShape(value.shape()).ToString());
  }
  return context.Keep(i);
}

Status SetList(KernelContext& context, TensorList list) {
  CARILLON_ASSIGN_OR_RETURN(Tensor value, VariantOf(std::move(list), context.services().allocator));
  context.set_output(0, std::move(value));
  return absl::OkStatus();
}

StatusOr<Tensor> ElementAt(KernelContext& context, const Tensor& value, int64_t row) {
  CARILLON_ASSIGN_OR_RETURN(const Tensor rows, RowsOf(context, value, row, row + 1));
  return rows.Reshaped(RowShape(value.shape()));
}

Status RunFromTensor(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, ElementShapeFrom(context.input(1)));
  CARILLON_ASSIGN_OR_RETURN(const Tensor value, RowsInput(context, 0, shape));
  TensorList list(value.dtype(), shape);
  // Rows without elements may be any number.
  if (value.dim(0) > TensorList::kMaxSize)
    return ResourceExhausted("a list of ", value.dim(0),
                             " elements is too long: ", TensorList::kMaxSize, " are allowed");
  CARILLON_ASSIGN_OR_RETURN(auto* const elements,
                            list.MutableElements(context.services().allocator, value.dim(0)));
  for (int64_t row = 0; row < value.dim(0); ++row) {
    CARILLON_ASSIGN_OR_RETURN(Tensor element, ElementAt(context, value, row));
    elements->push_back(std::move(element));
  }
  return SetList(context, std::move(list));
}

// Puts row k of `value` at indices[k] of the list, which is made longer where it must and may.
Status Scatter(KernelContext& context, TensorList& list, const Tensor& value, const Tensor& indices,
               bool may_grow) {
  if (indices.num_elements() != value.dim(0)) {
    return InvalidArgument("Invalid number of rows in input tensor. Expected: ",
                           indices.num_elements(), " Actual: ", value.dim(0));
  }
  int64_t most = -1;
  for (const int32_t index : indices.values<int32_t>()) {
    if (index < 0) {
      return InvalidArgument("Indices in TensorListScatter must all be non-negative.");
    }
    most = std::max<int64_t>(most, index);
  }
  if (most >= list.size()) {
    if (!may_grow) {
      return InvalidArgument("TensorListScatter: Trying to scatter at index ", most,
                             " in list with size ", list.size());
    }
    CARILLON_RETURN_IF_ERROR(list.Resize(most + 1, context.services().allocator));
  }
  CARILLON_ASSIGN_OR_RETURN(auto* const elements,
                            list.MutableElements(context.services().allocator));
  for (int64_t row = 0; row < value.dim(0); ++row) {
    const auto index = static_cast<size_t>(indices.data<int32_t>()[row]);
    CARILLON_ASSIGN_OR_RETURN((*elements)[index], ElementAt(context, value, row));
  }
  return absl::OkStatus();
}

// TensorListScatter, TensorListScatterV2: only the latter has a number of elements.
Status RunScatter(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, ElementShapeFrom(context.input(2)));
  CARILLON_ASSIGN_OR_RETURN(const Tensor value, RowsInput(context, 0, shape));
  TensorList list(value.dtype(), shape);
  int64_t size = -1;
  if (context.num_inputs() > 3) {
    CARILLON_ASSIGN_OR_RETURN(size, ReadScalarInt(context.input(3), "num_elements"));
    if (size < -1) {
      return InvalidArgument("TensorListScatter expects num_elements >= -1, found: ", size);
    }
    if (size > 0) CARILLON_RETURN_IF_ERROR(list.Resize(size, context.services().allocator));
  }
  CARILLON_RETURN_IF_ERROR(Scatter(context, list, value, context.input(1), size < 0));
  return SetList(context, std::move(list));
}

Status RunScatterIntoExisting(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(TensorList list, TakeList(context, 0, context.input(1).dtype()));
  CARILLON_ASSIGN_OR_RETURN(const Tensor value, RowsInput(context, 1, list.element_shape()));
  CARILLON_RETURN_IF_ERROR(Scatter(context, list, value, context.input(2), true));
  return SetList(context, std::move(list));
}

PartialShape WithoutFirst(const PartialShape& shape) {
  return shape.rank() > 0 ? PartialShape(shape.dims().subspan(1)) : PartialShape();
}

// The elements joined along their first dimension. Those that hold nothing are zeros, as long as
// `leading` says, or else as all the others are.
Status Concatenate(KernelContext& context, const TensorList& list, const PartialShape& wanted,
                   std::span<const int64_t> leading) {
  PartialShape whole = wanted, row = WithoutFirst(wanted);
  bool same_length = true;
  for (int64_t i = 0; i < list.size(); ++i) {
    if (!list[i].has_value()) continue;
    if (list[i].rank() == 0) {
      return InvalidArgument("Concat saw a scalar shape at index ", i,
                             " but requires at least vectors.");
    }
    if (!row.MergeWith(RowShape(list[i].shape()), &row)) {
      return InvalidArgument("Tried to concat tensors with unequal shapes: element ", i,
                             " has shape ", list[i].shape().ToString(),
                             ", and all but its first dimension should be ", row.ToString());
    }
    same_length &= whole.MergeWith(list[i].shape(), &whole);
  }
  Shape row_shape;
  if (!row.AsShape(&row_shape)) {
    return InvalidArgument(
        "All except the first dimension must be fully defined when concating a "
        "list that is empty or holds nothing. element_shape: ",
        row.ToString());
  }
  std::vector<Tensor> elements;
  for (int64_t i = 0; i < list.size(); ++i) {
    PartialShape shape = same_length ? whole : PartialShape();
    if (!list[i].has_value() && i < static_cast<int64_t>(leading.size())) {
      CARILLON_ASSIGN_OR_RETURN(shape, ShapeOfRows(leading[static_cast<size_t>(i)], row_shape));
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor element, list.Read(i, shape, context.services().allocator));
    elements.push_back(std::move(element));
  }
  CARILLON_RETURN_IF_ERROR(SetLengths(context, 1, elements));
  if (!elements.empty()) return SetConcatenated(context, 0, elements);
  CARILLON_ASSIGN_OR_RETURN(const Shape none, ShapeOfRows(0, row_shape));
  return context.AllocateOutput(0, none).status();
}

Status RunConcatV2(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const TensorList* list, ListInput(context, 0, context.output_dtype(0)));
  CARILLON_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeFrom(context.input(1)));
  CARILLON_ASSIGN_OR_RETURN(shape, MergeWithList(*list, shape));
  return Concatenate(context, *list, shape, context.input(2).values<int64_t>());
}

class ConcatKernel final : public Kernel {
 public:
  explicit ConcatKernel(const KernelRequest& request)
      : shape_(request.attr<PartialShape>("element_shape")) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const TensorList* list,
                              ListInput(context, 0, context.output_dtype(0)));
    CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, MergeWithList(*list, shape_));
    return Concatenate(context, *list, shape, {});
  }

 private:
  const PartialShape shape_;
};

Status RunSplit(KernelContext& context) {
  const Tensor &value = context.input(0), &lengths = context.input(2);
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, ElementShapeFrom(context.input(1)));
  if (lengths.rank() != 1) {
    return InvalidArgument("Expected lengths to be a vector, received shape: ",
                           lengths.shape().ToString());
  }
  if (value.rank() == 0) {
    return InvalidArgument("Tensor must be at least a vector, but saw shape: ",
                           value.shape().ToString());
  }
  PartialShape any_length = shape;
  if (any_length.rank() > 0) any_length.set_dim(0, -1);
  if (!any_length.IsCompatibleWith(value.shape())) {
    return InvalidArgument("tensor shape ", value.shape().ToString(),
                           " is not compatible with element_shape ", shape.ToString());
  }
  const Tensor kept = context.Keep(0);
  TensorList list(value.dtype(), shape);
  int64_t begin = 0;
  for (const int64_t length : lengths.values<int64_t>()) {
    if (length < 0) return InvalidArgument("Invalid value in lengths: ", length);
    if (length > kept.dim(0) - begin) {
      return InvalidArgument("Attempting to slice ", length, " rows from ", begin,
                             " on of a tensor with length ", kept.dim(0));
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor rows, RowsOf(context, kept, begin, begin + length));
    CARILLON_ASSIGN_OR_RETURN(auto* const elements,
                              list.MutableElements(context.services().allocator, 1));
    elements->push_back(std::move(rows));
    begin += length;
  }
  if (begin != kept.dim(0)) {
    return InvalidArgument("Unused values in tensor. Length of tensor: ", kept.dim(0),
                           " Values used: ", begin);
  }
  return SetList(context, std::move(list));
}

}  // namespace

void AddTensorListPackKernels(KernelTable& table) {
  table.Add({
      {"TensorListStack", "ref", FromClass<StackKernel>},
      {"TensorListFromTensor", "ref", FromFunction<RunFromTensor>},
      {"TensorListGather", "ref", FromFunction<RunGather>},
      {"TensorListScatter", "ref", FromFunction<RunScatter>},
      {"TensorListScatterV2", "ref", FromFunction<RunScatter>},
      {"TensorListScatterIntoExistingList", "ref", FromFunction<RunScatterIntoExisting>},
      {"TensorListConcat", "ref", FromClass<ConcatKernel>},
      {"TensorListConcatV2", "ref", FromFunction<RunConcatV2>},
      {"TensorListSplit", "ref", FromFunction<RunSplit>},
  });
}

}  // namespace carillon
