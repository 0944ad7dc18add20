// Batches: several elements stacked into one, padded where they differ in size.
#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "kernels/ref/dataset_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// Up to `size` elements, all as `spec` says; none at the end of the input.
Status ReadElements(const IteratorContext& context, const ElementSpec& spec, int64_t size,
                    bool drop_remainder, std::unique_ptr<DatasetIterator>* input,
                    std::vector<Element>* elements) {
  elements->clear();
  if (*input == nullptr) return absl::OkStatus();
  bool end = false;
  while (static_cast<int64_t>(elements->size()) < size) {
    Element element;
    CARILLON_RETURN_IF_ERROR((*input)->GetNext(context, &element, &end));
    if (end) break;
    CARILLON_RETURN_IF_ERROR(CheckElement(spec, element));
    elements->push_back(std::move(element));
    CARILLON_RETURN_IF_ERROR(context.CheckCancelled());
  }
  if (!end) return absl::OkStatus();
  input->reset();
  if (drop_remainder) elements->clear();
  return absl::OkStatus();
}

int64_t BatchCardinality(int64_t n, int64_t batch_size, bool drop_remainder) {
  if (n < 0) return n;
  return n / batch_size + (n % batch_size != 0 && !drop_remainder ? 1 : 0);
}

StatusOr<Tensor> AllocateBatch(DType dtype, size_t count, const Shape& element,
                               const IteratorContext& context) {
  std::vector<int64_t> dims = {static_cast<int64_t>(count)};
  dims.insert(dims.end(), element.dims().begin(), element.dims().end());
  Shape shape;
  if (!Shape::TryMake(dims, &shape))
    return InvalidArgument("a batch of ", count, " elements of shape ", element.ToString(),
                           " has too many elements or dimensions");
  Tensor batch = Tensor::TryAllocate(dtype, shape, context.allocator);
  if (!batch.has_value())
    return ResourceExhausted("no memory for a batch of ", DTypeName(dtype), shape.ToString());
  return batch;
}

// Component c of the elements, which are alike.
StatusOr<Tensor> Stack(std::vector<Element>& elements, size_t c, const IteratorContext& context) {
  const Tensor& first = elements[0][c];
  for (size_t i = 1; i < elements.size(); ++i) {
    if (elements[i][c].dtype() != first.dtype() || !(elements[i][c].shape() == first.shape()))
      return InvalidArgument("Cannot batch tensors with different shapes in component ", c,
                             ". First element had shape ", first.shape().ToString(),
                             " and element ", i, " had shape ", elements[i][c].shape().ToString(),
                             ".");
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor batch,
                            AllocateBatch(first.dtype(), elements.size(), first.shape(), context));
  const int64_t n = first.num_elements();
  DispatchBySize(first.dtype(), [&]<typename T>() {
    T* to = static_cast<T*>(batch.mutable_raw_data());
    for (Element& element : elements) {
      const T* from = static_cast<const T*>(element[c].raw_data());
      to = std::copy(from, from + n, to);
    }
  });
  return batch;
}

class BatchDataset final : public GraphDataset {
 public:
  BatchDataset(DatasetPtr input, int64_t batch_size, bool drop_remainder, ElementSpec spec)
      : GraphDataset(std::move(spec)),
        input_(std::move(input)),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder) {}

  int64_t Cardinality() const override {
    return BatchCardinality(input_->Cardinality(), batch_size_, drop_remainder_);
  }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    CARILLON_ASSIGN_OR_RETURN(auto input, input_->MakeIterator(context));
    return std::make_unique<Iterator>(*this, std::move(input));
  }

 private:
  class Iterator final : public IteratorOf<BatchDataset> {
   public:
    Iterator(const BatchDataset& dataset, std::unique_ptr<DatasetIterator> input)
        : IteratorOf(dataset), input_(std::move(input)) {}

    Status GetNext(const IteratorContext& context, Element* batch, bool* end) override {
      // Not kept between calls: a batch for which there is no memory gives back what it has.
      std::vector<Element> elements;
      CARILLON_RETURN_IF_ERROR(ReadElements(context, dataset().input_->spec(),
                                            dataset().batch_size_, dataset().drop_remainder_,
                                            &input_, &elements));
      *end = elements.empty();
      if (*end) return absl::OkStatus();
      batch->clear();
      for (size_t c = 0; c < elements[0].size(); ++c) {
        CARILLON_ASSIGN_OR_RETURN(Tensor stacked, Stack(elements, c, context));
        batch->push_back(std::move(stacked));
      }
      return absl::OkStatus();
    }

   private:
    std::unique_ptr<DatasetIterator> input_;
  };
  const DatasetPtr input_;
  const int64_t batch_size_;
  const bool drop_remainder_;
};

