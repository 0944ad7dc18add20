// Data sets that call a function for each element: map, filter, flat map, interleave.
#include <algorithm>
#include <limits>

#include "base/cores.h"
#include "base/strings.h"
#include "kernels/ref/dataset_kernels.h"

namespace carillon {
namespace {

class MapDataset final : public GraphDataset {
 public:
  MapDataset(DatasetPtr input, CapturedFunction function, bool keeps_cardinality, ElementSpec spec)
      : GraphDataset(std::move(spec)),
        input_(std::move(input)),
        function_(std::move(function)),
        keeps_cardinality_(keeps_cardinality) {}

  int64_t Cardinality() const override {
    return keeps_cardinality_ ? input_->Cardinality() : kUnknown;
  }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    CARILLON_ASSIGN_OR_RETURN(auto input, input_->MakeIterator(context));
    return std::make_unique<Iterator>(*this, std::move(input), context);
  }

 private:
  class Iterator final : public IteratorOf<MapDataset> {
   public:
    Iterator(const MapDataset& dataset, std::unique_ptr<DatasetIterator> input,
             const IteratorContext& context)
        : IteratorOf(dataset), input_(std::move(input)), function_(dataset.function_, context) {}

    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      Element args;
      CARILLON_RETURN_IF_ERROR(input_->GetNext(context, &args, end));
      if (*end) return absl::OkStatus();
      CARILLON_RETURN_IF_ERROR(function_.Run(context, std::move(args), element));
      return CheckElement(dataset().spec(), *element);
    }

   private:
    const std::unique_ptr<DatasetIterator> input_;
    const CapturedFunction::Call function_;
  };
  const DatasetPtr input_;
  const CapturedFunction function_;
  const bool keeps_cardinality_;
};

class MapKernel final : public FunctionDatasetKernel {
 public:
  Status Start(const KernelRequest& request) {
    keeps_cardinality_ = request.attr<bool>("preserve_cardinality");
    return Init(request, "f");
  }

 private:
  StatusOr<DatasetPtr> Make(KernelContext& context, CapturedFunction function) override {
    CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
    return std::make_shared<MapDataset>(std::move(input), std::move(function), keeps_cardinality_,
                                        spec());
  }
  bool keeps_cardinality_ = false;
};

class FilterDataset final : public GraphDataset {
 public:
  FilterDataset(DatasetPtr input, CapturedFunction function, ElementSpec spec)
      : GraphDataset(std::move(spec)), input_(std::move(input)), function_(std::move(function)) {}

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    CARILLON_ASSIGN_OR_RETURN(auto input, input_->MakeIterator(context));
    return std::make_unique<Iterator>(*this, std::move(input), context);
  }

 private:
  class Iterator final : public IteratorOf<FilterDataset> {
   public:
    Iterator(const FilterDataset& dataset, std::unique_ptr<DatasetIterator> input,
             const IteratorContext& context)
        : IteratorOf(dataset), input_(std::move(input)), function_(dataset.function_, context) {}

    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      for (;;) {
        CARILLON_RETURN_IF_ERROR(input_->GetNext(context, element, end));
        if (*end) return absl::OkStatus();
        Element results;
        CARILLON_RETURN_IF_ERROR(function_.Run(context, *element, &results));
        if (results.size() != 1 || results[0].dtype() != DType::kBool || results[0].rank() != 0)
          return InvalidArgument("Filter predicate `predicate` must return a scalar bool.");
        if (results[0].data<bool>()[0]) return absl::OkStatus();
      }
    }

   private:
    const std::unique_ptr<DatasetIterator> input_;
    const CapturedFunction::Call function_;
  };
  const DatasetPtr input_;
  const CapturedFunction function_;
};

class FilterKernel final : public FunctionDatasetKernel {
 public:
  Status Start(const KernelRequest& request) { return Init(request, "predicate"); }

 private:
  StatusOr<DatasetPtr> Make(KernelContext& context, CapturedFunction function) override {
    CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
    return std::make_shared<FilterDataset>(std::move(input), std::move(function), spec());
  }
};

