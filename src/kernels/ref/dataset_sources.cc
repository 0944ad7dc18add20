// Data sets that tensors and numbers are the source of.
#include <cstring>

#include "base/strings.h"
#include "kernels/ref/dataset_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

std::vector<Tensor> KeepAll(const KernelContext& context) {
  std::vector<Tensor> values;
  for (int i = 0; i < context.num_inputs(); ++i) values.push_back(context.Keep(i));
  return values;
}

// One element.
class TensorDataset final : public GraphDataset {
 public:
  TensorDataset(Element element, ElementSpec spec)
      : GraphDataset(std::move(spec)), element_(std::move(element)) {}
  int64_t Cardinality() const override { return 1; }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(const IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }

 private:
  class Iterator final : public IteratorOf<TensorDataset> {
   public:
    using IteratorOf::IteratorOf;
    Status GetNext(const IteratorContext&, Element* element, bool* end) override {
      *end = std::exchange(done_, true);
      if (!*end) *element = dataset().element_;
      return absl::OkStatus();
    }

   private:
    bool done_ = false;
  };
  const Element element_;
};

StatusOr<DatasetPtr> MakeTensor(KernelContext& context) {
  return std::make_shared<TensorDataset>(KeepAll(context), OutputSpec(context.node()));
}

// Row i of a tensor, in memory of its own: it may be kept and changed.
StatusOr<Tensor> RowOf(const Tensor& tensor, int64_t i, Allocator* allocator) {
  Shape shape = tensor.shape();
  shape.RemoveDim(0);
  Tensor row = Tensor::TryAllocate(tensor.dtype(), shape, allocator);
  if (!row.has_value()) return ResourceExhausted("no memory for an element of a dataset");
  const int64_t n = shape.num_elements();
  DispatchBySize(tensor.dtype(), [&]<typename T>() {
    const T* from = static_cast<const T*>(tensor.raw_data()) + i * n;
    std::copy(from, from + n, static_cast<T*>(row.mutable_raw_data()));
  });
  return row;
}

class TensorSliceDataset final : public GraphDataset {
 public:
  TensorSliceDataset(std::vector<Tensor> components, ElementSpec spec)
      : GraphDataset(std::move(spec)), components_(std::move(components)) {}
  int64_t Cardinality() const override { return components_[0].dim(0); }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(const IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }

 private:
  class Iterator final : public IteratorOf<TensorSliceDataset> {
   public:
    using IteratorOf::IteratorOf;
    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      *end = next_ >= dataset().Cardinality();
      if (*end) return absl::OkStatus();
      element->clear();
      for (const Tensor& component : dataset().components_) {
        CARILLON_ASSIGN_OR_RETURN(Tensor row, RowOf(component, next_, context.allocator));
        element->push_back(std::move(row));
      }
      ++next_;
      return absl::OkStatus();
    }

   private:
    int64_t next_ = 0;
  };
  const std::vector<Tensor> components_;
};

StatusOr<DatasetPtr> MakeTensorSlice(KernelContext& context) {
  std::vector<Tensor> components = KeepAll(context);
  for (const Tensor& component : components) {
    if (component.rank() == 0)
      return InvalidArgument("a scalar cannot be sliced into the elements of a dataset");
    if (component.dim(0) != components[0].dim(0))
      return InvalidArgument("components have ", components[0].dim(0), " and ", component.dim(0),
                             " rows, but should all have the same number");
  }
  return std::make_shared<TensorSliceDataset>(std::move(components), OutputSpec(context.node()));
}

class RangeDataset final : public GraphDataset {
 public:
  RangeDataset(int64_t start, int64_t stop, int64_t step, ElementSpec spec)
      : GraphDataset(std::move(spec)),
        start_(start),
        step_(step),
        count_(Count(start, stop, step)) {}
  int64_t Cardinality() const override { return static_cast<int64_t>(count_); }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(const IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }

 private:
  // The differences of any two int64 fit an uint64.
  static uint64_t Count(int64_t start, int64_t stop, int64_t step) {
    const auto positive = [](int64_t low, int64_t high, uint64_t by) {
      if (low >= high) return uint64_t{0};
      const uint64_t distance = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
      return (distance - 1) / by + 1;
    };
    return step > 0 ? positive(start, stop, static_cast<uint64_t>(step))
                    : positive(stop, start, uint64_t{0} - static_cast<uint64_t>(step));
  }

  class Iterator final : public IteratorOf<RangeDataset> {
   public:
    using IteratorOf::IteratorOf;
    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      *end = next_ >= dataset().count_;
      if (*end) return absl::OkStatus();
      const auto value = static_cast<int64_t>(static_cast<uint64_t>(dataset().start_) +
                                              next_ * static_cast<uint64_t>(dataset().step_));
      Tensor number = Tensor::TryAllocate(dataset().spec().dtypes[0], Shape{}, context.allocator);
      if (!number.has_value()) return ResourceExhausted("no memory for an element of a dataset");
      DispatchNumber(number.dtype(),
                     [&]<typename T>() { number.mutable_data<T>()[0] = static_cast<T>(value); });
      element->assign(1, std::move(number));
      ++next_;
      return absl::OkStatus();
    }

   private:
    uint64_t next_ = 0;
  };
  const int64_t start_, step_;
  const uint64_t count_;
};

StatusOr<DatasetPtr> MakeRange(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t start, Int64Input(context, 0, "start"));
  CARILLON_ASSIGN_OR_RETURN(const int64_t stop, Int64Input(context, 1, "stop"));
  CARILLON_ASSIGN_OR_RETURN(const int64_t step, Int64Input(context, 2, "step"));
  if (step == 0) return InvalidArgument("step must not be 0");
  ElementSpec spec = OutputSpec(context.node());
  if (spec.dtypes.size() != 1 || !DispatchNumber(spec.dtypes[0], []<typename T>() {}))
    return InvalidArgument("a range consists of numbers, not of ", DTypeName(spec.dtypes[0]));
  return std::make_shared<RangeDataset>(start, stop, step, std::move(spec));
}

}  // namespace

void AddDatasetSourceKernels(KernelTable& table) {
  table.Add({
      {"TensorDataset", "ref", FromFunction<RunDataset<MakeTensor>>},
      {"TensorSliceDataset", "ref", FromFunction<RunDataset<MakeTensorSlice>>},
      {"RangeDataset", "ref", FromFunction<RunDataset<MakeRange>>},
  });
}

}  // namespace carillon
