// Caches: elements are made once and kept in memory.
#include <mutex>

#include "base/strings.h"
#include "kernels/ref/dataset_kernels.h"

namespace carillon {
namespace {

// Elements that were seen once, to be given again. Complete when a walk came to the end.
// Invariant: elements_ is set once, under mutex_, and never changed.
class MemoryCache final : public Resource {
 public:
  std::shared_ptr<const std::vector<Element>> Find() const {
    std::lock_guard lock(mutex_);
    return elements_;
  }
  void Complete(std::vector<Element> elements) {
    std::lock_guard lock(mutex_);
    if (elements_ == nullptr)
      elements_ = std::make_shared<const std::vector<Element>>(std::move(elements));
  }
  std::string DebugString() const override { return "cache of dataset elements"; }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const std::vector<Element>> elements_;
};

class CacheDataset final : public Dataset {
 public:
  CacheDataset(DatasetPtr input, std::shared_ptr<MemoryCache> cache, ElementSpec spec)
      : Dataset(std::move(spec)), input_(std::move(input)), cache_(std::move(cache)) {}
  int64_t Cardinality() const override { return input_->Cardinality(); }

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      const IteratorContext& context) const override {
    auto iterator = std::make_unique<Iterator>(*this);
    iterator->cached_ = cache_->Find();
    if (iterator->cached_ == nullptr) {
      CARILLON_ASSIGN_OR_RETURN(iterator->input_, input_->MakeIterator(context));
    }
    return iterator;
  }

 private:
  struct Iterator final : IteratorOf<CacheDataset> {
    using IteratorOf::IteratorOf;
    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      if (cached_ != nullptr) {
        *end = next_ >= cached_->size();
        if (!*end) *element = (*cached_)[next_++];
        return absl::OkStatus();
      }
      CARILLON_RETURN_IF_ERROR(input_->GetNext(context, element, end));
      if (!*end) {
        seen_.push_back(*element);
        return absl::OkStatus();
      }
      dataset().cache_->Complete(std::move(seen_));
      cached_ = dataset().cache_->Find();
      next_ = cached_->size();
      input_.reset();
      return absl::OkStatus();
    }

    std::shared_ptr<const std::vector<Element>> cached_;
    size_t next_ = 0;
    std::unique_ptr<DatasetIterator> input_;
    std::vector<Element> seen_;
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
  SetAnonymousResource(context, std::make_shared<MemoryCache>());
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
