// Data sets made from others, element by element: fewer, more, in turn, together.
#include <algorithm>
#include <limits>

#include "base/strings.h"
#include "kernels/ref/dataset_kernels.h"

namespace carillon {
namespace {

// Base of those that have one input.
class OneInputDataset : public GraphDataset {
 public:
  OneInputDataset(DatasetPtr input, ElementSpec spec)
      : GraphDataset(std::move(spec)), input_(std::move(input)) {}
  const GraphDataset& input() const { return *input_; }

 protected:
  // An iterator of class I, which is made from this data set and the input's iterator.
  template <typename I, typename D>
  static StatusOr<std::unique_ptr<DatasetIterator>> Make(const D& dataset,
                                                         const IteratorContext& context) {
    CARILLON_ASSIGN_OR_RETURN(auto input, dataset.input().MakeIterator(context));
    return std::make_unique<I>(dataset, std::move(input));
  }

 private:
  const DatasetPtr input_;
};

template <typename D>
class OneInputIterator : public IteratorOf<D> {
 public:
  OneInputIterator(const D& dataset, std::unique_ptr<DatasetIterator> input)
      : IteratorOf<D>(dataset), input_(std::move(input)) {}

 protected:
  std::unique_ptr<DatasetIterator> input_;
};

class RepeatDataset final : public OneInputDataset {
 public:
  RepeatDataset(DatasetPtr input, int64_t count, ElementSpec spec)
      : OneInputDataset(std::move(input), std::move(spec)), count_(count) {}

  int64_t Cardinality() const override {
    const int64_t n = input().Cardinality();
    if (count_ < 0) return n == 0 ? 0 : kInfinite;
    if (count_ == 0) return 0;
    if (n < 0) return n;
    int64_t product;
    return __builtin_mul_overflow(n, count_, &product) ? kUnknown : product;
  }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(const IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }

 private:
  class Iterator final : public IteratorOf<RepeatDataset> {
   public:
    using IteratorOf::IteratorOf;
    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      for (;;) {
        *end = done_ || (dataset().count_ >= 0 && round_ >= dataset().count_);
        if (*end) return absl::OkStatus();
        const bool is_first = input_ == nullptr;
        if (is_first) {
          CARILLON_ASSIGN_OR_RETURN(input_, dataset().input().MakeIterator(context));
        }
        CARILLON_RETURN_IF_ERROR(input_->GetNext(context, element, end));
        if (!*end) return absl::OkStatus();
        input_.reset();
        ++round_;
        done_ = is_first && dataset().count_ < 0;  // nothing, for ever
        CARILLON_RETURN_IF_ERROR(context.CheckCancelled());
      }
    }

   private:
    std::unique_ptr<DatasetIterator> input_;
    int64_t round_ = 0;
    bool done_ = false;
  };
  const int64_t count_;
};

class TakeDataset final : public OneInputDataset {
 public:
  TakeDataset(DatasetPtr input, int64_t count, ElementSpec spec)
      : OneInputDataset(std::move(input), std::move(spec)), count_(count) {}

  int64_t Cardinality() const override {
    const int64_t n = input().Cardinality();
    if (n == kUnknown || count_ < 0) return n;
    return n == kInfinite ? count_ : std::min(n, count_);
  }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    return Make<Iterator>(*this, context);
  }

 private:
  class Iterator final : public OneInputIterator<TakeDataset> {
   public:
    using OneInputIterator::OneInputIterator;
    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      *end = input_ == nullptr || (dataset().count_ >= 0 && taken_ >= dataset().count_);
      if (!*end) CARILLON_RETURN_IF_ERROR(input_->GetNext(context, element, end));
      if (*end) input_.reset();
      ++taken_;
      return absl::OkStatus();
    }

   private:
    int64_t taken_ = 0;
  };
  const int64_t count_;
};

class SkipDataset final : public OneInputDataset {
 public:
  SkipDataset(DatasetPtr input, int64_t count, ElementSpec spec)
      : OneInputDataset(std::move(input), std::move(spec)), count_(count) {}

  int64_t Cardinality() const override {
    const int64_t n = input().Cardinality();
    if (count_ < 0) return 0;
    return n < 0 ? n : std::max<int64_t>(n - count_, 0);
  }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    return Make<Iterator>(*this, context);
  }

 private:
  class Iterator final : public OneInputIterator<SkipDataset> {
   public:
    using OneInputIterator::OneInputIterator;
    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      *end = dataset().count_ < 0;
      while (!*end && skipped_ < dataset().count_) {
        CARILLON_RETURN_IF_ERROR(input_->GetNext(context, element, end));
        ++skipped_;
        CARILLON_RETURN_IF_ERROR(context.CheckCancelled());
      }
      return *end ? absl::OkStatus() : input_->GetNext(context, element, end);
    }

   private:
    int64_t skipped_ = 0;
  };
  const int64_t count_;
};

