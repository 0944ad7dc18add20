#include <algorithm>
#include <utility>

#include "base/throw.h"
#include "carillon/data.h"
#include "data/augment.h"
#include "data/formats.h"
#include "data/order.h"
#include "data/prefetch.h"
#include "data/random.h"
#include "tensor/allocator.h"

namespace carillon {
namespace {

struct Item {
  Batch batch;
  std::vector<int64_t> indices;
  int64_t epoch = 0;
  Cursor after;  // where the next batch starts
};

Status CheckDataset(const Dataset& data, bool one_hot) {
  const bool images_fit =
      (data.images.dtype() == kUint8 || data.images.dtype() == kFloat) && data.images.rank() == 4;
  const bool labels_fit = data.labels.dtype() == kInt64 && data.labels.rank() == 1;
  if (!images_fit || !labels_fit || data.images.dim(0) != data.labels.dim(0)) {
    return InvalidArgument(
        "Batches of ", data.name,
        ": expected images [n,height,width,channels] of type uint8 or float and n labels of type "
        "int64, got ",
        DTypeName(data.images.dtype()), data.images.shape().ToString(), " and ",
        DTypeName(data.labels.dtype()), data.labels.shape().ToString());
  }
  if (!one_hot) return absl::OkStatus();
  for (const int64_t label : data.labels.values<int64_t>()) {
    if (label < 0 || label >= data.num_classes()) {
      return InvalidArgument("Batches of ", data.name, ": label ", label,
                             " cannot be one-hot among ", data.num_classes(), " classes");
    }
  }
  return absl::OkStatus();
}

Status CheckOptions(const Dataset& data, const BatchOptions& o) {
  const auto wrong = [&](const auto&... what) {
    return InvalidArgument("Batches of ", data.name, ": ", what...);
  };
  if (o.num_shards < 1 || o.shard < 0 || o.shard >= o.num_shards) {
    return wrong("shard ", o.shard, " of ", o.num_shards, " does not exist");
  }
  if (o.epochs < 0) return wrong("epochs is ", o.epochs, ", expected 0 (no end) or more");
  if (o.prefetch < 0) return wrong("prefetch is ", o.prefetch, ", expected 0 or more");
  const int64_t side = std::min(data.images.dim(1), data.images.dim(2));
  if (o.augment.pad_crop < 0 || o.augment.pad_crop > side) {
    return wrong("pad_crop is ", o.augment.pad_crop, ", expected 0 to ", side);
  }
  if (ShardSize(data.size(), o.shard, o.num_shards) == 0) {
    return wrong("shard ", o.shard, " of ", o.num_shards, " is empty: there are ", data.size(),
                 " samples");
  }
  return absl::OkStatus();
}

// Makes any batch of the sequence. Keeps the order of the epoch it was last asked for. One thread
// at a time.
class BatchMaker {
 public:
  BatchMaker(const Dataset& data, const BatchOptions& options)
      : data_(data),
        options_(options),
        size_{data.images.dim(1), data.images.dim(2), data.images.dim(3)},
        augmenter_(size_, options.augment),
        pool_(MakePoolAllocator()) {}

  StatusOr<Item> Make(const BatchPlan& plan, const Cursor& after) {
    if (plan.epoch != order_epoch_) {
      order_ = EpochOrder(data_.size(), options_.shuffle, options_.seed, plan.epoch, options_.shard,
                          options_.num_shards);
      order_epoch_ = plan.epoch;
    }
    Item item;
    item.epoch = plan.epoch;
    item.after = after;
    item.indices.assign(order_.begin() + plan.begin, order_.begin() + plan.begin + plan.size);
    const Shape image_shape = options_.flatten
                                  ? Shape{plan.size, size_.elements()}
                                  : Shape{plan.size, size_.height, size_.width, size_.channels};
    CARILLON_ASSIGN_OR_RETURN(item.batch.images, Allocate(kFloat, image_shape));
    if (data_.images.dtype() == kUint8) {
      FillImages(data_.images.data<uint8_t>(), item);
    } else {
      FillImages(data_.images.data<float>(), item);
    }
    CARILLON_ASSIGN_OR_RETURN(item.batch.labels, MakeLabels(item.indices));
    return item;
  }

 private:
  StatusOr<Tensor> Allocate(DType dtype, const Shape& shape) {
    Tensor tensor = Tensor::TryAllocate(dtype, shape, pool_.get());
    if (tensor.has_value()) return tensor;
    return ResourceExhausted("Batches of ", data_.name, ": no memory for ", shape.ToString());
  }

  template <typename T>
  void FillImages(const T* images, Item& item) {
    float* to = item.batch.images.mutable_data<float>();
    for (const int64_t index : item.indices) {
      // What happens to a picture depends on the epoch and the picture, not on its batch.
      constexpr uint64_t kAugmentStream = 2;
      RandomStream key({kAugmentStream, options_.seed, static_cast<uint64_t>(item.epoch),
                        static_cast<uint64_t>(index)});
      augmenter_.Apply(images + index * size_.elements(), key.Next(), to);
      to += size_.elements();
    }
  }

