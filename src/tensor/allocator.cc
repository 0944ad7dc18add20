#include "tensor/allocator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <sys/mman.h>
#include <vector>

#include "base/heap.h"
#include "tensor/shared_allocator.h"

namespace carillon {
namespace {

void* AlignedAllocate(size_t bytes) {
  const size_t rounded =
      (std::max<size_t>(bytes, 1) + kTensorAlignment - 1) & ~(kTensorAlignment - 1);
  if (rounded < bytes) return nullptr;
  return std::aligned_alloc(kTensorAlignment, rounded);
}

// Large blocks are whole huge pages where the system has any (transparent huge pages, on request):
// the loops of convolutions walk dozens of rows at once, and the processor can look up the place of
// only so many small pages. AddressSanitizer watches over the C library's blocks alone.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kUseHugePages = false;
#else
constexpr bool kUseHugePages = true;
#endif
constexpr size_t kHugePage = size_t{2} << 20;

bool IsLarge(size_t bytes) { return kUseHugePages && bytes >= kHugePage; }

size_t RoundedToPages(size_t bytes) {
  constexpr size_t kPage = 4096;
  return (bytes + kPage - 1) & ~(kPage - 1);
}

void* MapHugePages(size_t bytes) {
  const size_t wanted = RoundedToPages(bytes), mapped = wanted + kHugePage;
  if (mapped < bytes) return nullptr;
  void* const start =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  // Keep what begins where a huge page does.
  char* const first = static_cast<char*>(start);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(first) % kHugePage) % kHugePage;
  if (before > 0) munmap(first, before);
  if (before < kHugePage) munmap(first + before + wanted, kHugePage - before);
  madvise(first + before, wanted, MADV_HUGEPAGE);  // else small ones do
  return first + before;
}

// A block for the pool, and its way back.
void* AllocateBlock(size_t bytes) {
  return IsLarge(bytes) ? MapHugePages(bytes) : AlignedAllocate(bytes);
}
void FreeBlock(void* block, size_t bytes) {
  if (block == nullptr) return;
  IsLarge(bytes) ? static_cast<void>(munmap(block, RoundedToPages(bytes))) : std::free(block);
}

class PlainAllocator final : public Allocator {
 public:
  void* Allocate(size_t bytes) override {
    void* memory = AlignedAllocate(bytes);
    if (memory == nullptr) return nullptr;
    allocations_.fetch_add(1, std::memory_order_relaxed);
    const int64_t now = in_use_.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed) +
                        static_cast<int64_t>(bytes);
    int64_t peak = peak_.load(std::memory_order_relaxed);
    while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
    return memory;
  }
  void Free(void* memory, size_t bytes) override {
    in_use_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    std::free(memory);
  }
  AllocatorStats stats() const override {
    return {.allocations = allocations_, .bytes_in_use = in_use_, .peak_bytes = peak_};
  }

 private:
  std::atomic<int64_t> allocations_{0}, in_use_{0}, peak_{0};
};

// Invariants, all under mutex_:
//   1. a block in free_[c] has room for ClassBytes(c) and is in no tensor;
//   2. stats_.bytes_pooled is the sum of ClassBytes over all blocks in free_;
//   3. outstanding_ counts blocks handed out; when retired_ and outstanding_ == 0 the pool deletes
//   itself.
class PoolAllocator final : public SharedAllocator {
 public:
  PoolAllocator(const PoolAllocatorOptions& options, std::function<void()> reclaim)
      : options_(options), reclaim_(std::move(reclaim)) {}

  void* Allocate(size_t bytes) override {
    if (bytes > kLargest) return nullptr;
    const int size_class = ClassOf(bytes);
    const auto class_bytes = static_cast<int64_t>(ClassBytes(size_class));
    {
      std::unique_lock lock(mutex_);
      if (!MakeRoom(class_bytes, lock)) return nullptr;
      CountInUse(class_bytes);
      ++stats_.allocations;
      ++outstanding_;
      auto& blocks = free_[static_cast<size_t>(size_class)];
      if (!blocks.empty()) {
        void* memory = blocks.back();
        blocks.pop_back();
        stats_.bytes_pooled -= class_bytes;
        ++stats_.reuses;
        return memory;
      }
      KeepWithinLimit();
    }
    // Before much is asked of the system, what was given back to the heap goes there.
    if (options_.limit_bytes > 0 && class_bytes >= kMuch) TrimHeapAfter(0);
    void* memory = AllocateBlock(static_cast<size_t>(class_bytes));
    if (memory == nullptr) {
      std::lock_guard lock(mutex_);
      CountInUse(-class_bytes);
      --stats_.allocations;
      --outstanding_;
    }
    return memory;
  }

