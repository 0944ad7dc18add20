// Shuffling, in the order that TensorFlow gives for the same seeds.
#include <algorithm>
#include <deque>
#include <random>

#include "base/strings.h"
#include "base/throw.h"
#include "kernels/named_resource.h"
#include "kernels/philox.h"
#include "kernels/ref/dataset_kernels.h"

namespace carillon {
namespace {

using Seeds = std::pair<uint64_t, uint64_t>;

// Gives each walk through a data set its seeds: the next ones of a sequence, or always the same.
// Invariant: words_ is touched under mutex_.
class SeedGenerator final : public Resource {
 public:
  SeedGenerator(Seeds seeds, bool reshuffle)
      : seeds_(seeds),
        reshuffle_(reshuffle),
        words_(Philox::FromSeeds(seeds.first, seeds.second)) {}

  Seeds Next() {
    if (!reshuffle_) return seeds_;
    std::lock_guard lock(mutex_);
    const uint64_t first = words_.Next();
    return {first, words_.Next()};
  }
  std::string DebugString() const override { return "seed generator"; }

 private:
  const Seeds seeds_;
  const bool reshuffle_;
  std::mutex mutex_;
  PhiloxWords words_;
};

// Both 0: as good as unseeded.
Seeds SeedsOf(int64_t seed, int64_t seed2) {
  if (seed != 0 || seed2 != 0) return {static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2)};
  std::random_device random;
  const auto draw = [&] { return (static_cast<uint64_t>(random()) << 32) | random(); };
  return {draw(), draw()};
}

// Holds up to buffer_size elements and gives a random one of the oldest epoch among them. With
// `count` other than 1 the buffer fills on with the next epochs.
class ShuffleDataset final : public GraphDataset {
 public:
  ShuffleDataset(DatasetPtr input, int64_t buffer_size, int64_t count,
                 std::shared_ptr<SeedGenerator> seeds, ElementSpec spec)
      : GraphDataset(std::move(spec)),
        input_(std::move(input)),
        buffer_size_(buffer_size),
        count_(count),
        seeds_(std::move(seeds)) {}

  int64_t Cardinality() const override {
    const int64_t n = input_->Cardinality();
    if (count_ == 1) return n;
    if (count_ < 0) return n == 0 ? 0 : kInfinite;
    int64_t product;
    if (count_ == 0) return 0;
    return n < 0 ? n : __builtin_mul_overflow(n, count_, &product) ? kUnknown : product;
  }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    return std::make_unique<Iterator>(*this, context.allocator);
  }

 private:
  class Iterator final : public IteratorOf<ShuffleDataset> {
   public:
    Iterator(const ShuffleDataset& dataset, Allocator* allocator)
        : IteratorOf(dataset), random_(Philox()), charge_(allocator) {
      Reseed();
    }

    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      Status filled;
      const Status thrown = CatchAsStatus([&] { filled = Fill(context); });
      if (!thrown.ok()) filled = thrown;
      if (absl::IsResourceExhausted(filled)) Drop();
      CARILLON_RETURN_IF_ERROR(filled);
      *end = buffer_.empty();
      if (*end) return absl::OkStatus();
      for (; epochs_.front() == 0; epochs_.pop_front()) ++past_;
      for (; past_ > 0; --past_) Reseed();
      const size_t chosen = random_.Next() % epochs_.front();
      charge_.Remove(buffer_[chosen]);
      *element = std::move(buffer_[chosen]);
      std::swap(buffer_[chosen], buffer_.front());
      buffer_.pop_front();
      --epochs_.front();
      return absl::OkStatus();
    }

   private:
    // A buffer that has no memory to grow gives back what it has: its elements are lost.
    void Drop() {
      buffer_.clear();
      charge_.RemoveAll();
      std::ranges::fill(epochs_, 0);
    }

    void Reseed() {
      const Seeds seeds = dataset().seeds_->Next();
      random_ = PhiloxWords(Philox::FromSeeds(seeds.first, seeds.second));
    }

    Status Fill(const IteratorContext& context) {
      constexpr size_t kMostEpochs = 3;
      const int64_t count = dataset().count_;
      while (!has_ended_ && static_cast<int64_t>(buffer_.size()) < dataset().buffer_size_) {
        if (input_ == nullptr) {
          if (count >= 0 && started_ >= count) {
            has_ended_ = true;
            break;
          }
          if (epochs_.size() > kMostEpochs && !buffer_.empty()) break;
          CARILLON_RETURN_IF_ERROR(context.CheckCancelled());
          CARILLON_ASSIGN_OR_RETURN(auto input, dataset().input_->MakeIterator(context));
          if (buffer_.empty()) {  // there may be any number of empty ones
            past_ += static_cast<int64_t>(epochs_.size());
            epochs_.clear();
          }
          epochs_.push_back(0);
          input_ = std::move(input);
          ++started_;
          epoch_is_empty_ = true;
        }
        Element element;
        bool end = false;
        CARILLON_RETURN_IF_ERROR(input_->GetNext(context, &element, &end));
        if (!end) {
          epoch_is_empty_ = false;
          CARILLON_RETURN_IF_ERROR(charge_.Add(element));
          {
            const WorkPause pause;
            buffer_.push_back(std::move(element));
          }
          ++epochs_.back();
          CARILLON_RETURN_IF_ERROR(context.CheckCancelled());
          continue;
        }
        input_.reset();
        if (epoch_is_empty_ && count < 0) has_ended_ = true;  // nothing, for ever
      }
      return absl::OkStatus();
    }