class ShardDataset final : public OneInputDataset {
 public:
  // As a number of shards: who distributes the data set puts in the true one.
  static constexpr int64_t kNotYetKnown = -1;

  ShardDataset(DatasetPtr input, int64_t shards, int64_t index, bool require_non_empty,
               ElementSpec spec)
      : OneInputDataset(std::move(input), std::move(spec)),
        shards_(shards),
        index_(index),
        require_non_empty_(require_non_empty) {}

  int64_t Cardinality() const override {
    const int64_t n = input().Cardinality();
    if (shards_ == kNotYetKnown) return kUnknown;
    return n < 0 ? n : n / shards_ + (index_ < n % shards_ ? 1 : 0);
  }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    if (shards_ == kNotYetKnown)
      return FailedPrecondition("num_shards is still -1: nobody has distributed the dataset");
    return Make<Iterator>(*this, context);
  }

 private:
  class Iterator final : public OneInputIterator<ShardDataset> {
   public:
    using OneInputIterator::OneInputIterator;
    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      for (;;) {
        CARILLON_RETURN_IF_ERROR(input_->GetNext(context, element, end));
        if (*end) {
          if (next_ == 0 || next_ > dataset().index_ || !dataset().require_non_empty_)
            return absl::OkStatus();
          return InvalidArgument("shard ", dataset().index_, " of ", dataset().shards_,
                                 " is empty: there are only ", next_, " elements");
        }
        if (next_++ % dataset().shards_ == dataset().index_) return absl::OkStatus();
        CARILLON_RETURN_IF_ERROR(context.CheckCancelled());
      }
    }

   private:
    int64_t next_ = 0;
  };
  const int64_t shards_, index_;
  const bool require_non_empty_;
};

class ZipDataset final : public GraphDataset {
 public:
  ZipDataset(std::vector<DatasetPtr> inputs, ElementSpec spec)
      : GraphDataset(std::move(spec)), inputs_(std::move(inputs)) {}

  int64_t Cardinality() const override {
    int64_t least = kInfinite;
    for (const DatasetPtr& input : inputs_) {
      const int64_t n = input->Cardinality();
      if (n == kUnknown) return kUnknown;
      if (n != kInfinite) least = least == kInfinite ? n : std::min(least, n);
    }
    return least;
  }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    std::vector<std::unique_ptr<DatasetIterator>> inputs;
    for (const DatasetPtr& input : inputs_) {
      CARILLON_ASSIGN_OR_RETURN(auto iterator, input->MakeIterator(context));
      inputs.push_back(std::move(iterator));
    }
    return std::make_unique<Iterator>(*this, std::move(inputs));
  }

 private:
  class Iterator final : public IteratorOf<ZipDataset> {
   public:
    Iterator(const ZipDataset& dataset, std::vector<std::unique_ptr<DatasetIterator>> inputs)
        : IteratorOf(dataset), inputs_(std::move(inputs)) {}

    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      *end = inputs_.empty();
      if (*end) return absl::OkStatus();
      element->clear();
      // Each input moves on, also when another has ended.
      Status first_error;
      for (const auto& input : inputs_) {
        Element part;
        bool part_end = false;
        const Status status = input->GetNext(context, &part, &part_end);
        if (!status.ok() && first_error.ok()) first_error = status;
        *end |= part_end;
        std::ranges::move(part, std::back_inserter(*element));
        if (!first_error.ok() || *end) break;
      }
      CARILLON_RETURN_IF_ERROR(first_error);
      if (*end) inputs_.clear();
      return absl::OkStatus();
    }

   private:
    std::vector<std::unique_ptr<DatasetIterator>> inputs_;
  };
  const std::vector<DatasetPtr> inputs_;
};

class ConcatenateDataset final : public GraphDataset {
 public:
  ConcatenateDataset(DatasetPtr first, DatasetPtr second, ElementSpec spec)
      : GraphDataset(std::move(spec)), inputs_{std::move(first), std::move(second)} {}