// Copies `from`, row by row, into the corner of `to`, which has the shape `padded`.
template <typename T>
void CopyIntoCorner(const T* from, const Shape& shape, T* to, const Shape& padded, int axis) {
  if (axis == shape.rank()) {
    *to = *from;
    return;
  }
  int64_t from_stride = 1, to_stride = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) {
    from_stride *= shape.dim(i);
    to_stride *= padded.dim(i);
  }
  if (axis + 1 == shape.rank()) {
    std::copy(from, from + shape.dim(axis), to);
    return;
  }
  for (int64_t i = 0; i < shape.dim(axis); ++i)
    CopyIntoCorner(from + i * from_stride, shape, to + i * to_stride, padded, axis + 1);
}

class PaddedBatchDataset final : public GraphDataset {
 public:
  PaddedBatchDataset(DatasetPtr input, int64_t batch_size, bool drop_remainder,
                     std::vector<PartialShape> padded, std::vector<Tensor> padding,
                     ElementSpec spec)
      : GraphDataset(std::move(spec)),
        input_(std::move(input)),
        batch_size_(batch_size),
        drop_remainder_(drop_remainder),
        padded_(std::move(padded)),
        padding_(std::move(padding)) {}

  int64_t Cardinality() const override {
    return BatchCardinality(input_->Cardinality(), batch_size_, drop_remainder_);
  }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    CARILLON_ASSIGN_OR_RETURN(auto input, input_->MakeIterator(context));
    return std::make_unique<Iterator>(*this, std::move(input));
  }

 private:
  class Iterator final : public IteratorOf<PaddedBatchDataset> {
   public:
    Iterator(const PaddedBatchDataset& dataset, std::unique_ptr<DatasetIterator> input)
        : IteratorOf(dataset), input_(std::move(input)) {}

    Status GetNext(const IteratorContext& context, Element* batch, bool* end) override {
      std::vector<Element> elements;
      CARILLON_RETURN_IF_ERROR(ReadElements(context, dataset().input_->spec(),
                                            dataset().batch_size_, dataset().drop_remainder_,
                                            &input_, &elements));
      *end = elements.empty();
      if (*end) return absl::OkStatus();
      batch->clear();
      for (size_t c = 0; c < elements[0].size(); ++c) {
        CARILLON_ASSIGN_OR_RETURN(const Shape padded, PaddedShape(elements, c));
        CARILLON_ASSIGN_OR_RETURN(Tensor padded_batch, Pad(elements, c, padded, context));
        batch->push_back(std::move(padded_batch));
      }
      return absl::OkStatus();
    }

   private:
    // What is open takes the largest size among the elements.
    StatusOr<Shape> PaddedShape(const std::vector<Element>& elements, size_t c) const {
      const PartialShape& wanted = dataset().padded_[c];
      std::vector<int64_t> dims(wanted.dims().begin(), wanted.dims().end());
      for (const Element& element : elements) {
        const Shape& shape = element[c].shape();
        if (shape.rank() != wanted.rank())
          return InvalidArgument(
              "All elements in a batch must have the same rank as the padded "
              "shape for component ",
              c, ": expected rank ", wanted.rank(), " but got element with rank ", shape.rank());
        for (int i = 0; i < shape.rank(); ++i) {
          int64_t& dim = dims[static_cast<size_t>(i)];
          if (wanted.dim(i) < 0) dim = std::max(dim, shape.dim(i));
          if (shape.dim(i) > dim)
            return DataLoss("Attempted to pad to a smaller size than the input element.");
        }
      }
      Shape padded;
      if (!Shape::TryMake(dims, &padded))
        return InvalidArgument("the padded shape of component ", c, " has too many elements");
      return padded;
    }

    StatusOr<Tensor> Pad(const std::vector<Element>& elements, size_t c, const Shape& padded,
                         const IteratorContext& context) const {
      const Tensor& padding = dataset().padding_[c];
      CARILLON_ASSIGN_OR_RETURN(Tensor batch,
                                AllocateBatch(padding.dtype(), elements.size(), padded, context));
      for (const Element& element : elements) {
        if (element[c].dtype() != padding.dtype())
          return InvalidArgument("component ", c, " is ", DTypeName(element[c].dtype()), ", not ",
                                 DTypeName(padding.dtype()));
      }
      DispatchBySize(padding.dtype(), [&]<typename T>() {
        T* to = static_cast<T*>(batch.mutable_raw_data());
        std::fill(to, to + batch.num_elements(), *static_cast<const T*>(padding.raw_data()));
        for (const Element& element : elements) {
          if (element[c].num_elements() > 0)
            CopyIntoCorner(static_cast<const T*>(element[c].raw_data()), element[c].shape(), to,
                           padded, 0);
          to += padded.num_elements();
        }
      });
      return batch;
    }

    std::unique_ptr<DatasetIterator> input_;
  };
  const DatasetPtr input_;
  const int64_t batch_size_;
  const bool drop_remainder_;
  const std::vector<PartialShape> padded_;
  const std::vector<Tensor> padding_;
};

