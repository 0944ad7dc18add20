// FeedPlacer: has the large feeds of a step's request come straight into their tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "carillon/tensor.h"
#include "distributed/cluster/step_messages.h"
#include "distributed/serving/received_message.h"

namespace carillon {

// Goes through one request, from its beginning. What it does not understand, and requests of many
// small fields, it leaves alone: whoever reads the whole request then copies their tensors.
// Not thread-safe.
class FeedPlacer {
 public:
  enum class Kind { kStep, kCallable };  // a RunStepRequest or a RunCallableRequest
  // Feeds of fewer bytes than `large` are as well copied.
  explicit FeedPlacer(Kind kind, size_t large = 256 << 10) : kind_(kind), large_(large) {}

  // Places the next large feed of the request, if enough of it has come: memory is taken by what
  // really comes, if ahead of it.
  void Place(ReceivedMessage* request, AllocatorOfSession allocator_of);
  // Whose request it is; empty while that is not known.
  const std::string& session_handle() const { return session_handle_; }

 private:
  struct Feed {
    int64_t offset;  // of its raw content
    Tensor tensor;   // not filled
  };
  // `in` begins where position_ is; it has `come` bytes.
  std::optional<Feed> FindNext(CodedInput* in, int64_t come, AllocatorOfSession allocator_of);
  // In a feed of `length` bytes, where `in` is.
  std::optional<Feed> FindIn(CodedInput* in, uint32_t length, int64_t come,
                             AllocatorOfSession allocator_of);

  const Kind kind_;
  const size_t large_;
  int64_t position_ = 0;  // in the request, where a field begins
  int fields_ = 0;        // that were passed
  std::string session_handle_;
  std::shared_ptr<Allocator> allocator_;
};

}  // namespace carillon
