// OutputQueue: bytes on their way to a socket.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <sys/uio.h>
#include <vector>

#include "tensor/tensor_wire.h"

namespace carillon {

// Small pieces are copied into one another's neighbourhood, large ones stay where they are. Not
// thread-safe.
class OutputQueue {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  void Append(std::string_view bytes);
  // `bytes` are part of `owner`, which is kept as long as they are needed.
  void Append(std::string_view bytes, const std::shared_ptr<const MessagePieces>& owner);

  // The first bytes, for one call of the system.
  void Gather(std::vector<iovec>* vectors) const;
  void Remove(size_t bytes);

 private:
  struct Chunk {
    std::string own;         // or,
    std::string_view other;  // when there is an owner, its bytes
    std::shared_ptr<const MessagePieces> owner;
    std::string_view view() const { return owner == nullptr ? std::string_view(own) : other; }
  };
  std::deque<Chunk> chunks_;
  size_t sent_ = 0;  // of the first chunk
  size_t size_ = 0;
};

}  // namespace carillon