  StatusOr<Tensor> MakeLabels(const std::vector<int64_t>& indices) {
    const int64_t* from = data_.labels.data<int64_t>();
    const auto n = static_cast<int64_t>(indices.size());
    if (!options_.one_hot) {
      CARILLON_ASSIGN_OR_RETURN(Tensor labels, Allocate(kInt64, Shape{n}));
      int64_t* to = labels.mutable_data<int64_t>();
      for (const int64_t index : indices) *to++ = from[index];
      return labels;
    }
    const int64_t classes = data_.num_classes();
    CARILLON_ASSIGN_OR_RETURN(Tensor labels, Allocate(kFloat, Shape{n, classes}));
    float* to = labels.mutable_data<float>();
    std::fill_n(to, n * classes, 0.0f);
    for (const int64_t index : indices) {
      to[from[index]] = 1;
      to += classes;
    }
    return labels;
  }

  const Dataset data_;
  const BatchOptions options_;
  const PictureSize size_;
  Augmenter augmenter_;
  const std::shared_ptr<Allocator> pool_;
  std::vector<int64_t> order_;
  int64_t order_epoch_ = -1;
};

}  // namespace

// The sequence of batches of one size is a function of data and options, so that a change of the
// size only has to start over from the cursor behind the last batch that was handed out.
struct Batches::Impl {
  Impl(const Dataset& dataset, const BatchOptions& o) : data(dataset), options(o) {
    ThrowIfError(CheckDataset(data, options.one_hot));
    ThrowIfError(CheckOptions(data, options));
    rule = {ShardSize(data.size(), options.shard, options.num_shards), options.epochs,
            options.drop_remainder};
    CheckSize(options.batch_size);
    maker = std::make_shared<BatchMaker>(data, options);
  }

  void CheckSize(int64_t size) const {
    if (size < 1) {
      Throw(InvalidArgument("Batches of ", data.name, ": batch_size is ", size,
                            ", expected 1 or more"));
    }
    if (options.drop_remainder && size > rule.shard_size) {
      Throw(InvalidArgument("Batches of ", data.name, ": a batch of ", size, " is more than the ",
                            rule.shard_size, " samples of shard ", options.shard, " of ",
                            options.num_shards, "; with drop_remainder there would be none"));
    }
  }

  StatusOr<std::optional<Item>> MakeAt(Cursor* at) const {
    BatchPlan plan;
    if (!PlanBatch(rule, options.batch_size, at, &plan)) return std::optional<Item>();
    CARILLON_ASSIGN_OR_RETURN(Item item, maker->Make(plan, *at));
    return std::optional<Item>(std::move(item));
  }

  std::optional<Item> Next() {
    if (options.prefetch == 0) return ValueOrThrow(MakeAt(&cursor));
    if (prefetcher == nullptr) {
      prefetcher =
          std::make_unique<Prefetcher<Item>>(static_cast<size_t>(options.prefetch),
                                             [this, at = cursor]() mutable { return MakeAt(&at); });
    }
    std::optional<Item> item = ValueOrThrow(prefetcher->Next());
    if (item.has_value()) cursor = item->after;
    return item;
  }

  const Dataset data;
  BatchOptions options;
  BatchRule rule;
  std::shared_ptr<BatchMaker> maker;
  Cursor cursor;  // behind the last batch that was handed out
  std::vector<int64_t> last_indices;
  int64_t last_epoch = 0;
  std::unique_ptr<Prefetcher<Item>> prefetcher;  // last: its thread uses the rest
};

BatchOptions BatchOptions::ForEvaluation(int64_t batch_size) {
  BatchOptions options;
  options.batch_size = batch_size;
  options.epochs = 1;
  options.shuffle = false;
  options.drop_remainder = false;
  return options;
}

Batches::Batches(const Dataset& dataset, const BatchOptions& options)
    : impl_(std::make_unique<Impl>(dataset, options)) {}
Batches::~Batches() = default;
Batches::Batches(Batches&&) noexcept = default;
Batches& Batches::operator=(Batches&&) noexcept = default;

bool Batches::Next(Batch* batch) {
  std::optional<Item> item = impl_->Next();
  if (!item.has_value()) return false;
  *batch = std::move(item->batch);
  impl_->last_indices = std::move(item->indices);
  impl_->last_epoch = item->epoch;
  return true;
}

Batch Batches::NextBatch() {
  Batch batch;
  if (!Next(&batch)) {
    Throw(OutOfRange("Batches of ", impl_->data.name, ": all ", impl_->options.epochs,
                     " epochs are done"));
  }
  return batch;
}

Batch Batches::NextBatch(int64_t batch_size) {
  if (batch_size != impl_->options.batch_size) {
    impl_->CheckSize(batch_size);
    impl_->prefetcher.reset();
    impl_->options.batch_size = batch_size;
  }
  return NextBatch();
}

const std::vector<int64_t>& Batches::last_indices() const { return impl_->last_indices; }
int64_t Batches::epoch() const { return impl_->last_epoch; }
int64_t Batches::batches_per_epoch() const {
  const int64_t size = impl_->options.batch_size, samples = impl_->rule.shard_size;
  return impl_->options.drop_remainder ? samples / size : (samples + size - 1) / size;
}
const BatchOptions& Batches::options() const { return impl_->options; }

}  // namespace carillon
