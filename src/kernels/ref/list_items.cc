// TensorList: making lists, and single elements of them.
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/list_kernels.h"
#include "kernels/tensor_list.h"
#include "tensor/text_memory.h"

namespace carillon {
namespace {

DType ElementType(const KernelContext& context) {
  return context.node().attr<DType>("element_dtype");
}

Status SetList(KernelContext& context, int i, TensorList list) {
  CARILLON_ASSIGN_OR_RETURN(Tensor value, VariantOf(std::move(list), context.services().allocator));
  context.set_output(i, std::move(value));
  return absl::OkStatus();
}

Status RunEmpty(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, ElementShapeFrom(context.input(0)));
  CARILLON_ASSIGN_OR_RETURN(const int64_t most,
                            ReadScalarInt(context.input(1), "max_num_elements"));
  return SetList(context, 0, TensorList(ElementType(context), shape, most));
}

Status RunReserve(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, ElementShapeFrom(context.input(0)));
  CARILLON_ASSIGN_OR_RETURN(const int64_t size, ReadScalarInt(context.input(1), "num_elements"));
  TensorList list(ElementType(context), shape);
  CARILLON_RETURN_IF_ERROR(list.Resize(size, context.services().allocator));
  return SetList(context, 0, std::move(list));
}

Status CheckFits(const TensorList& list, const Shape& shape) {
  if (list.element_shape().IsCompatibleWith(shape)) return absl::OkStatus();
  return InvalidArgument("a tensor of shape ", shape.ToString(),
                         " cannot be an element of a list of elements of shape ",
                         list.element_shape().ToString());
}

Status CheckRoom(const TensorList& list) {
  if (list.max_size() < 0 || list.size() < list.max_size()) return absl::OkStatus();
  return InvalidArgument("Tried to push item into a full list list size: ", list.size(),
                         " max_num_elements: ", list.max_size());
}

Status RunPushBack(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(TensorList list, TakeList(context, 0, context.input(1).dtype()));
  CARILLON_RETURN_IF_ERROR(CheckFits(list, context.input(1).shape()));
  CARILLON_RETURN_IF_ERROR(CheckRoom(list));
  CARILLON_ASSIGN_OR_RETURN(auto* const elements,
                            list.MutableElements(context.services().allocator, 1));
  elements->push_back(context.Take(1));
  return SetList(context, 0, std::move(list));
}

Status RunPushBackBatch(KernelContext& context) {
  const Tensor &handles = context.input(0), &value = context.input(1);
  if (value.rank() == 0 || value.dim(0) != handles.num_elements()) {
    return InvalidArgument("Expected tensor.shape[0] == input_handles.size, but saw shape ",
                           value.shape().ToString(), " vs. ", handles.num_elements());
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, handles.shape()));
  for (int64_t i = 0; i < handles.num_elements(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(const TensorList* from, ListIn(handles.data<Variant>()[i]));
    if (from->dtype() != value.dtype()) {
      return InvalidArgument("list ", i, " holds ", DTypeName(from->dtype()), ", not ",
                             DTypeName(value.dtype()));
    }
    CARILLON_RETURN_IF_ERROR(CheckFits(*from, RowShape(value.shape())));
    CARILLON_RETURN_IF_ERROR(CheckRoom(*from));
    TensorList list = *from;
    CARILLON_ASSIGN_OR_RETURN(Tensor row, CopyRow(context, value, i));
    CARILLON_RETURN_IF_ERROR(ChargeText(row));
    CARILLON_ASSIGN_OR_RETURN(auto* const elements,
                              list.MutableElements(context.services().allocator, 1));
    elements->push_back(std::move(row));
    CARILLON_ASSIGN_OR_RETURN(out->mutable_data<Variant>()[i],
                              ValueOf(std::move(list), context.services().allocator));
  }
  return absl::OkStatus();
}

// What the list and input i say together of the shape of an element.
StatusOr<PartialShape> ShapeOfElement(const KernelContext& context, const TensorList& list, int i) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape shape, ElementShapeFrom(context.input(i)));
  if (!shape.MergeWith(list.element_shape(), &shape)) {
    return InvalidArgument("elements of shape ", shape.ToString(),
                           " are wanted of a list of elements of shape ",
                           list.element_shape().ToString());
  }
  return shape;
}

Status CheckWanted(const Tensor& element, const PartialShape& wanted) {
  if (wanted.IsCompatibleWith(element.shape())) return absl::OkStatus();
  return InvalidArgument("an element of shape ", wanted.ToString(), " is wanted but it has shape ",
                         element.shape().ToString());
}

Status RunPopBack(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(TensorList list, TakeList(context, 0, ElementType(context)));
  if (list.size() == 0) return InvalidArgument("Trying to pop from an empty list.");
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, ShapeOfElement(context, list, 1));
  CARILLON_ASSIGN_OR_RETURN(auto* const elements,
                            list.MutableElements(context.services().allocator));
  Tensor last;
  if (elements->back().has_value()) {
    last = std::move(elements->back());
    CARILLON_RETURN_IF_ERROR(CheckWanted(last, shape));
  } else {
    CARILLON_ASSIGN_OR_RETURN(last,
                              list.Read(list.size() - 1, shape, context.services().allocator));
  }
  elements->pop_back();
  context.set_output(1, std::move(last));
  return SetList(context, 0, std::move(list));
}

