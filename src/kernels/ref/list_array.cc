// TensorArrayV3 and its ops.
#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/ref/array_kernels.h"
#include "kernels/ref/list_kernels.h"
#include "kernels/tensor_array.h"

namespace carillon {
namespace {

Tensor HandleTo(std::shared_ptr<TensorArray> array) {
  const std::string name = array->name();
  return Tensor::Scalar(ResourceHandle{std::move(array), "tensor_array", name});
}

// The order of ops on an array is that of a float that they hand on.
Status SetFlow(KernelContext& context, int i, int flow_in) {
  context.set_output(i, context.input(flow_in));
  return absl::OkStatus();
}

KernelTraits FlowTraits(int flow_in, int flow_out) {
  KernelTraits traits;
  traits.aliases.push_back({flow_in, flow_out});
  return traits;
}

class TensorArrayKernel final : public Kernel {
 public:
  explicit TensorArrayKernel(const KernelRequest& request)
      : options_{.name = request.attr<std::string>("tensor_array_name"),
                 .dtype = request.attr<DType>("dtype"),
                 .element_shape = request.attr<PartialShape>("element_shape"),
                 .dynamic_size = request.attr<bool>("dynamic_size"),
                 .clear_after_read = request.attr<bool>("clear_after_read"),
                 .identical_element_shapes = request.attr<bool>("identical_element_shapes")} {
    if (options_.name.empty()) options_.name = request.node.name();
  }
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const int64_t size, ReadScalarInt(context.input(0), "size"));
    CARILLON_ASSIGN_OR_RETURN(auto array,
                              TensorArray::Make(options_, size, context.services().allocator));
    context.set_output(0, HandleTo(std::move(array)));
    context.set_output(1, Tensor::Scalar(0.0f));
    return absl::OkStatus();
  }

 private:
  TensorArrayOptions options_;
};

// TensorArrayGradV3, TensorArrayGradWithShape: only the latter has sizes to prepend.
class GradKernel final : public Kernel {
 public:
  explicit GradKernel(const KernelRequest& request) : source_(request.attr<std::string>("source")) {
    traits_ = FlowTraits(1, 1);
  }
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const auto array, context.Resource<TensorArray>(0));
    Ints prepended;
    if (context.num_inputs() > 2) {
      const Tensor& sizes = context.input(2);
      if (sizes.rank() > 1 || sizes.num_elements() > kMaxRank) {
        return InvalidArgument("shape_to_prepend should be a short vector but has shape ",
                               sizes.shape().ToString());
      }
      prepended = ReadInts(sizes);
    }
    CARILLON_ASSIGN_OR_RETURN(auto gradients,
                              array->Gradients(source_, prepended, context.services().allocator));
    context.set_output(0, HandleTo(std::move(gradients)));
    return SetFlow(context, 1, 1);
  }

 private:
  const std::string source_;
};

Status RunWrite(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto array, context.Resource<TensorArray>(0));
  CARILLON_ASSIGN_OR_RETURN(const int64_t index, ReadScalarInt(context.input(1), "index"));
  CARILLON_RETURN_IF_ERROR(array->Write(index, context.Take(2), context.services().allocator));
  return SetFlow(context, 0, 3);
}

// The array behind input 0, whose elements are of output 0's dtype.
StatusOr<std::shared_ptr<TensorArray>> ArrayToRead(const KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(auto array, context.Resource<TensorArray>(0));
  if (array->dtype() == context.output_dtype(0)) return array;
  return InvalidArgument("TensorArray dtype is ", DTypeName(array->dtype()),
                         " but Op requested dtype ", DTypeName(context.output_dtype(0)), ".");
}

Status RunRead(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto array, ArrayToRead(context));
  CARILLON_ASSIGN_OR_RETURN(const int64_t index, ReadScalarInt(context.input(1), "index"));
  CARILLON_ASSIGN_OR_RETURN(Tensor value, array->Read(index, context.services().allocator));
  context.set_output(0, std::move(value));
  return absl::OkStatus();
}

Status CheckVector(const Tensor& tensor, std::string_view what) {
  if (tensor.rank() == 1) return absl::OkStatus();
  return InvalidArgument("Expected ", what,
                         " to be a vector, but received shape: ", tensor.shape().ToString());
}