// Walks the data sets that the function gives, `cycle_length` at a time, `block_length` elements of
// each in turn. A flat map is one at a time.
class InterleaveDataset final : public GraphDataset {
 public:
  // `ahead`: the open ones are walked on threads of their own, so many elements ahead; 0: not.
  InterleaveDataset(DatasetPtr input, CapturedFunction function, int64_t cycle_length,
                    int64_t block_length, int64_t ahead, ElementSpec spec)
      : GraphDataset(std::move(spec)),
        input_(std::move(input)),
        function_(std::move(function)),
        cycle_length_(cycle_length),
        block_length_(block_length),
        ahead_(ahead) {}

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    CARILLON_ASSIGN_OR_RETURN(auto input, input_->MakeIterator(context));
    return std::make_unique<Iterator>(*this, std::move(input), context);
  }

 private:
  class Iterator final : public IteratorOf<InterleaveDataset> {
   public:
    Iterator(const InterleaveDataset& dataset, std::unique_ptr<DatasetIterator> input,
             const IteratorContext& context)
        : IteratorOf(dataset), input_(std::move(input)), function_(dataset.function_, context) {}

    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      while (input_ != nullptr || num_open_ > 0) {
        CARILLON_RETURN_IF_ERROR(context.CheckCancelled());
        if (place_ >= open_.size() && input_ == nullptr) {
          MoveOn();
          continue;
        }
        if (place_ >= open_.size()) open_.resize(place_ + 1);
        std::unique_ptr<Opened>& current = open_[place_];
        if (current != nullptr) {
          CARILLON_RETURN_IF_ERROR(
              current->iterator->GetNext(AtDepth(context, current->depth), element, end));
          if (!*end) {
            if (++taken_ >= dataset().block_length_) MoveOn();
            return absl::OkStatus();
          }
          current.reset();
          --num_open_;
          MoveOn();
        } else if (input_ != nullptr) {
          CARILLON_RETURN_IF_ERROR(Open(context, &current));
        } else {
          MoveOn();
        }
      }
      *end = true;
      return absl::OkStatus();
    }

   private:
    // A data set may be walked at very many places at once.
    struct Opened {
      explicit Opened(Allocator* allocator) : charge(allocator) {}
      MemoryCharge charge;
      int depth = 0;  // as contexts say it
      std::unique_ptr<DatasetIterator> iterator;
    };

    static IteratorContext AtDepth(IteratorContext context, int depth) {
      context.depth = depth;
      return context;
    }

    void MoveOn() {
      taken_ = 0;
      // Places that were never filled are behind the end of the input.
      const size_t places =
          input_ == nullptr ? open_.size() : static_cast<size_t>(dataset().cycle_length_);
      place_ = places == 0 ? 0 : (place_ + 1) % places;
    }

    Status Open(const IteratorContext& context, std::unique_ptr<Opened>* place) {
      Element args;
      bool end = false;
      CARILLON_RETURN_IF_ERROR(input_->GetNext(context, &args, &end));
      if (end) {
        input_.reset();
        return absl::OkStatus();
      }
      Element results;
      CARILLON_RETURN_IF_ERROR(function_.Run(context, std::move(args), &results));
      if (results.size() != 1)
        return InvalidArgument("the function must return a single dataset, not ", results.size(),
                               " tensors");
      CARILLON_ASSIGN_OR_RETURN(const DatasetPtr dataset_given, DatasetOf(results[0]));
      auto opened = std::make_unique<Opened>(context.allocator);
      // A function may find its data set in a list, in a queue, anywhere: the extent of this one
      // knows nothing of it. What is below this one by its extent is beside what is opened here.
      opened->depth =
          context.depth - (dataset().extent().depth - 1) + dataset_given->extent().depth;
      if (opened->depth > kMostDatasetDepth)
        return InvalidArgument("more than ", kMostDatasetDepth,
                               " data sets are walked inside of each other");
      CARILLON_RETURN_IF_ERROR(
          opened->charge.Add((dataset_given->extent().count + 1) * kIteratorBytes));
      CARILLON_ASSIGN_OR_RETURN(opened->iterator,
                                dataset_given->MakeIterator(AtDepth(context, opened->depth)));
      if (dataset().ahead_ > 0)
        opened->iterator = MakePrefetchIterator(std::move(opened->iterator), dataset().ahead_);
      *place = std::move(opened);
      ++num_open_;
      return absl::OkStatus();
    }

    std::unique_ptr<DatasetIterator> input_;  // null when it has ended
    const CapturedFunction::Call function_;
    std::vector<std::unique_ptr<Opened>> open_;  // by place; null where none is open
    size_t num_open_ = 0;
    size_t place_ = 0;
    int64_t taken_ = 0;  // of the current place, in this turn
  };
  const DatasetPtr input_;
  const CapturedFunction function_;
  const int64_t cycle_length_, block_length_, ahead_;
};