  void Free(void* memory, size_t bytes) override {
    const int size_class = ClassOf(bytes);
    const auto class_bytes = static_cast<int64_t>(ClassBytes(size_class));
    bool last;
    {
      const WorkPause pause;  // free_ may grow, while the lock is held that Charge needs
      std::lock_guard lock(mutex_);
      CountInUse(-class_bytes);
      --outstanding_;
      if (!retired_ && stats_.bytes_pooled + class_bytes <= options_.pool_bytes) {
        free_[static_cast<size_t>(size_class)].push_back(memory);
        stats_.bytes_pooled += class_bytes;
        memory = nullptr;
      }
      last = retired_ && outstanding_ == 0;
    }
    FreeBlock(memory, static_cast<size_t>(class_bytes));
    if (last) delete this;
  }

  bool Charge(int64_t bytes) override {
    std::unique_lock lock(mutex_);
    if (!MakeRoom(bytes, lock)) return false;
    CountInUse(bytes);
    KeepWithinLimit();
    return true;
  }

  void Discharge(int64_t bytes) override {
    {
      std::lock_guard lock(mutex_);
      CountInUse(-bytes);
    }
    // It was the heap's, and others are to have it.
    if (options_.limit_bytes > 0) TrimHeapAfter(bytes);
  }

  AllocatorStats stats() const override {
    std::lock_guard lock(mutex_);
    return stats_;
  }

  void Reclaim() override {
    if (reclaim_ != nullptr) reclaim_();
  }

  MemoryRoom room() const override {
    if (options_.limit_bytes <= 0) return {};
    return {.left = options_.limit_bytes - in_use_.load(std::memory_order_relaxed),
            .whole = options_.limit_bytes};
  }

  void Retire() {
    bool last;
    {
      std::lock_guard lock(mutex_);
      retired_ = true;
      DropPool();
      last = outstanding_ == 0;
    }
    if (last) delete this;
  }

 private:
  // Four size classes to each power of two: at most a quarter of a block is wasted.
  static constexpr size_t kSmallest = 64;
  static constexpr size_t kLargest = size_t{1} << 46;
  static constexpr int kClasses = 4 * 41;
  static constexpr int64_t kMuch = 32 << 20;

  static int ClassOf(size_t bytes) {
    if (bytes <= kSmallest) return 0;
    const int log = std::bit_width(bytes - 1) - 1;  // 2^log < bytes <= 2^(log+1)
    const auto quarter = static_cast<int>((bytes - 1) >> (log - 2)) & 3;
    return (log - 6) * 4 + quarter + 1;
  }
  static size_t ClassBytes(int size_class) {
    if (size_class == 0) return kSmallest;
    const int log = (size_class - 1) / 4 + 6;
    const auto quarter = static_cast<size_t>((size_class - 1) % 4);
    return (size_t{1} << log) + ((quarter + 1) << (log - 2));
  }

  bool HasRoom(int64_t bytes) const {
    return options_.limit_bytes <= 0 || bytes <= options_.limit_bytes - stats_.bytes_in_use;
  }

  void CountInUse(int64_t bytes) {
    stats_.bytes_in_use += bytes;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.bytes_in_use);
    in_use_.store(stats_.bytes_in_use, std::memory_order_relaxed);
  }

  // Under `lock`, which is let go of in between.
  bool MakeRoom(int64_t bytes, std::unique_lock<std::mutex>& lock) {
    if (HasRoom(bytes)) return true;
    if (bytes > options_.limit_bytes) return false;
    lock.unlock();
    Reclaim();
    lock.lock();
    return HasRoom(bytes);
  }

  // What is held back is memory, too: the limit is for both.
  void KeepWithinLimit() {
    if (options_.limit_bytes > 0 &&
        stats_.bytes_in_use + stats_.bytes_pooled > options_.limit_bytes)
      DropPool();
  }

  void DropPool() {
    for (size_t c = 0; c < free_.size(); ++c) {
      for (void* memory : free_[c]) FreeBlock(memory, ClassBytes(static_cast<int>(c)));
      free_[c].clear();
    }
    stats_.bytes_pooled = 0;
  }

  const PoolAllocatorOptions options_;
  const std::function<void()> reclaim_;
  mutable std::mutex mutex_;
  std::array<std::vector<void*>, kClasses + 1> free_;
  AllocatorStats stats_;
  std::atomic<int64_t> in_use_{0};  // as in stats_, for who does not need to know it exactly
  int64_t outstanding_ = 0;
  bool retired_ = false;
};

}  // namespace

Allocator* HostAllocator() {
  static PlainAllocator* const allocator =
      new PlainAllocator;  // never destroyed: tensors may be freed at exit
  return allocator;
}

std::shared_ptr<Allocator> MakePoolAllocator(const PoolAllocatorOptions& options,
                                             std::function<void()> reclaim) {
  return {new PoolAllocator(options, std::move(reclaim)),
          [](Allocator* pool) { static_cast<PoolAllocator*>(pool)->Retire(); }};
}

}  // namespace carillon
