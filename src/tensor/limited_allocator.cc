#include "tensor/limited_allocator.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "tensor/buffer.h"
#include "tensor/shared_allocator.h"

namespace carillon {
namespace {

// Invariants, under mutex_: stats_ counts what Allocate returned and Free has not seen; once
// retired_, the last Free deletes the allocator.
class LimitedAllocator final : public SharedAllocator {
 public:
  LimitedAllocator(std::shared_ptr<Allocator> parent, int64_t limit_bytes,
                   std::function<void()> reclaim)
      : parent_(std::move(parent)), limit_bytes_(limit_bytes), reclaim_(std::move(reclaim)) {}

  void* Allocate(size_t bytes) override {
    const auto wanted = static_cast<int64_t>(bytes);
    if (wanted < 0 || !Count(wanted, wanted, 1)) return nullptr;
    void* memory = parent_->Allocate(bytes);
    if (memory == nullptr) {
      std::lock_guard lock(mutex_);
      stats_.bytes_in_use -= wanted;
      --stats_.allocations;
      --outstanding_;
    }
    return memory;
  }

  void Free(void* memory, size_t bytes) override {
    parent_->Free(memory, bytes);
    bool last;
    {
      std::lock_guard lock(mutex_);
      stats_.bytes_in_use -= static_cast<int64_t>(bytes);
      --outstanding_;
      last = retired_ && outstanding_ == 0;
    }
    if (last) delete this;
  }

  bool Charge(int64_t bytes) override {
    if (!Count(bytes, bytes)) return false;
    if (parent_->Charge(bytes)) return true;
    Uncount(bytes);
    return false;
  }

  void Discharge(int64_t bytes) override {
    parent_->Discharge(bytes);
    Uncount(bytes);
  }

  // Bytes, of which so many are yet to be taken from the parent, and blocks of them that were
  // allocated.
  bool Count(int64_t bytes, int64_t from_parent, int64_t blocks = 0) {
    std::unique_lock lock(mutex_);
    if (limit_bytes_ > 0 && bytes > limit_bytes_) return false;
    for (Allocator* holder : {static_cast<Allocator*>(this), parent_.get()}) {
      if (HasRoom(bytes, from_parent)) break;
      // What others keep idle is no help against the share's own limit.
      if (holder == parent_.get() && IsFull(bytes)) return false;
      lock.unlock();
      holder->Reclaim();
      lock.lock();
    }
    if (!HasRoom(bytes, from_parent)) return false;
    stats_.bytes_in_use += bytes;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.bytes_in_use);
    stats_.allocations += blocks;
    outstanding_ += blocks;
    return true;
  }
  void Uncount(int64_t bytes) {
    std::lock_guard lock(mutex_);
    stats_.bytes_in_use -= bytes;
  }

  void Reclaim() override {
    if (reclaim_ != nullptr) reclaim_();
  }

  MemoryRoom room() const override {
    MemoryRoom room = parent_->room();
    std::lock_guard lock(mutex_);
    if (limit_bytes_ > 0) room.left = std::min(room.left, limit_bytes_ - stats_.bytes_in_use);
    return room;
  }

  AllocatorStats stats() const override {
    std::lock_guard lock(mutex_);
    return stats_;
  }

  void Retire() {
    bool last;
    {
      std::lock_guard lock(mutex_);
      retired_ = true;
      last = outstanding_ == 0;
    }
    if (last) delete this;
  }

 private:
  bool IsFull(int64_t bytes) const {
    return limit_bytes_ > 0 && bytes > limit_bytes_ - stats_.bytes_in_use;
  }
  bool HasRoom(int64_t bytes, int64_t from_parent) const {
    if (limit_bytes_ == 0) return true;
    MemoryRoom room = parent_->room();
    // Compared before anything is added: what is wanted may be any number.
    if (IsFull(bytes) || from_parent > room.left ||
        bytes > std::numeric_limits<int64_t>::max() - stats_.bytes_in_use)
      return false;
    room.left -= from_parent;
    return IsFairShare(stats_.bytes_in_use + bytes, room);
  }

  const std::shared_ptr<Allocator> parent_;
  const int64_t limit_bytes_;
  const std::function<void()> reclaim_;
  mutable std::mutex mutex_;
  AllocatorStats stats_;
  int64_t outstanding_ = 0;
  bool retired_ = false;
};

}  // namespace

std::shared_ptr<Allocator> MakeLimitedAllocator(std::shared_ptr<Allocator> parent,
                                                int64_t limit_bytes,
                                                std::function<void()> reclaim) {
  return {new LimitedAllocator(std::move(parent), limit_bytes, std::move(reclaim)),
          [](Allocator* share) { static_cast<LimitedAllocator*>(share)->Retire(); }};
}

Tensor CountInShare(const std::shared_ptr<Allocator>& share, Tensor tensor) {
  struct Counted {
    std::shared_ptr<Allocator> share;
    Tensor tensor;
    ~Counted() { limited()->Uncount(static_cast<int64_t>(tensor.num_bytes())); }
    LimitedAllocator* limited() const { return static_cast<LimitedAllocator*>(share.get()); }
  };
  const size_t bytes = tensor.num_bytes();
  if (!static_cast<LimitedAllocator*>(share.get())->Count(static_cast<int64_t>(bytes), 0))
    return {};
  const DType dtype = tensor.dtype();
  const Shape shape = tensor.shape();
  auto* counted = new Counted{share, std::move(tensor)};
  void* data = const_cast<void*>(counted->tensor.raw_data());
  Buffer* buffer = Buffer::Wrap(
      data, bytes, [](void* context) { delete static_cast<Counted*>(context); }, counted);
  Tensor result = Tensor::View(dtype, shape, buffer, data);
  buffer->Unref();  // the result's reference stays
  return result;
}

}  // namespace carillon
