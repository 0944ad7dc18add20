#include "distributed/serving/idle_resets.h"

#include <algorithm>
#include <numeric>

namespace carillon {
namespace {

uint32_t FromBigEndian(std::span<const char> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), uint32_t{0}, [](uint32_t value, char byte) {
    return value << 8 | static_cast<uint8_t>(byte);
  });
}

}  // namespace

Status IdleResets::LeaveOut(std::span<const char> bytes,
                            absl::FunctionRef<Status(std::span<const char>)> hand_on) {
  size_t begin = 0, at = 0;  // what lies between is handed on in one piece
  const auto hand_on_until = [&](size_t end) {
    return begin < end ? hand_on(bytes.subspan(begin, end - begin)) : absl::OkStatus();
  };
  while (at < bytes.size()) {
    const size_t left = bytes.size() - at;
    if (to_hand_on_ > 0) {
      const size_t size = std::min(to_hand_on_, left);
      to_hand_on_ -= size;
      at += size;
      continue;
    }
    if (to_leave_out_ > 0) {
      const size_t size = std::min(to_leave_out_, left);
      to_leave_out_ -= size;
      begin = at += size;
      continue;
    }
    const size_t head_begin = at, size = std::min(kHead - head_size_, left);
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), size,
                head_.begin() + static_cast<ptrdiff_t>(head_size_));
    at += size;
    head_size_ += size;
    if (head_size_ < kHead) return hand_on_until(head_begin);
    head_size_ = 0;
    BeginFrame();
    const bool began_before = size < kHead;
    if (to_leave_out_ == 0 && !began_before) continue;
    CARILLON_RETURN_IF_ERROR(hand_on_until(head_begin));
    if (to_leave_out_ == 0) CARILLON_RETURN_IF_ERROR(hand_on(head_));
    begin = at;
  }
  return hand_on_until(at);
}

void IdleResets::BeginFrame() {
  constexpr char kHeaders = 1, kReset = 3;
  constexpr uint32_t kResetSize = 4, kStreamBits = 0x7fffffff;
  const std::span<const char> head(head_);
  const uint32_t size = FromBigEndian(head.first(3));
  const char type = head[3];
  const uint32_t stream = FromBigEndian(head.subspan(5)) & kStreamBits;
  const bool is_clients = stream % 2 == 1;
  if (type == kHeaders) last_opened_ = std::max(last_opened_, stream);
  const bool is_idle_reset =
      type == kReset && size == kResetSize && is_clients && stream > last_opened_;
  (is_idle_reset ? to_leave_out_ : to_hand_on_) = size;
}

}  // namespace carillon
