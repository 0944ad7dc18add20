// Data sets: immutable descriptions of sequences of elements, and the iterators that walk them.
//
// An element is a list of tensors (its components). Data sets travel between ops as variants and
// refer to the data sets that they are made from; iterators own the iterators of those.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "carillon/tensor.h"
#include "kernels/renewable_function.h"
#include "kernels/services.h"
#include "tensor/object.h"

namespace carillon {

// The functions as one root iterator calls them: what they keep between calls (the state of random
// ops) begins with the iterator and lasts as long as it. Thread-safe.
class IteratorFunctions {
 public:
  std::shared_ptr<CallableFunction> Find(const std::shared_ptr<CallableFunction>& function);

 private:
  std::mutex mutex_;
  std::map<std::shared_ptr<CallableFunction>, std::shared_ptr<CallableFunction>> functions_;
};

// What a call of an iterator may use. Allocator and functions live as long as the root iterator, so
// that threads of its own may keep them.
struct IteratorContext {
  Allocator* allocator = nullptr;
  Cancellation* cancellation = nullptr;  // ends the call
  IteratorFunctions* functions = nullptr;
  int depth = 0;  // of the iterators inside of each other, down to the last one below this call

  // To be asked wherever something goes on for as long as elements come.
  Status CheckCancelled() const {
    if (!cancellation->IsCancelled()) return absl::OkStatus();
    return absl::CancelledError("the step was cancelled");
  }
};

using Element = std::vector<Tensor>;

// Not thread-safe: whoever shares an iterator serialises the calls.
class DatasetIterator {
 public:
  // Ends what it started: no thread of its own is left.
  virtual ~DatasetIterator() = default;
  // The next element; or *end, and then again in every later call. Blocks. After an error the
  // iterator may be asked again.
  virtual Status GetNext(const IteratorContext& context, Element* element, bool* end) = 0;
};

// What the elements of a data set are like.
struct ElementSpec {
  std::vector<DType> dtypes;
  std::vector<PartialShape> shapes;
};

class GraphDataset : public VariantValue, public std::enable_shared_from_this<GraphDataset> {
 public:
  static constexpr int64_t kInfinite = -1;
  static constexpr int64_t kUnknown = -2;

  explicit GraphDataset(ElementSpec spec) : spec_(std::move(spec)) {}
  const ElementSpec& spec() const { return spec_; }
  virtual StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const = 0;
  // How many elements there are, as far as that is known without walking them.
  virtual int64_t Cardinality() const { return kUnknown; }
  std::string DebugString() const override { return "dataset"; }

  // What walking it may take: data sets inside of each other, and all of them, each as often as
  // it is used.
  struct Extent {
    int depth = 1;
    int64_t count = 1;
  };
  const Extent& extent() const { return extent_; }
  void set_extent(Extent extent) const { extent_ = extent; }  // before anybody else has it

 private:
  const ElementSpec spec_;
  mutable Extent extent_;
};

using DatasetPtr = std::shared_ptr<const GraphDataset>;

// An iterator that keeps its data set alive.
template <typename D>
class IteratorOf : public DatasetIterator {
 public:
  explicit IteratorOf(const D& dataset)
      : dataset_(std::static_pointer_cast<const D>(dataset.shared_from_this())) {}

 protected:
  const D& dataset() const { return *dataset_; }

 private:
  const std::shared_ptr<const D> dataset_;
};

// A cancellation that kernels can give out themselves, to threads of their own.
//
// Invariants: as those of a step's: callbacks_ holds what neither ran nor was deregistered.
class StopSignal final : public Cancellation {
 public:
  void Stop();
  // Takes no lock: operator new asks, whoever holds which.
  bool IsCancelled() const override { return stopped_.load(std::memory_order_acquire); }
  bool Register(uint64_t* token, std::function<void()> callback) override;
  bool Deregister(uint64_t token) override;

 private:
  std::mutex mutex_;
  std::condition_variable callback_done_;
  std::atomic<bool> stopped_ = false;  // set under mutex_
  bool running_ = false;               // callbacks
  uint64_t next_token_ = 1;
  std::map<uint64_t, std::function<void()>> callbacks_;
};

// Waits on `changed` until ready(), which is called under `lock`. Cancelled when the call was.
template <typename Ready>
Status WaitUnlessCancelled(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                           Cancellation* cancellation, const Ready& ready) {
  std::mutex* mutex = lock.mutex();
  while (!ready()) {
    if (cancellation->IsCancelled())
      return absl::CancelledError("the step was cancelled while it waited for an element");
    // The callback takes the lock, so it is registered and taken back without it. Others may be
    // faster meanwhile: what is ready now need not be so afterwards.
    lock.unlock();
    uint64_t token = 0;
    const bool registered = cancellation->Register(&token, [mutex, &changed] {
      std::lock_guard guard(*mutex);
      changed.notify_all();
    });
    lock.lock();
    changed.wait(lock, [&] { return ready() || cancellation->IsCancelled(); });
    lock.unlock();
    if (registered) cancellation->Deregister(token);
    lock.lock();
  }
  return absl::OkStatus();
}

}  // namespace carillon
