// IdleResets: gRPC's client, when a call ends before its headers have left (its deadline was short,
// it was cancelled at once), still resets the stream that they would have opened. For HTTP/2 that
// is an error of the connection, for which nghttp2 ends all calls that come by it: other calls of
// the client would pay for one that was never made. So such frames are left out of what it reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"
#include "base/status.h"

namespace carillon {

// Of one connection, from its first byte. Not thread-safe.
class IdleResets {
 public:
  // Hands on `bytes`, which follow those that were given before, without such frames; the beginning
  // of a frame's head only once all of that is there. Ends at the first error.
  Status LeaveOut(std::span<const char> bytes,
                  absl::FunctionRef<Status(std::span<const char>)> hand_on);

 private:
  static constexpr size_t kPreface = 24, kHead = 9;

  // What the head that is complete says of what follows.
  void BeginFrame();

  size_t to_hand_on_ = kPreface, to_leave_out_ = 0;  // of the frame; at most one of them is not 0
  std::array<char, kHead> head_{};                   // of the next frame, and
  size_t head_size_ = 0;                             // how much of it is there
  uint32_t last_opened_ = 0;                         // stream
};

}  // namespace carillon
