// Data sets that work ahead, on threads of their own: prefetch, and map with several calls at once.
#include <algorithm>
#include <deque>
#include <list>
#include <optional>
#include <thread>

#include "base/cores.h"
#include "base/strings.h"
#include "base/thread_budget.h"
#include "kernels/ref/dataset_kernels.h"
#include "kernels/work.h"

namespace carillon {
namespace {

// Runs the input on one thread, which starts with the first call that finds one to be had; without,
// nothing is read ahead.
//
// Invariants, under mutex_: buffer_ holds what was read and not yet given, at most buffer_size_,
// and charge_ counts it; when ended_ is set the thread reads no more, and while the last in buffer_
// is an error it waits: so there are never many of these.
class PrefetchIterator final : public DatasetIterator {
 public:
  PrefetchIterator(std::unique_ptr<DatasetIterator> input, int64_t buffer_size)
      : input_(std::move(input)), buffer_size_(static_cast<size_t>(buffer_size)) {}

  ~PrefetchIterator() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stop_.Stop();
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
    std::unique_lock lock(mutex_);
    if (!thread_.joinable()) {
      share_ = BudgetedThreads(&ThreadBudget::OfDataSets(), 1);
      if (share_.count() == 0) return input_->GetNext(context, element, end);
      context_ = {context.allocator, &stop_, context.functions, context.depth};
      charge_.emplace(context.allocator);
      thread_ = std::thread([this] { Read(); });
    }
    CARILLON_RETURN_IF_ERROR(WaitUnlessCancelled(lock, changed_, context.cancellation,
                                                 [this] { return !buffer_.empty() || ended_; }));
    *end = buffer_.empty();
    if (*end) return absl::OkStatus();
    const Status status = std::move(buffer_.front().status);
    if (status.ok()) charge_->Remove(buffer_.front().element);
    *element = std::move(buffer_.front().element);
    buffer_.pop_front();
    changed_.notify_all();
    return status;
  }

 private:
  struct Item {
    Status status;
    Element element;
  };

  void Read() {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      changed_.wait(lock, [this] {
        return stopping_ || buffer_.empty() ||
               (buffer_.size() < buffer_size_ && buffer_.back().status.ok());
      });
      if (stopping_) return;
      lock.unlock();
      Item item;
      bool end = false;
      item.status = RunOnAccount(context_.allocator, context_.cancellation,
                                 [&] { return input_->GetNext(context_, &item.element, &end); });
      lock.lock();
      if (item.status.ok() && end) {
        ended_ = true;
      } else {
        if (item.status.ok()) item.status = charge_->Add(item.element);
        if (!item.status.ok()) item.element = {};
        buffer_.push_back(std::move(item));
      }
      changed_.notify_all();
    }
  }

  const std::unique_ptr<DatasetIterator> input_;
  const size_t buffer_size_;
  StopSignal stop_;
  IteratorContext context_;  // of the thread
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<BufferCharge> charge_;  // from the first call on
  std::deque<Item> buffer_;
  bool ended_ = false;
  bool stopping_ = false;
  BudgetedThreads share_;  // for thread_
  std::thread thread_;
};

constexpr int64_t kAutotune = -1;
constexpr int64_t kMostAhead = 1 << 20;

class PrefetchDataset final : public GraphDataset {
 public:
  PrefetchDataset(DatasetPtr input, int64_t buffer_size, ElementSpec spec)
      : GraphDataset(std::move(spec)), input_(std::move(input)), buffer_size_(buffer_size) {}
  int64_t Cardinality() const override { return input_->Cardinality(); }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    CARILLON_ASSIGN_OR_RETURN(auto input, input_->MakeIterator(context));
    return buffer_size_ == 0 ? std::move(input)
                             : MakePrefetchIterator(std::move(input), buffer_size_);
  }

 private:
  const DatasetPtr input_;
  const int64_t buffer_size_;
};

StatusOr<DatasetPtr> MakePrefetch(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
  CARILLON_ASSIGN_OR_RETURN(int64_t size, Int64Input(context, 1, "buffer_size"));
  if (size < kAutotune)
    return InvalidArgument("buffer_size is ", size, " but must be at least 0, or -1");
  constexpr int64_t kUsual = 2;
  if (size == kAutotune) size = kUsual;
  return std::make_shared<PrefetchDataset>(std::move(input), std::min(size, kMostAhead),
                                           OutputSpec(context.node()));
}

