#include "tensor/text_memory.h"

#include <limits>
#include <string>

#include "tensor/buffer.h"

namespace carillon {
namespace {

Status NoRoom(int64_t bytes) {
  return ResourceExhausted("no memory for ", bytes, " bytes besides tensors");
}

}  // namespace

int64_t TextBytes(const Tensor& tensor) {
  static const size_t within = std::string().capacity();  // what a string holds in itself
  int64_t bytes = 0;
  if (tensor.dtype() != DType::kString) return bytes;
  for (const std::string& text : tensor.values<std::string>()) {
    if (text.capacity() > within) bytes += static_cast<int64_t>(text.capacity()) + 1;
  }
  return bytes;
}

Status ChargeText(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString || !tensor.has_value()) return absl::OkStatus();
  Buffer* buffer = tensor.buffer();
  if (buffer->charged() != 0) return absl::OkStatus();
  const int64_t bytes = TextBytes(tensor);
  return buffer->Charge(bytes) ? absl::OkStatus() : NoRoom(bytes);
}

Status CheckRoomOutside(Allocator* allocator, int64_t count, int64_t bytes) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  if (count <= 0 || bytes <= 0) return absl::OkStatus();
  if (count > kMax / bytes) return NoRoom(kMax);
  if (!allocator->Charge(count * bytes)) return NoRoom(count * bytes);
  allocator->Discharge(count * bytes);
  return absl::OkStatus();
}

}  // namespace carillon
