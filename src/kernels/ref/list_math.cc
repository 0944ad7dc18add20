// Sums and zeros of lists and optionals, element by element: what gradients through them need.
#include <vector>

#include "kernels/optional_value.h"
#include "kernels/ref/accumulate.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/list_kernels.h"
#include "kernels/tensor_list.h"
#include "tensor/memory_charge.h"

namespace carillon {
namespace {

// Lists of lists are not deeper than a graph's author nested them by hand; a hostile one may be.
constexpr int kMaxDepth = 64;

const OptionalValue* OptionalIn(const Variant& variant) {
  return dynamic_cast<const OptionalValue*>(variant.value.get());
}

StatusOr<Variant> MakeOptional(std::vector<Tensor> components, Allocator* allocator) {
  using Pointer = std::shared_ptr<const OptionalValue>;
  CARILLON_ASSIGN_OR_RETURN(Pointer made, MakeOnAccount(allocator, "", [&]() -> StatusOr<Pointer> {
                              return std::make_shared<const OptionalValue>(std::move(components));
                            }));
  return Variant{std::move(made)};
}

StatusOr<Tensor> SumOf(const Tensor& a, const Tensor& b, Allocator* allocator, int depth);

StatusOr<TensorList> SumOf(const TensorList& a, const TensorList& b, Allocator* allocator,
                           int depth) {
  if (depth > kMaxDepth) return InvalidArgument("lists of lists are nested too deeply to be added");
  if (a.dtype() != b.dtype()) {
    return InvalidArgument("Trying to add two lists of tensors of different dtypes: ",
                           DTypeName(a.dtype()), " and ", DTypeName(b.dtype()));
  }
  if (a.size() != b.size()) {
    return InvalidArgument("Trying to add two lists of tensors with different lengths. One is ",
                           a.size(), " and the other is ", b.size());
  }
  PartialShape shape;
  if (!a.element_shape().MergeWith(b.element_shape(), &shape)) {
    return InvalidArgument("Trying to add two lists of tensors with elements of shapes ",
                           a.element_shape().ToString(), " and ", b.element_shape().ToString());
  }
  TensorList sum = a;
  sum.set_element_shape(shape);
  CARILLON_ASSIGN_OR_RETURN(auto* const elements, sum.MutableElements(allocator));
  for (int64_t i = 0; i < b.size(); ++i) {
    Tensor& element = (*elements)[static_cast<size_t>(i)];
    if (!b[i].has_value()) continue;
    if (!element.has_value()) {
      element = b[i];
      continue;
    }
    CARILLON_ASSIGN_OR_RETURN(element, SumOf(element, b[i], allocator, depth));
  }
  return sum;
}

StatusOr<Variant> SumOf(const OptionalValue& a, const OptionalValue& b, const Variant& nothing,
                        Allocator* allocator, int depth) {
  if (depth > kMaxDepth) return InvalidArgument("optionals are nested too deeply to be added");
  if (a.has_value() != b.has_value())
    return InvalidArgument("Cannot add optionals because one has a value and the other doesn't.");
  if (!a.has_value()) return nothing;
  if (a.components().size() != b.components().size())
    return InvalidArgument(
        "Cannot add optionals because they have different numbers of components");
  std::vector<Tensor> sums;
  for (size_t i = 0; i < a.components().size(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(sums.emplace_back(),
                              SumOf(a.components()[i], b.components()[i], allocator, depth + 1));
  }
  return MakeOptional(std::move(sums), allocator);
}

StatusOr<Tensor> SumOf(const Tensor& a, const Tensor& b, Allocator* allocator, int depth) {
  if (a.shape() != b.shape()) {
    return InvalidArgument("Trying to add two elements of lists of shapes ", a.shape().ToString(),
                           " and ", b.shape().ToString());
  }
  if (a.dtype() != DType::kVariant) {
    if (!IsFloating(a.dtype()) && !IsInteger(a.dtype())) {
      return InvalidArgument("Trying to add two lists of ", DTypeName(a.dtype()), " tensors");
    }
    Tensor sum = a;
    CARILLON_RETURN_IF_ERROR(AddTo(sum, b, allocator));
    return sum;
  }
  Tensor sum = Tensor::TryAllocate(DType::kVariant, a.shape(), allocator);
  if (!sum.has_value()) return ResourceExhausted("no memory for a sum of lists");
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    const OptionalValue* const left = OptionalIn(a.data<Variant>()[i]);
    const OptionalValue* const right = OptionalIn(b.data<Variant>()[i]);
    if (left != nullptr && right != nullptr) {
      CARILLON_ASSIGN_OR_RETURN(sum.mutable_data<Variant>()[i],
                                SumOf(*left, *right, a.data<Variant>()[i], allocator, depth));
      continue;
    }
    CARILLON_ASSIGN_OR_RETURN(const TensorList* x, ListIn(a.data<Variant>()[i]));
    CARILLON_ASSIGN_OR_RETURN(const TensorList* y, ListIn(b.data<Variant>()[i]));
    CARILLON_ASSIGN_OR_RETURN(TensorList list, SumOf(*x, *y, allocator, depth + 1));
    CARILLON_ASSIGN_OR_RETURN(sum.mutable_data<Variant>()[i], ValueOf(std::move(list), allocator));
  }
  return sum;
}

Status RunAddN(KernelContext& context) {
  Tensor sum = context.input(0);
  for (int i = 1; i < context.num_inputs(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(sum, SumOf(sum, context.input(i), context.services().allocator, 0));
  }
  context.set_output(0, std::move(sum));
  return absl::OkStatus();
}

StatusOr<Tensor> ZerosOf(const Tensor& value, Allocator* allocator, int depth) {
  if (depth > kMaxDepth) return InvalidArgument("lists of lists are nested too deeply");
  Tensor zeros = Tensor::TryAllocate(value.dtype(), value.shape(), allocator);
  if (!zeros.has_value()) return ResourceExhausted("no memory for zeros of a list");
  if (value.dtype() != DType::kVariant) {
    ZeroElements(zeros.dtype(), zeros.mutable_raw_data(), zeros.num_elements());
    return zeros;
  }
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    const Variant& variant = value.data<Variant>()[i];
    if (const OptionalValue* const optional = OptionalIn(variant)) {
      Variant& result = zeros.mutable_data<Variant>()[i];
      result = variant;
      if (!optional->has_value()) continue;
      std::vector<Tensor> components;
      for (const Tensor& component : optional->components()) {
        CARILLON_ASSIGN_OR_RETURN(components.emplace_back(),
                                  ZerosOf(component, allocator, depth + 1));
      }
      CARILLON_ASSIGN_OR_RETURN(result, MakeOptional(std::move(components), allocator));
      continue;
    }
    CARILLON_ASSIGN_OR_RETURN(const TensorList* list, ListIn(variant));
    TensorList result = *list;
    CARILLON_ASSIGN_OR_RETURN(auto* const elements, result.MutableElements(allocator));
    for (Tensor& element : *elements) {
      if (!element.has_value()) continue;
      CARILLON_ASSIGN_OR_RETURN(element, ZerosOf(element, allocator, depth + 1));
    }
    CARILLON_ASSIGN_OR_RETURN(zeros.mutable_data<Variant>()[i],
                              ValueOf(std::move(result), allocator));
  }
  return zeros;
}

Status RunZerosLike(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(Tensor zeros,
                            ZerosOf(context.input(0), context.services().allocator, 0));
  context.set_output(0, std::move(zeros));
  return absl::OkStatus();
}

// Of variants; kernels for other dtypes stand elsewhere.
template <KernelFn fn>
KernelResult ForVariants(const KernelRequest& request) {
  if (request.input_dtype(0) != DType::kVariant)
    return Unimplemented("only for lists and optionals");
  return MakeFunctionKernel(fn);
}

}  // namespace

void AddTensorListMathKernels(KernelTable& table) {
  table.Add({
      {"AddN", "ref", ForVariants<RunAddN>},
      {"ZerosLike", "ref", ForVariants<RunZerosLike>},
  });
}

}  // namespace carillon