// The output of none has to be told the shape of an element.
Status SetNone(KernelContext& context, const PartialShape& element_shape) {
  Shape shape;
  if (!element_shape.AsShape(&shape)) {
    return Unimplemented("TensorArray has size zero, but element shape ", element_shape.ToString(),
                         " is not fully defined. Currently only static "
                         "shapes are supported when packing zero-size TensorArrays.");
  }
  CARILLON_ASSIGN_OR_RETURN(const Shape rows, ShapeOfRows(0, shape));
  return context.AllocateOutput(0, rows).status();
}

class GatherKernel final : public Kernel {
 public:
  explicit GatherKernel(const KernelRequest& request)
      : element_shape_(request.attr<PartialShape>("element_shape")) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const auto array, ArrayToRead(context));
    const Tensor& indices = context.input(1);
    CARILLON_RETURN_IF_ERROR(CheckVector(indices, "indices"));
    CARILLON_RETURN_IF_ERROR(array->MergeElementShape(element_shape_));
    if (indices.num_elements() == 0) return SetNone(context, element_shape_);
    std::vector<Tensor> elements;
    elements.reserve(static_cast<size_t>(indices.num_elements()));
    for (const int32_t index : indices.values<int32_t>()) {
      CARILLON_ASSIGN_OR_RETURN(Tensor value, array->Read(index, context.services().allocator));
      elements.push_back(std::move(value));
    }
    CARILLON_RETURN_IF_ERROR(CheckSameShapes(elements, 0, "TensorArray"));
    return SetStacked(context, 0, elements);
  }

 private:
  const PartialShape element_shape_;
};

class ConcatKernel final : public Kernel {
 public:
  explicit ConcatKernel(const KernelRequest& request)
      : element_shape_(request.attr<PartialShape>("element_shape_except0")) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const auto array, ArrayToRead(context));
    CARILLON_ASSIGN_OR_RETURN(const int64_t size, array->Size());
    if (size == 0) {
      CARILLON_RETURN_IF_ERROR(SetNone(context, element_shape_));
      return SetLengths(context, 1, {});
    }
    std::vector<Tensor> elements;
    for (int64_t i = 0; i < size; ++i) {
      CARILLON_ASSIGN_OR_RETURN(Tensor value, array->Read(i, context.services().allocator));
      if (value.rank() == 0) {
        return InvalidArgument("Concat saw a scalar shape at index ", i,
                               " but requires at least vectors.  Did you mean to call pack?");
      }
      elements.push_back(std::move(value));
    }
    CARILLON_RETURN_IF_ERROR(CheckSameShapes(elements, 1, "TensorArray"));
    if (!element_shape_.IsCompatibleWith(RowShape(elements[0].shape()))) {
      return InvalidArgument("TensorArray has elements of shape ", elements[0].shape().ToString(),
                             " but element_shape_except0 is ", element_shape_.ToString());
    }
    CARILLON_RETURN_IF_ERROR(SetLengths(context, 1, elements));
    return SetConcatenated(context, 0, elements);
  }

 private:
  const PartialShape element_shape_;
};

Status CheckDType(const TensorArray& array, const Tensor& value) {
  if (array.dtype() == value.dtype()) return absl::OkStatus();
  return InvalidArgument("TensorArray dtype is ", DTypeName(array.dtype()),
                         " but Op is trying to write dtype ", DTypeName(value.dtype()), ".");
}