    PhiloxWords random_;
    std::unique_ptr<DatasetIterator> input_;
    int64_t started_ = 0;  // epochs
    bool epoch_is_empty_ = true;
    bool has_ended_ = false;
    BufferCharge charge_;
    std::deque<Element> buffer_;
    std::deque<size_t> epochs_;  // how many elements of buffer_ are of each, oldest first
    int64_t past_ = 0;           // epochs that are over, and were not yet followed by new seeds
  };

  const DatasetPtr input_;
  const int64_t buffer_size_, count_;
  const std::shared_ptr<SeedGenerator> seeds_;
};

// Where the inputs stand in each op; -1: there is none.
struct ShuffleInputs {
  int seed = -1;
  int count = -1;
  int generator = -1;
};

StatusOr<DatasetPtr> MakeShuffle(KernelContext& context, const ShuffleInputs& inputs) {
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
  CARILLON_ASSIGN_OR_RETURN(int64_t buffer_size, Int64Input(context, 1, "buffer_size"));
  if (buffer_size < 1 && buffer_size != -2)
    return InvalidArgument("buffer_size is ", buffer_size, " but must be greater than 0");
  if (buffer_size == -2) buffer_size = std::numeric_limits<int64_t>::max();  // all elements
  int64_t count = 1;
  if (inputs.count >= 0) {
    CARILLON_ASSIGN_OR_RETURN(count, Int64Input(context, inputs.count, "count"));
    if (count < -1 || count == 0)
      return InvalidArgument("count is ", count, " but must be greater than 0, or -1");
  }
  std::shared_ptr<SeedGenerator> generator;
  if (inputs.generator >= 0) {
    const auto found = context.Resource<SeedGenerator>(inputs.generator);
    if (found.ok()) generator = *found;
    if (generator == nullptr && inputs.seed < 0) return found.status();
  }
  if (generator == nullptr) {
    CARILLON_ASSIGN_OR_RETURN(const int64_t seed, Int64Input(context, inputs.seed, "seed"));
    CARILLON_ASSIGN_OR_RETURN(const int64_t seed2, Int64Input(context, inputs.seed + 1, "seed2"));
    generator = std::make_shared<SeedGenerator>(
        SeedsOf(seed, seed2), context.node().attr<bool>("reshuffle_each_iteration"));
  }
  return std::make_shared<ShuffleDataset>(std::move(input), buffer_size, count,
                                          std::move(generator), OutputSpec(context.node()));
}

StatusOr<DatasetPtr> MakeShuffleV1(KernelContext& context) {
  return MakeShuffle(context, {.seed = 2});
}
StatusOr<DatasetPtr> MakeShuffleV2(KernelContext& context) {
  return MakeShuffle(context, {.generator = 2});
}
StatusOr<DatasetPtr> MakeShuffleV3(KernelContext& context) {
  return MakeShuffle(context, {.seed = 2, .generator = 4});
}
StatusOr<DatasetPtr> MakeShuffleAndRepeat(KernelContext& context) {
  return MakeShuffle(context, {.seed = 2, .count = 4});
}
StatusOr<DatasetPtr> MakeShuffleAndRepeatV2(KernelContext& context) {
  return MakeShuffle(context, {.seed = 2, .count = 4, .generator = 5});
}

Status RunSeedGenerator(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t seed, Int64Input(context, 0, "seed"));
  CARILLON_ASSIGN_OR_RETURN(const int64_t seed2, Int64Input(context, 1, "seed2"));
  bool reshuffle = true;
  if (context.num_inputs() > 2) {
    CARILLON_ASSIGN_OR_RETURN(reshuffle, BoolInput(context, 2, "reshuffle"));
  }
  CARILLON_ASSIGN_OR_RETURN(auto generator,
                            MakeOnAccount(context.services().allocator, "",
                                          [&]() -> StatusOr<std::shared_ptr<SeedGenerator>> {
                                            return std::make_shared<SeedGenerator>(
                                                SeedsOf(seed, seed2), reshuffle);
                                          }));
  SetAnonymousResource(context, std::move(generator));
  return absl::OkStatus();
}

}  // namespace

void AddDatasetShuffleKernels(KernelTable& table) {
  table.Add({
      {"ShuffleDataset", "ref", FromFunction<RunDataset<MakeShuffleV1>>},
      {"ShuffleDatasetV2", "ref", FromFunction<RunDataset<MakeShuffleV2>>},
      {"ShuffleDatasetV3", "ref", FromFunction<RunDataset<MakeShuffleV3>>},
      {"ShuffleAndRepeatDataset", "ref", FromFunction<RunDataset<MakeShuffleAndRepeat>>},
      {"ShuffleAndRepeatDatasetV2", "ref", FromFunction<RunDataset<MakeShuffleAndRepeatV2>>},
      {"AnonymousSeedGenerator", "ref", FromFunction<RunSeedGenerator>},
      {"AnonymousRandomSeedGenerator", "ref", FromFunction<RunSeedGenerator>},
      {"DummySeedGenerator", "ref", FromFunction<RunNoResource>},
      {"DeleteSeedGenerator", "ref", FromFunction<RunNothing>},
      {"DeleteRandomSeedGenerator", "ref", FromFunction<RunNothing>},
      {"DummyIterationCounter", "ref", FromFunction<RunNoResource>},
  });
}

}  // namespace carillon