class ParallelMapDataset final : public GraphDataset {
 public:
  ParallelMapDataset(DatasetPtr input, CapturedFunction function, int64_t calls, bool deterministic,
                     bool keeps_cardinality, ElementSpec spec)
      : GraphDataset(std::move(spec)),
        input_(std::move(input)),
        function_(std::move(function)),
        calls_(calls),
        deterministic_(deterministic),
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
  // Invariants: reading_ is held while the input is asked, so that calls_ has the order of the
  // input; calls_ holds, under mutex_, what was read and not yet given, at most `calls` of them;
  // charge_ counts the elements of those that are done, and nothing is read while one of them is an
  // error: so there are never many of these.
  class Iterator final : public IteratorOf<ParallelMapDataset> {
   public:
    Iterator(const ParallelMapDataset& dataset, std::unique_ptr<DatasetIterator> input,
             const IteratorContext& context)
        : IteratorOf(dataset), input_(std::move(input)), function_(dataset.function_, context) {}

    ~Iterator() override {
      {
        std::lock_guard lock(mutex_);
        stopping_ = true;
      }
      stop_.Stop();
      changed_.notify_all();
      for (std::thread& thread : threads_) thread.join();
    }

    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      std::unique_lock lock(mutex_);
      if (!Start(context)) return Map(context, element, end);
      auto ready = calls_.end();
      CARILLON_RETURN_IF_ERROR(WaitUnlessCancelled(lock, changed_, context.cancellation, [&] {
        ready = dataset().deterministic_ ? calls_.begin()
                                         : std::ranges::find_if(calls_, &CallState::done);
        if (ready == calls_.end()) return calls_.empty() && ended_;
        return ready->done;
      }));
      *end = ready == calls_.end();
      if (*end) return absl::OkStatus();
      const Status status = std::move(ready->status);
      if (status.ok()) {
        charge_->Remove(ready->element);
      } else {
        --errors_;
      }
      *element = std::move(ready->element);
      calls_.erase(ready);
      changed_.notify_all();
      return status;
    }

   private:
    struct CallState {
      bool done = false;
      Status status;
      Element element;
    };

    // False when there are no threads to be had.
    bool Start(const IteratorContext& context) {
      if (!threads_.empty()) return true;
      constexpr int64_t kMostThreads = 64;
      share_ = BudgetedThreads(&ThreadBudget::OfDataSets(),
                               static_cast<int>(std::min(dataset().calls_, kMostThreads)));
      if (share_.count() == 0) return false;
      context_ = {context.allocator, &stop_, context.functions, context.depth};
      charge_.emplace(context.allocator);
      for (int i = 0; i < share_.count(); ++i) threads_.emplace_back([this] { Work(); });
      return true;
    }

    // The next element, without working ahead.
    Status Map(const IteratorContext& context, Element* element, bool* end) {
      Element args;
      CARILLON_RETURN_IF_ERROR(input_->GetNext(context, &args, end));
      if (*end) return absl::OkStatus();
      CARILLON_RETURN_IF_ERROR(function_.Run(context, std::move(args), element));
      return CheckElement(dataset().spec(), *element);
    }

    void Work() {
      for (;;) {
        CallState* call = nullptr;
        Element args;
        {
          std::lock_guard reading(reading_);
          {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] {
              return stopping_ || ended_ ||
                     (errors_ == 0 && static_cast<int64_t>(calls_.size()) < dataset().calls_);
            });
            if (stopping_ || ended_) return;
          }
          bool end = false;
          const Status status = RunOnAccount(context_.allocator, context_.cancellation, [&] {
            return input_->GetNext(context_, &args, &end);
          });
          std::lock_guard lock(mutex_);
          if (status.ok() && end) {
            ended_ = true;
            changed_.notify_all();
            return;
          }
          call = &calls_.emplace_back();
          if (!status.ok()) {
            Finish(call, status, {});
            continue;
          }
        }
        Element element;
        const Status status =
            RunOnAccount(context_.allocator, context_.cancellation, [&]() -> Status {
              CARILLON_RETURN_IF_ERROR(function_.Run(context_, std::move(args), &element));
              return CheckElement(dataset().spec(), element);
            });
        std::lock_guard lock(mutex_);
        Finish(call, status, std::move(element));
      }
    }

    // Under mutex_.
    void Finish(CallState* call, Status status, Element element) {
      if (status.ok()) status = charge_->Add(element);
      if (status.ok()) {
        call->element = std::move(element);
      } else {
        ++errors_;
      }
      call->status = std::move(status);
      call->done = true;
      changed_.notify_all();
    }

    const std::unique_ptr<DatasetIterator> input_;
    const CapturedFunction::Call function_;
    StopSignal stop_;
    IteratorContext context_;  // of the threads
    std::mutex reading_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<BufferCharge> charge_;  // from the first call on
    std::list<CallState> calls_;
    int errors_ = 0;  // in calls_
    bool ended_ = false;
    bool stopping_ = false;
    BudgetedThreads share_;  // for threads_
    std::vector<std::thread> threads_;
  };

  const DatasetPtr input_;
  const CapturedFunction function_;
  const int64_t calls_;
  const bool deterministic_, keeps_cardinality_;
};

