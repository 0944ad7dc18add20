// Buffer: the reference-counted memory behind tensors.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "carillon/dtype.h"
#include "tensor/allocator.h"

namespace carillon {

// Header and elements are one block of the allocator's. Thread-safe counting; the elements are
// destroyed with the last reference.
class Buffer {
 public:
  // One reference, elements of non-plain dtypes constructed. Null when the memory cannot be had.
  static Buffer* Allocate(DType dtype, int64_t elements, Allocator* allocator);

  // Memory that belongs to somebody else: `release(context)` is called with the last reference.
  static Buffer* Wrap(void* data, size_t bytes, void (*release)(void*), void* context);

  // A step's arena: views of it are valid only while the step runs (Tensor::IsTransient).
  static Buffer* AllocateTransient(size_t bytes, Allocator* allocator);

  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) Destroy();
  }
  bool IsUnshared() const { return references_.load(std::memory_order_acquire) == 1; }
  bool is_transient() const { return transient_; }
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

  // Counts memory that the elements hold elsewhere against the allocator's limit, until the buffer
  // is destroyed; only the first time. False when there is no room.
  bool Charge(int64_t bytes);
  int64_t charged() const { return charged_.load(std::memory_order_relaxed); }

 private:
  Buffer() = default;
  void Destroy();

  std::atomic<int32_t> references_{1};
  DType dtype_ = DType::kInvalid;  // decides how the elements are destroyed
  bool transient_ = false;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  Allocator* allocator_ = nullptr;  // null for wrapped memory
  void (*release_)(void*) = nullptr;
  void* context_ = nullptr;
  std::atomic<int64_t> charged_{0};
};

}  // namespace carillon