StatusOr<int64_t> BatchSizeInput(const KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t size, Int64Input(context, 1, "batch_size"));
  if (size <= 0) return InvalidArgument("Batch size must be greater than zero.");
  return size;
}

StatusOr<DatasetPtr> MakeBatchFrom(KernelContext& context, int drop_remainder_input) {
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
  CARILLON_ASSIGN_OR_RETURN(const int64_t size, BatchSizeInput(context));
  bool drop_remainder = false;
  if (drop_remainder_input >= 0) {
    CARILLON_ASSIGN_OR_RETURN(drop_remainder,
                              BoolInput(context, drop_remainder_input, "drop_remainder"));
  }
  return MakeBatch(std::move(input), size, drop_remainder, OutputSpec(context.node()));
}

StatusOr<DatasetPtr> MakeBatchV1(KernelContext& context) { return MakeBatchFrom(context, -1); }
StatusOr<DatasetPtr> MakeBatchV2(KernelContext& context) { return MakeBatchFrom(context, 2); }
StatusOr<DatasetPtr> MakeParallelBatch(KernelContext& context) { return MakeBatchFrom(context, 3); }

StatusOr<DatasetPtr> MakePaddedBatch(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
  CARILLON_ASSIGN_OR_RETURN(const int64_t size, BatchSizeInput(context));
  ElementSpec spec = OutputSpec(context.node());
  const auto [shapes_begin, shapes_end] = context.node().InputRange("padded_shapes");
  const auto [values_begin, values_end] = context.node().InputRange("padding_values");
  if (shapes_end - shapes_begin != values_end - values_begin ||
      input->spec().dtypes.size() != static_cast<size_t>(shapes_end - shapes_begin))
    return InvalidArgument("there are ", shapes_end - shapes_begin, " padded shapes and ",
                           values_end - values_begin, " padding values for ",
                           input->spec().dtypes.size(), " components");
  std::vector<PartialShape> padded;
  std::vector<Tensor> padding;
  for (int i = shapes_begin; i < shapes_end; ++i) {
    const Tensor& sizes = context.input(i);
    PartialShape shape;
    if (sizes.rank() != 1 || !PartialShape::TryMake(sizes.values<int64_t>(), &shape))
      return InvalidArgument("a padded shape must be a vector of sizes, or -1, not ",
                             sizes.ToString());
    padded.push_back(shape);
    const Tensor& value = context.input(values_begin + i - shapes_begin);
    if (value.rank() != 0)
      return InvalidArgument("padding values must be scalars, not ", value.ToString());
    if (value.dtype() != input->spec().dtypes[padding.size()])
      return InvalidArgument("the padding value of component ", padding.size(), " is ",
                             DTypeName(value.dtype()), ", not ",
                             DTypeName(input->spec().dtypes[padding.size()]));
    padding.push_back(context.Keep(values_begin + i - shapes_begin));
  }
  bool drop_remainder = false;
  if (context.num_inputs() > values_end) {
    CARILLON_ASSIGN_OR_RETURN(drop_remainder, BoolInput(context, values_end, "drop_remainder"));
  }
  return std::make_shared<PaddedBatchDataset>(std::move(input), size, drop_remainder,
                                              std::move(padded), std::move(padding),
                                              std::move(spec));
}

}  // namespace

DatasetPtr MakeBatch(DatasetPtr input, int64_t batch_size, bool drop_remainder, ElementSpec spec) {
  return std::make_shared<BatchDataset>(std::move(input), batch_size, drop_remainder,
                                        std::move(spec));
}

void AddDatasetBatchKernels(KernelTable& table) {
  table.Add({
      {"BatchDataset", "ref", FromFunction<RunDataset<MakeBatchV1>>},
      {"BatchDatasetV2", "ref", FromFunction<RunDataset<MakeBatchV2>>},
      {"ParallelBatchDataset", "ref", FromFunction<RunDataset<MakeParallelBatch>>},
      {"PaddedBatchDataset", "ref", FromFunction<RunDataset<MakePaddedBatch>>},
      {"PaddedBatchDatasetV2", "ref", FromFunction<RunDataset<MakePaddedBatch>>},
  });
}

}  // namespace carillon