Status RunScatter(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto array, context.Resource<TensorArray>(0));
  const Tensor& indices = context.input(1);
  const Tensor value = context.Keep(2);
  CARILLON_RETURN_IF_ERROR(CheckDType(*array, value));
  CARILLON_RETURN_IF_ERROR(CheckVector(indices, "indices"));
  if (value.rank() == 0) {
    return InvalidArgument("Input value for unpack must be at least a vector but received shape: ",
                           value.shape().ToString());
  }
  if (indices.num_elements() != value.dim(0)) {
    return InvalidArgument("Expected len(indices) == values.shape[0], but saw: ",
                           indices.num_elements(), " vs. ", value.dim(0));
  }
  CARILLON_ASSIGN_OR_RETURN(const int64_t size, array->Size());
  const auto range = indices.values<int32_t>();
  const int64_t most = range.empty() ? -1 : *std::max_element(range.begin(), range.end());
  if (most >= size && !array->dynamic_size()) {
    return InvalidArgument("Max scatter index must be < array size (", most, " vs. ", size, ")");
  }
  const Shape row_shape = RowShape(value.shape());
  for (int64_t row = 0; row < value.dim(0); ++row) {
    CARILLON_ASSIGN_OR_RETURN(const Tensor rows, RowsOf(context, value, row, row + 1));
    CARILLON_RETURN_IF_ERROR(array->Write(range[static_cast<size_t>(row)], rows.Reshaped(row_shape),
                                          context.services().allocator));
  }
  return SetFlow(context, 0, 3);
}

Status RunSplit(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto array, context.Resource<TensorArray>(0));
  const Tensor value = context.Keep(1);
  const Tensor& lengths = context.input(2);
  CARILLON_RETURN_IF_ERROR(CheckDType(*array, value));
  CARILLON_RETURN_IF_ERROR(CheckVector(lengths, "lengths"));
  if (value.rank() == 0) {
    return InvalidArgument("Expected value to be at least a vector, but received shape: ",
                           value.shape().ToString());
  }
  int64_t sum = 0;
  for (const int64_t length : lengths.values<int64_t>()) {
    if (length < 0 || length > value.dim(0) - sum) {
      return InvalidArgument(
          "Expected lengths that are not negative and add up to values.shape[0],"
          " but they do not, and value's shape is: ",
          value.shape().ToString());
    }
    sum += length;
  }
  if (sum != value.dim(0)) {
    return InvalidArgument(
        "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is ", sum,
        " and value's shape is: ", value.shape().ToString());
  }
  CARILLON_RETURN_IF_ERROR(array->Grow(lengths.num_elements()));
  CARILLON_ASSIGN_OR_RETURN(const int64_t size, array->Size());
  if (size != lengths.num_elements()) {
    return InvalidArgument("TensorArray's size is not equal to the size of lengths (", size,
                           " vs. ", lengths.num_elements(),
                           "), and the TensorArray is not marked as dynamically resizeable");
  }
  int64_t begin = 0;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t end = begin + lengths.data<int64_t>()[i];
    CARILLON_ASSIGN_OR_RETURN(Tensor rows, RowsOf(context, value, begin, end));
    CARILLON_RETURN_IF_ERROR(array->Write(i, std::move(rows), context.services().allocator));
    begin = end;
  }
  return SetFlow(context, 0, 3);
}

Status RunSize(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto array, context.Resource<TensorArray>(0));
  CARILLON_ASSIGN_OR_RETURN(const int64_t size, array->Size());
  context.set_output(0, Tensor::Scalar(static_cast<int32_t>(size)));
  return absl::OkStatus();
}

Status RunClose(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto array, context.Resource<TensorArray>(0));
  array->Close();
  return absl::OkStatus();
}

// A function that hands flow input 3 on.
template <KernelFn fn>
KernelResult WithFlow(const KernelRequest&) {
  return MakeFunctionKernel(fn, FlowTraits(3, 0));
}

}  // namespace

void AddTensorArrayKernels(KernelTable& table) {
  table.Add({
      {"TensorArrayV3", "ref", FromClass<TensorArrayKernel>},
      {"TensorArrayGradV3", "ref", FromClass<GradKernel>},
      {"TensorArrayGradWithShape", "ref", FromClass<GradKernel>},
      {"TensorArrayWriteV3", "ref", WithFlow<RunWrite>},
      {"TensorArrayReadV3", "ref", FromFunction<RunRead>},
      {"TensorArrayGatherV3", "ref", FromClass<GatherKernel>},
      {"TensorArrayScatterV3", "ref", WithFlow<RunScatter>},
      {"TensorArrayConcatV3", "ref", FromClass<ConcatKernel>},
      {"TensorArraySplitV3", "ref", WithFlow<RunSplit>},
      {"TensorArraySizeV3", "ref", FromFunction<RunSize>},
      {"TensorArrayCloseV3", "ref", FromFunction<RunClose>},
  });
}

}  // namespace carillon
