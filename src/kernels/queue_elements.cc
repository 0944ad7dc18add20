// The order in which queues of each kind give their elements back, and what makes a queue valid.
#include <algorithm>
#include <deque>
#include <random>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "kernels/philox.h"
#include "kernels/queue.h"

namespace carillon {
namespace {

// All are in deques, which hold no more than what is in them: vectors would keep the memory of the
// most that ever was.

class FifoElements final : public QueueElements {
 public:
  int64_t size() const override { return static_cast<int64_t>(tuples_.size()); }
  void Push(QueueTuple tuple) override { tuples_.push_back(std::move(tuple)); }
  QueueTuple Pop() override {
    QueueTuple tuple = std::move(tuples_.front());
    tuples_.pop_front();
    return tuple;
  }
  void Return(std::vector<QueueTuple> tuples) override {
    tuples_.insert(tuples_.begin(), std::make_move_iterator(tuples.begin()),
                   std::make_move_iterator(tuples.end()));
  }

 private:
  std::deque<QueueTuple> tuples_;
};

// With the same seeds the same choice as TensorFlow's: the next 32 bits of Philox modulo the size,
// the last element then takes the chosen one's place.
class ShuffledElements final : public QueueElements {
 public:
  ShuffledElements(uint64_t seed, uint64_t seed2) : words_(Start(seed, seed2)) {}
  int64_t size() const override { return static_cast<int64_t>(tuples_.size()); }
  void Push(QueueTuple tuple) override { tuples_.push_back(std::move(tuple)); }
  QueueTuple Pop() override {
    const size_t chosen = words_.Next() % tuples_.size();
    std::swap(tuples_[chosen], tuples_.back());
    QueueTuple tuple = std::move(tuples_.back());
    tuples_.pop_back();
    return tuple;
  }
  void Return(std::vector<QueueTuple> tuples) override {
    for (QueueTuple& tuple : tuples) Push(std::move(tuple));
  }

 private:
  static Philox Start(uint64_t seed, uint64_t seed2) {
    if (seed == 0 && seed2 == 0) {
      std::random_device entropy;
      seed = uint64_t{entropy()} << 32 | entropy();
      seed2 = uint64_t{entropy()} << 32 | entropy();
    }
    return Philox::FromSeeds(seed, seed2);
  }
  std::deque<QueueTuple> tuples_;
  PhiloxWords words_;
};

// A heap, the smallest priority (component 0) on top. Elements of equal priority come out in the
// order that the heap algorithms of the C++ library leave them in, which is TensorFlow's.
class PrioritizedElements final : public QueueElements {
 public:
  int64_t size() const override { return static_cast<int64_t>(heap_.size()); }
  void Push(QueueTuple tuple) override {
    heap_.push_back(std::move(tuple));
    std::push_heap(heap_.begin(), heap_.end(), ComesLater);
  }
  QueueTuple Pop() override {
    std::pop_heap(heap_.begin(), heap_.end(), ComesLater);
    QueueTuple tuple = std::move(heap_.back());
    heap_.pop_back();
    return tuple;
  }
  void Return(std::vector<QueueTuple> tuples) override {
    for (QueueTuple& tuple : tuples) Push(std::move(tuple));
  }

 private:
  static bool ComesLater(const QueueTuple& a, const QueueTuple& b) {
    return a[0].scalar<int64_t>() > b[0].scalar<int64_t>();
  }
  std::deque<QueueTuple> heap_;
};

std::string ShapesText(const std::vector<PartialShape>& shapes) {
  return StrCat("[",
                absl::StrJoin(shapes, ", ",
                              [](std::string* out, const PartialShape& shape) {
                                out->append(shape.ToString());
                              }),
                "]");
}

std::string TypesText(const std::vector<DType>& types) {
  return absl::StrJoin(types, ", ",
                       [](std::string* out, DType type) { out->append(DTypeName(type)); });
}

}  // namespace

std::unique_ptr<QueueElements> MakeQueueElements(const QueueOptions& options) {
  switch (options.kind) {
    case QueueKind::kRandomShuffle:
      return std::make_unique<ShuffledElements>(options.seed, options.seed2);
    case QueueKind::kPriority:
      return std::make_unique<PrioritizedElements>();
    default:
      return std::make_unique<FifoElements>();
  }
}

const char* QueueOptions::KindName() const {
  switch (kind) {
    case QueueKind::kRandomShuffle:
      return "RandomShuffleQueue";
    case QueueKind::kPaddingFifo:
      return "PaddingFIFOQueue";
    case QueueKind::kPriority:
      return "PriorityQueue";
    default:
      return "FIFOQueue";
  }
}

Status QueueOptions::Check() const {
  const bool pads = kind == QueueKind::kPaddingFifo;
  if (pads ? shapes.size() != types.size() : !shapes.empty() && shapes.size() != types.size()) {
    return InvalidArgument(KindName(), " has ", types.size(), " component types but ",
                           shapes.size(), " shapes");
  }
  for (const PartialShape& shape : shapes) {
    if (!shape.has_rank()) return InvalidArgument("shape <unknown> must have known rank");
    if (!pads && !shape.IsFullyKnown()) {
      return InvalidArgument("Shape ", shape.ToString(), " is not fully defined");
    }
  }
  if (min_after_dequeue < 0) {
    return InvalidArgument("min_after_dequeue ", min_after_dequeue, " must be >= 0");
  }
  if (capacity >= 0 && min_after_dequeue > 0 && min_after_dequeue >= capacity) {
    return InvalidArgument("min_after_dequeue ", min_after_dequeue, " must be < capacity ",
                           capacity);
  }
  return absl::OkStatus();
}

Status QueueOptions::CheckSameAs(const QueueOptions& existing) const {
  const auto differs = [&](std::string_view what, const auto& theirs, const auto& ours) {
    return InvalidArgument("Shared queue '", name, "' has ", what, " ", theirs, " but requested ",
                           what, " were ", ours);
  };
  if (kind != existing.kind) return differs("kind", existing.KindName(), KindName());
  if (capacity != existing.capacity) return differs("capacity", existing.capacity, capacity);
  if (types != existing.types)
    return differs("component types", TypesText(existing.types), TypesText(types));
  if (shapes != existing.shapes)
    return differs("component shapes", ShapesText(existing.shapes), ShapesText(shapes));
  if (min_after_dequeue != existing.min_after_dequeue)
    return differs("min_after_dequeue", existing.min_after_dequeue, min_after_dequeue);
  const bool random = (seed | seed2) == 0;
  if (!random && (seed != existing.seed || seed2 != existing.seed2))
    return differs("random seeds", StrCat("(", existing.seed, ", ", existing.seed2, ")"),
                   StrCat("(", seed, ", ", seed2, ")"));
  return absl::OkStatus();
}

}  // namespace carillon