  int64_t Cardinality() const override {
    const int64_t a = inputs_[0]->Cardinality(), b = inputs_[1]->Cardinality();
    if (a == kInfinite || b == kInfinite) return kInfinite;
    int64_t sum;
    if (a == kUnknown || b == kUnknown || __builtin_add_overflow(a, b, &sum)) return kUnknown;
    return sum;
  }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    CARILLON_ASSIGN_OR_RETURN(auto first, inputs_[0]->MakeIterator(context));
    return std::make_unique<Iterator>(*this, std::move(first));
  }

 private:
  class Iterator final : public IteratorOf<ConcatenateDataset> {
   public:
    Iterator(const ConcatenateDataset& dataset, std::unique_ptr<DatasetIterator> first)
        : IteratorOf(dataset), input_(std::move(first)) {}
    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      for (; input_ != nullptr;) {
        CARILLON_RETURN_IF_ERROR(input_->GetNext(context, element, end));
        if (!*end) return absl::OkStatus();
        input_.reset();
        if (std::exchange(is_second_, true)) break;
        CARILLON_ASSIGN_OR_RETURN(input_, dataset().inputs_[1]->MakeIterator(context));
      }
      *end = true;
      return absl::OkStatus();
    }

   private:
    std::unique_ptr<DatasetIterator> input_;
    bool is_second_ = false;
  };
  const DatasetPtr inputs_[2];
};

StatusOr<DatasetPtr> MakeRepeat(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
  CARILLON_ASSIGN_OR_RETURN(const int64_t count, Int64Input(context, 1, "count"));
  return std::make_shared<RepeatDataset>(std::move(input), count, OutputSpec(context.node()));
}

StatusOr<DatasetPtr> MakeTake(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
  CARILLON_ASSIGN_OR_RETURN(const int64_t count, Int64Input(context, 1, "count"));
  return std::make_shared<TakeDataset>(std::move(input), count, OutputSpec(context.node()));
}

StatusOr<DatasetPtr> MakeSkip(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
  CARILLON_ASSIGN_OR_RETURN(const int64_t count, Int64Input(context, 1, "count"));
  return std::make_shared<SkipDataset>(std::move(input), count, OutputSpec(context.node()));
}

StatusOr<DatasetPtr> MakeShard(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
  CARILLON_ASSIGN_OR_RETURN(const int64_t shards, Int64Input(context, 1, "num_shards"));
  CARILLON_ASSIGN_OR_RETURN(const int64_t index, Int64Input(context, 2, "index"));
  if (shards < 1 && shards != ShardDataset::kNotYetKnown)
    return InvalidArgument("num_shards is ", shards, " but must be at least 1");
  if (shards >= 1 && (index < 0 || index >= shards))
    return InvalidArgument("index is ", index, " but must be in [0, ", shards, ")");
  return std::make_shared<ShardDataset>(std::move(input), shards, index,
                                        context.node().attr<bool>("require_non_empty"),
                                        OutputSpec(context.node()));
}

StatusOr<DatasetPtr> MakeZip(KernelContext& context) {
  std::vector<DatasetPtr> inputs;
  for (int i = 0; i < context.num_inputs(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, i));
    inputs.push_back(std::move(input));
  }
  return std::make_shared<ZipDataset>(std::move(inputs), OutputSpec(context.node()));
}

StatusOr<DatasetPtr> MakeConcatenate(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr first, DatasetInput(context, 0));
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr second, DatasetInput(context, 1));
  if (first->spec().dtypes != second->spec().dtypes)
    return InvalidArgument("the two datasets have elements of different types");
  return std::make_shared<ConcatenateDataset>(std::move(first), std::move(second),
                                              OutputSpec(context.node()));
}

// Options that say how to run a pipeline, not what it gives.
StatusOr<DatasetPtr> PassOn(KernelContext& context) { return DatasetInput(context, 0); }

Status RunCardinality(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetInput(context, 0));
  context.set_output(0, Tensor::Scalar(dataset->Cardinality()));
  return absl::OkStatus();
}

}  // namespace

void AddDatasetTransformKernels(KernelTable& table) {
  table.Add({
      {"RepeatDataset", "ref", FromFunction<RunDataset<MakeRepeat>>},
      {"TakeDataset", "ref", FromFunction<RunDataset<MakeTake>>},
      {"SkipDataset", "ref", FromFunction<RunDataset<MakeSkip>>},
      {"ShardDataset", "ref", FromFunction<RunDataset<MakeShard>>},
      {"ZipDataset", "ref", FromFunction<RunDataset<MakeZip>>},
      {"ConcatenateDataset", "ref", FromFunction<RunDataset<MakeConcatenate>>},
      {"OptionsDataset", "ref", FromFunction<RunDataset<PassOn>>},
      {"ModelDataset", "ref", FromFunction<RunDataset<PassOn>>},
      {"OptimizeDataset", "ref", FromFunction<RunDataset<PassOn>>},
      {"OptimizeDatasetV2", "ref", FromFunction<RunDataset<PassOn>>},
      {"MaxIntraOpParallelismDataset", "ref", FromFunction<RunDataset<PassOn>>},
      {"PrivateThreadPoolDataset", "ref", FromFunction<RunDataset<PassOn>>},
      {"FinalizeDataset", "ref", FromFunction<RunDataset<PassOn>>},
      {"DatasetCardinality", "ref", FromFunction<RunCardinality>},
  });
}

}  // namespace carillon