class FlatMapKernel final : public FunctionDatasetKernel {
 public:
  Status Start(const KernelRequest& request) { return Init(request, "f"); }

 private:
  StatusOr<DatasetPtr> Make(KernelContext& context, CapturedFunction function) override {
    CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
    return std::make_shared<InterleaveDataset>(std::move(input), std::move(function), 1,
                                               std::numeric_limits<int64_t>::max(), 0, spec());
  }
};

// InterleaveDataset and the parallel forms, whose last input says how many calls may run at once.
class InterleaveKernel final : public FunctionDatasetKernel {
 public:
  Status Start(const KernelRequest& request) {
    cycle_length_ = request.node.InputRange("cycle_length").first;
    is_parallel_ = request.node.op() != "InterleaveDataset";
    return Init(request, "f");
  }

 private:
  StatusOr<DatasetPtr> Make(KernelContext& context, CapturedFunction function) override {
    CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
    CARILLON_ASSIGN_OR_RETURN(int64_t cycle, Int64Input(context, cycle_length_, "cycle_length"));
    CARILLON_ASSIGN_OR_RETURN(const int64_t block,
                              Int64Input(context, cycle_length_ + 1, "block_length"));
    int64_t ahead = 0;
    if (is_parallel_) {
      CARILLON_ASSIGN_OR_RETURN(
          const int64_t calls, Int64Input(context, context.num_inputs() - 1, "num_parallel_calls"));
      if (calls < 1 && calls != -1)
        return InvalidArgument("num_parallel_calls is ", calls, " but must be greater than 0");
      if (cycle == -1) cycle = std::max(2, AvailableCores());
      if (calls != 1 && cycle <= kMostThreads) ahead = std::clamp<int64_t>(block, 1, kMostAhead);
    }
    if (cycle < 1) return InvalidArgument("cycle_length is ", cycle, " but must be greater than 0");
    if (block < 1) return InvalidArgument("block_length is ", block, " but must be greater than 0");
    return std::make_shared<InterleaveDataset>(std::move(input), std::move(function), cycle, block,
                                               ahead, spec());
  }

  static constexpr int64_t kMostThreads = 64, kMostAhead = 16;
  int cycle_length_ = 0;
  bool is_parallel_ = false;
};

}  // namespace

void AddDatasetFunctionKernels(KernelTable& table) {
  table.Add({
      {"MapDataset", "ref", FromFunctionDataset<MapKernel>},
      {"FilterDataset", "ref", FromFunctionDataset<FilterKernel>},
      {"FlatMapDataset", "ref", FromFunctionDataset<FlatMapKernel>},
      {"InterleaveDataset", "ref", FromFunctionDataset<InterleaveKernel>},
      {"ParallelInterleaveDatasetV2", "ref", FromFunctionDataset<InterleaveKernel>},
      {"ParallelInterleaveDatasetV3", "ref", FromFunctionDataset<InterleaveKernel>},
      {"ParallelInterleaveDatasetV4", "ref", FromFunctionDataset<InterleaveKernel>},
  });
}

}  // namespace carillon
