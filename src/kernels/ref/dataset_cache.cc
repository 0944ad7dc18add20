// Caches: elements are made once and kept in memory.
#include <deque>
#include <mutex>

#include "base/strings.h"
#include "base/throw.h"
#include "kernels/named_resource.h"
#include "kernels/ref/dataset_kernels.h"

namespace carillon {
namespace {

// Elements may be handles of caches, whose elements may be others: so these end as variants do.
struct CachedElements final : VariantValue {
  explicit CachedElements(Allocator* allocator) : charge(allocator) {}
  std::string DebugString() const override { return "elements of a dataset"; }
  BufferCharge charge;
  std::deque<Element> elements;
};

// Elements that were seen once, to be given again. Complete when a walk came to the end.
// Invariant: elements_ is set once, under mutex_, and never changed.
class MemoryCache final : public Resource {
 public:
  ~MemoryCache() override {
    const WorkPause pause;
    const Variant ends(std::move(elements_));  // after the elements that have kept this one, if any
  }
  std::shared_ptr<const CachedElements> Find() const {
    std::lock_guard lock(mutex_);
    return elements_;
  }
  void Complete(std::shared_ptr<const CachedElements> elements) {
    std::lock_guard lock(mutex_);
    if (elements_ == nullptr) elements_ = std::move(elements);
  }
  std::string DebugString() const override { return "cache of dataset elements"; }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const CachedElements> elements_;
};

class CacheDataset final : public GraphDataset {
 public:
  CacheDataset(DatasetPtr input, std::shared_ptr<MemoryCache> cache, ElementSpec spec)
      : GraphDataset(std::move(spec)), input_(std::move(input)), cache_(std::move(cache)) {}
  int64_t Cardinality() const override { return input_->Cardinality(); }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    auto iterator = std::make_unique<Iterator>(*this);
    iterator->cached_ = cache_->Find();
    if (iterator->cached_ == nullptr) {
      CARILLON_ASSIGN_OR_RETURN(iterator->input_, input_->MakeIterator(context));
      iterator->seen_ = std::make_shared<CachedElements>(context.allocator);
    }
    return iterator;
  }

 private:
  struct Iterator final : IteratorOf<CacheDataset> {
    using IteratorOf::IteratorOf;
    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      if (cached_ != nullptr) {
        *end = next_ >= cached_->elements.size();
        if (!*end) *element = cached_->elements[next_++];
        return absl::OkStatus();
      }
      *end = input_ == nullptr;
      if (*end) return absl::OkStatus();
      Status status;
      const Status thrown = CatchAsStatus([&] { status = ReadAndKeep(context, element, end); });
      if (!thrown.ok()) status = thrown;
      // What has no memory for all elements gives back those that it has, and keeps no more. Nor
      // does what a step has left half-way: its element may be lost.
      if (absl::IsResourceExhausted(status) ||
          (!status.ok() && context.cancellation->IsCancelled()))
        seen_.reset();
      CARILLON_RETURN_IF_ERROR(status);
      if (!*end) return absl::OkStatus();
      input_.reset();
      if (seen_ == nullptr) return absl::OkStatus();
      dataset().cache_->Complete(std::move(seen_));
      cached_ = dataset().cache_->Find();
      next_ = cached_->elements.size();
      return absl::OkStatus();
    }

    Status ReadAndKeep(const IteratorContext& context, Element* element, bool* end) {
      CARILLON_RETURN_IF_ERROR(input_->GetNext(context, element, end));
      if (*end || seen_ == nullptr) return absl::OkStatus();
      Element copy = *element;
      CARILLON_RETURN_IF_ERROR(seen_->charge.Add(copy));
      const WorkPause pause;
      seen_->elements.push_back(std::move(copy));
      return absl::OkStatus();
    }

    std::shared_ptr<const CachedElements> cached_;
    size_t next_ = 0;
    std::unique_ptr<DatasetIterator> input_;  // null when it has ended
    std::shared_ptr<CachedElements> seen_;    // null when it would not be all
  };
  const DatasetPtr input_;
  const std::shared_ptr<MemoryCache> cache_;
};

StatusOr<DatasetPtr> MakeCache(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr input, DatasetInput(context, 0));
  CARILLON_ASSIGN_OR_RETURN(const std::string file, StringInput(context, 1, "filename"));
  if (!file.empty())
    return Unimplemented("datasets are cached in memory only, not in the file '", file, "'");
  std::shared_ptr<MemoryCache> cache;
  if (context.num_inputs() > 2) {
    if (const auto found = context.Resource<MemoryCache>(2); found.ok()) cache = *found;
  }
  if (cache == nullptr) cache = std::make_shared<MemoryCache>();
  return std::make_shared<CacheDataset>(std::move(input), std::move(cache),
                                        OutputSpec(context.node()));
}

Status RunMemoryCache(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(auto cache,
                            MakeOnAccount(context.services().allocator, "",
                                          []() -> StatusOr<std::shared_ptr<MemoryCache>> {
                                            return std::make_shared<MemoryCache>();
                                          }));
  SetAnonymousResource(context, std::move(cache));
  return absl::OkStatus();
}

}  // namespace

void AddDatasetCacheKernels(KernelTable& table) {
  table.Add({
      {"CacheDataset", "ref", FromFunction<RunDataset<MakeCache>>},
      {"CacheDatasetV2", "ref", FromFunction<RunDataset<MakeCache>>},
      {"DummyMemoryCache", "ref", FromFunction<RunNoResource>},
      {"AnonymousMemoryCache", "ref", FromFunction<RunMemoryCache>},
      {"DeleteMemoryCache", "ref", FromFunction<RunNothing>},
  });
}

}  // namespace carillon