StatusOr<int64_t> CheckCalls(int64_t calls) {
  if (calls == kAutotune) return std::max(2, AvailableCores());
  if (calls < 1)
    return InvalidArgument("num_parallel_calls is ", calls, " but must be greater than 0");
  return std::min(calls, kMostAhead);
}

// ParallelMapDataset, whose number of calls is an int32, and V2.
class ParallelMapKernel final : public FunctionDatasetKernel {
 public:
  Status Start(const KernelRequest& request) {
    deterministic_ = request.node.FindAttr("sloppy") != nullptr
                         ? !request.attr<bool>("sloppy")
                         : request.attr<std::string>("deterministic") != "false";
    keeps_cardinality_ = request.attr<bool>("preserve_cardinality");
    return Init(request, "f");
  }

 private:
  StatusOr<DatasetPtr> Make(KernelContext& context, CapturedFunction function) override {
    CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
    const Tensor& calls = context.input(context.num_inputs() - 1);
    if (calls.rank() != 0) return InvalidArgument("num_parallel_calls must be a scalar");
    CARILLON_ASSIGN_OR_RETURN(const int64_t number, CheckCalls(calls.dtype() == DType::kInt32
                                                                   ? calls.data<int32_t>()[0]
                                                                   : calls.data<int64_t>()[0]));
    return MakeParallelMap(std::move(input), std::move(function), number, deterministic_,
                           keeps_cardinality_, spec());
  }
  bool deterministic_ = true, keeps_cardinality_ = false;
};

class MapAndBatchKernel final : public FunctionDatasetKernel {
 public:
  Status Start(const KernelRequest& request) {
    batch_size_ = request.node.InputRange("batch_size").first;
    keeps_cardinality_ = request.attr<bool>("preserve_cardinality");
    return Init(request, "f");
  }

 private:
  StatusOr<DatasetPtr> Make(KernelContext& context, CapturedFunction function) override {
    CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
    CARILLON_ASSIGN_OR_RETURN(const int64_t size, Int64Input(context, batch_size_, "batch_size"));
    CARILLON_ASSIGN_OR_RETURN(int64_t calls,
                              Int64Input(context, batch_size_ + 1, "num_parallel_calls"));
    CARILLON_ASSIGN_OR_RETURN(const bool drop_remainder,
                              BoolInput(context, batch_size_ + 2, "drop_remainder"));
    if (size < 1) return InvalidArgument("batch_size is ", size, " but must be greater than zero");
    CARILLON_ASSIGN_OR_RETURN(calls, CheckCalls(calls));
    DatasetPtr mapped = MakeParallelMap(
        std::move(input), std::move(function), calls, /*deterministic=*/true, keeps_cardinality_,
        {spec().dtypes, std::vector<PartialShape>(spec().dtypes.size())});
    return MakeBatch(std::move(mapped), size, drop_remainder, spec());
  }
  int batch_size_ = 0;
  bool keeps_cardinality_ = false;
};

}  // namespace

std::unique_ptr<DatasetIterator> MakePrefetchIterator(std::unique_ptr<DatasetIterator> input,
                                                      int64_t buffer_size) {
  return std::make_unique<PrefetchIterator>(std::move(input), buffer_size);
}

DatasetPtr MakeParallelMap(DatasetPtr input, CapturedFunction function, int64_t calls,
                           bool deterministic, bool keeps_cardinality, ElementSpec spec) {
  return std::make_shared<ParallelMapDataset>(std::move(input), std::move(function), calls,
                                              deterministic, keeps_cardinality, std::move(spec));
}

void AddDatasetParallelKernels(KernelTable& table) {
  table.Add({
      {"PrefetchDataset", "ref", FromFunction<RunDataset<MakePrefetch>>},
      {"ParallelMapDataset", "ref", FromFunctionDataset<ParallelMapKernel>},
      {"ParallelMapDatasetV2", "ref", FromFunctionDataset<ParallelMapKernel>},
      {"MapAndBatchDataset", "ref", FromFunctionDataset<MapAndBatchKernel>},
  });
}

}  // namespace carillon
