#include "tensor/buffer.h"

#include <limits>
#include <memory>
#include <new>
#include <string>

#include "tensor/object.h"

namespace carillon {
namespace {

// The header sits in the first aligned slice of the block, the elements right after it.
constexpr size_t kHeaderBytes = 64;

template <typename T>
void Construct(void* data, int64_t elements) {
  std::uninitialized_value_construct_n(static_cast<T*>(data), elements);
}

template <typename T>
void DestroyAll(void* data, size_t bytes) {
  std::destroy_n(static_cast<T*>(data), bytes / sizeof(T));
}

}  // namespace

Buffer* Buffer::Allocate(DType dtype, int64_t elements, Allocator* allocator) {
  static_assert(sizeof(Buffer) <= kHeaderBytes && kHeaderBytes % kTensorAlignment == 0);
  const size_t size = DTypeSize(dtype);
  const auto count = static_cast<size_t>(elements);
  if (size != 0 && count > (std::numeric_limits<size_t>::max() / 2 - kHeaderBytes) / size)
    return nullptr;
  const size_t bytes = count * size;
  void* block = allocator->Allocate(kHeaderBytes + bytes);
  if (block == nullptr) return nullptr;
  Buffer* buffer = new (block) Buffer;
  buffer->dtype_ = dtype;
  buffer->data_ = static_cast<char*>(block) + kHeaderBytes;
  buffer->bytes_ = bytes;
  buffer->allocator_ = allocator;
  if (dtype == DType::kString) Construct<std::string>(buffer->data_, elements);
  if (dtype == DType::kResource) Construct<ResourceHandle>(buffer->data_, elements);
  if (dtype == DType::kVariant) Construct<Variant>(buffer->data_, elements);
  return buffer;
}

Buffer* Buffer::AllocateTransient(size_t bytes, Allocator* allocator) {
  Buffer* buffer = Allocate(DType::kUint8, static_cast<int64_t>(bytes), allocator);
  if (buffer != nullptr) buffer->transient_ = true;
  return buffer;
}

Buffer* Buffer::Wrap(void* data, size_t bytes, void (*release)(void*), void* context) {
  Buffer* buffer = new Buffer;
  buffer->data_ = data;
  buffer->bytes_ = bytes;
  buffer->release_ = release;
  buffer->context_ = context;
  return buffer;
}

bool Buffer::Charge(int64_t bytes) {
  if (allocator_ == nullptr || bytes == 0) return true;
  if (!allocator_->Charge(bytes)) return false;
  int64_t none = 0;  // two steps may find the same buffer
  if (!charged_.compare_exchange_strong(none, bytes)) allocator_->Discharge(bytes);
  return true;
}

void Buffer::Destroy() {
  if (allocator_ == nullptr) {
    if (release_ != nullptr) release_(context_);
    delete this;
    return;
  }
  if (dtype_ == DType::kString) DestroyAll<std::string>(data_, bytes_);
  if (dtype_ == DType::kResource || dtype_ == DType::kVariant) {
    const WorkPause pause;  // what ends with them may need memory, and nothing may throw here
    if (dtype_ == DType::kResource) DestroyAll<ResourceHandle>(data_, bytes_);
    if (dtype_ == DType::kVariant) DestroyAll<Variant>(data_, bytes_);
  }
  Allocator* allocator = allocator_;
  const size_t bytes = kHeaderBytes + bytes_;
  if (const int64_t charged = charged_.load(std::memory_order_relaxed); charged > 0)
    allocator->Discharge(charged);
  this->~Buffer();
  allocator->Free(this, bytes);
}

}  // namespace carillon
