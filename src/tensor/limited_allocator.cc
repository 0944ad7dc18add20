#include "tensor/limited_allocator.h"

#include <algorithm>
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
  LimitedAllocator(std::shared_ptr<Allocator> parent, int64_t limit_bytes)
      : parent_(std::move(parent)), limit_bytes_(limit_bytes) {}

  void* Allocate(size_t bytes) override {
    const auto wanted = static_cast<int64_t>(bytes);
    {
      std::lock_guard lock(mutex_);
      if (wanted < 0 || (limit_bytes_ > 0 && wanted > limit_bytes_ - stats_.bytes_in_use))
        return nullptr;
      stats_.bytes_in_use += wanted;
      stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.bytes_in_use);
      ++stats_.allocations;
      ++outstanding_;
    }
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
    if (!Count(bytes)) return false;
    auto* parent = dynamic_cast<SharedAllocator*>(parent_.get());
    if (parent == nullptr || parent->Charge(bytes)) return true;
    Uncount(bytes);
    return false;
  }

  void Discharge(int64_t bytes) override {
    if (auto* parent = dynamic_cast<SharedAllocator*>(parent_.get())) parent->Discharge(bytes);
    Uncount(bytes);
  }

  // Without the parent.
  bool Count(int64_t bytes) {
    std::lock_guard lock(mutex_);
    if (limit_bytes_ > 0 && bytes > limit_bytes_ - stats_.bytes_in_use) return false;
    stats_.bytes_in_use += bytes;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.bytes_in_use);
    return true;
  }
  void Uncount(int64_t bytes) {
    std::lock_guard lock(mutex_);
    stats_.bytes_in_use -= bytes;
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
  const std::shared_ptr<Allocator> parent_;
  const int64_t limit_bytes_;
  mutable std::mutex mutex_;
  AllocatorStats stats_;
  int64_t outstanding_ = 0;
  bool retired_ = false;
};

}  // namespace

std::shared_ptr<Allocator> MakeLimitedAllocator(std::shared_ptr<Allocator> parent,
                                                int64_t limit_bytes) {
  return {new LimitedAllocator(std::move(parent), limit_bytes),
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
  if (!static_cast<LimitedAllocator*>(share.get())->Count(static_cast<int64_t>(bytes))) return {};
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
