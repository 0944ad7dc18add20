// Accumulator: the resource behind ConditionalAccumulator and SparseConditionalAccumulator, on
// which synchronous training stands. Workers add gradients; whoever takes waits for enough of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "carillon/shape.h"
#include "carillon/tensor.h"
#include "kernels/services.h"
#include "kernels/waiter.h"
#include "tensor/allocator.h"
#include "tensor/object.h"

namespace carillon {

struct AccumulatorOptions {
  std::string name;  // for messages
  DType dtype = DType::kInvalid;
  PartialShape shape;  // of a gradient
  bool mean = true;    // hands out the mean, not the sum
  bool sparse = false;
};

// A gradient, or what was accumulated: rows of a larger tensor when there are indices.
struct AccumulatedGradient {
  Tensor values;
  Tensor indices;  // int64 vector; only of sparse ones
  Tensor shape;    // of the whole, an int64 vector, -1 where unknown; holds nothing when not given
};

// Invariants, under mutex_ whenever it is released:
//   1. count_ gradients were added since the last one was taken; with none, the sum holds nothing;
//   2. the first of takers_ wants more than count_.
class Accumulator : public Resource, public std::enable_shared_from_this<Accumulator> {
 public:
  using TakeDone = std::function<void(const Status& status, AccumulatedGradient gradient)>;

  const AccumulatorOptions& options() const { return options_; }

  // Adds a gradient that was computed at `local_step`; one from before the accumulator's step is
  // dropped silently, whatever it is. Takes the memory over when nobody else holds it, so it must
  // not be step memory. InvalidArgument when it does not fit the others, ResourceExhausted, with
  // nothing added, when there is no memory for it.
  Status Apply(int64_t local_step, AccumulatedGradient gradient, Allocator* allocator);
  // Waits until at least `required` > 0 gradients are in; then hands their sum or mean out, counts
  // the step up and begins anew. `done` runs under no lock, on the thread that brought the last
  // gradient, or on this one. `allocator` and `cancellation` (may be null) live until then.
  void Take(int64_t required, Allocator* allocator, Cancellation* cancellation, TakeDone done);
  int64_t NumAccumulated() const;
  void SetGlobalStep(int64_t step);

  std::string DebugString() const override;

 protected:
  explicit Accumulator(AccumulatorOptions options) : options_(std::move(options)) {}
  // Each under mutex_. `count` gradients are in the sum.
  virtual Status Check(const AccumulatedGradient& gradient) const = 0;
  virtual Status Add(AccumulatedGradient gradient, int64_t count, Allocator* allocator) = 0;
  virtual StatusOr<AccumulatedGradient> Release(int64_t count, Allocator* allocator) = 0;

 private:
  struct Taker;
  void Cancel(const std::shared_ptr<Taker>& taker);
  void ServeTakers(Finished* finished);
  Status Serve(Taker& taker);

  const AccumulatorOptions options_;
  mutable std::mutex mutex_;
  int64_t step_ = 0;
  int64_t count_ = 0;
  WaitList<Taker> takers_;
};

std::shared_ptr<Accumulator> MakeDenseAccumulator(AccumulatorOptions options);
// What it keeps for each row besides the row itself counts against the limit of `allocator`; null:
// not.
std::shared_ptr<Accumulator> MakeSparseAccumulator(AccumulatorOptions options,
                                                   Allocator* allocator = nullptr);

}  // namespace carillon