Status RunGetItem(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const TensorList* list, ListInput(context, 0, ElementType(context)));
  CARILLON_ASSIGN_OR_RETURN(const int64_t index, ReadScalarInt(context.input(1), "index"));
  if (index < 0 || index >= list->size()) {
    return InvalidArgument("Trying to access element ", index, " in a list with ", list->size(),
                           " elements.");
  }
  CARILLON_ASSIGN_OR_RETURN(PartialShape shape, ShapeOfElement(context, *list, 2));
  if ((*list)[index].has_value()) {
    CARILLON_RETURN_IF_ERROR(CheckWanted((*list)[index], shape));
  } else if (!shape.IsFullyKnown()) {
    CARILLON_ASSIGN_OR_RETURN(shape, list->MergeElementShapes(shape));
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor item, list->Read(index, shape, context.services().allocator));
  context.set_output(0, std::move(item));
  return absl::OkStatus();
}

class SetItemKernel final : public Kernel {
 public:
  explicit SetItemKernel(const KernelRequest& request)
      : resize_(request.attr<bool>("resize_if_index_out_of_bounds")) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(TensorList list, TakeList(context, 0, context.input(2).dtype()));
    CARILLON_ASSIGN_OR_RETURN(const int64_t index, ReadScalarInt(context.input(1), "index"));
    if (index < 0 || (index >= list.size() && !resize_)) {
      return InvalidArgument("Trying to modify element ", index, " in a list with ", list.size(),
                             " elements.");
    }
    CARILLON_RETURN_IF_ERROR(CheckFits(list, context.input(2).shape()));
    Allocator* const allocator = context.services().allocator;
    if (index >= list.size()) CARILLON_RETURN_IF_ERROR(list.Resize(index + 1, allocator));
    CARILLON_ASSIGN_OR_RETURN(auto* const elements, list.MutableElements(allocator));
    (*elements)[static_cast<size_t>(index)] = context.Take(2);
    return SetList(context, 0, std::move(list));
  }

 private:
  const bool resize_;
};

Status RunLength(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const TensorList* list, ListInput(context, 0));
  context.set_output(0, Tensor::Scalar(static_cast<int32_t>(list->size())));
  return absl::OkStatus();
}

// -1 alone when not even the number of dimensions is known.
Status RunElementShape(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const TensorList* list, ListInput(context, 0));
  const PartialShape& shape = list->element_shape();
  CARILLON_ASSIGN_OR_RETURN(
      Tensor * out, context.AllocateOutput(0, shape.has_rank() ? Shape{shape.rank()} : Shape{}));
  for (int64_t i = 0; i < out->num_elements(); ++i) {
    const int64_t size = shape.has_rank() ? shape.dim(static_cast<int>(i)) : -1;
    if (out->dtype() == DType::kInt64) {
      out->mutable_data<int64_t>()[i] = size;
    } else {
      if (!std::in_range<int32_t>(size)) {
        return InvalidArgument("the size ", size, " of an element does not fit shape_type");
      }
      out->mutable_data<int32_t>()[i] = static_cast<int32_t>(size);
    }
  }
  return absl::OkStatus();
}

Status RunResize(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t size, ReadScalarInt(context.input(1), "size"));
  CARILLON_ASSIGN_OR_RETURN(TensorList list, TakeList(context, 0));
  CARILLON_RETURN_IF_ERROR(list.Resize(size, context.services().allocator));
  return SetList(context, 0, std::move(list));
}

// Lists of equal places in two tensors of lists, one after the other.
Status RunConcatLists(KernelContext& context) {
  const Tensor &a = context.input(0), &b = context.input(1);
  const DType dtype = ElementType(context);
  if (a.shape() != b.shape()) {
    return InvalidArgument("input_a and input_b differ in shape: ", a.shape().ToString(), " vs. ",
                           b.shape().ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, a.shape()));
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(const TensorList* first, ListIn(a.data<Variant>()[i]));
    CARILLON_ASSIGN_OR_RETURN(const TensorList* second, ListIn(b.data<Variant>()[i]));
    if (first->dtype() != dtype || second->dtype() != dtype ||
        !(first->element_shape() == second->element_shape())) {
      return InvalidArgument("input_a and input_b differ in the dtype or shape of elements at ", i,
                             ": ", DTypeName(first->dtype()), first->element_shape().ToString(),
                             " vs. ", DTypeName(second->dtype()),
                             second->element_shape().ToString());
    }
    TensorList list = *first;
    Allocator* const allocator = context.services().allocator;
    CARILLON_ASSIGN_OR_RETURN(auto* const elements,
                              list.MutableElements(allocator, second->size()));
    elements->insert(elements->end(), second->elements().begin(), second->elements().end());
    CARILLON_ASSIGN_OR_RETURN(out->mutable_data<Variant>()[i], ValueOf(std::move(list), allocator));
  }
  return absl::OkStatus();
}

}  // namespace

void AddTensorListKernels(KernelTable& table) {
  table.Add({
      {"EmptyTensorList", "ref", FromFunction<RunEmpty>},
      {"TensorListReserve", "ref", FromFunction<RunReserve>},
      {"TensorListPushBack", "ref", FromFunction<RunPushBack>},
      {"TensorListPushBackBatch", "ref", FromFunction<RunPushBackBatch>},
      {"TensorListPopBack", "ref", FromFunction<RunPopBack>},
      {"TensorListGetItem", "ref", FromFunction<RunGetItem>},
      {"TensorListSetItem", "ref", FromClass<SetItemKernel>},
      {"TensorListLength", "ref", FromFunction<RunLength>},
      {"TensorListElementShape", "ref", FromFunction<RunElementShape>},
      {"TensorListResize", "ref", FromFunction<RunResize>},
      {"TensorListConcatLists", "ref", FromFunction<RunConcatLists>},
  });
}

}  // namespace carillon
