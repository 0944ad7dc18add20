// ReceivedMessage: the bytes of a message that came by the network.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <google/protobuf/io/zero_copy_stream.h>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "carillon/tensor.h"
#include "tensor/allocator.h"

namespace carillon {

// What all messages of a server that have come in part, or are not read yet, take together.
// Thread-safe.
class MessageMemory {
 public:
  // In bytes; 0: no limit.
  explicit MessageMemory(int64_t limit) : limit_(limit) {}

  int64_t limit() const { return limit_; }
  int64_t held() const { return held_; }
  bool is_over_limit() const { return limit_ > 0 && held_ > limit_; }
  bool HasRoomFor(int64_t bytes) const { return limit_ == 0 || bytes <= limit_; }
  void Add(int64_t bytes) { held_ += bytes; }
  // The same for one who has `has` already, if all that he has is a fair share of what others
  // leave: nobody else has to go for it.
  bool AddFairly(int64_t bytes, int64_t has);
  // Messages are numbered as they begin.
  uint64_t NextNumber() { return ++numbers_; }
  // Where large pieces of messages lie.
  Allocator* allocator() { return allocator_.get(); }

 private:
  const int64_t limit_;
  std::atomic<int64_t> held_{0};
  std::atomic<uint64_t> numbers_{0};
  const std::shared_ptr<Allocator> allocator_ = MakePoolAllocator({.pool_bytes = 64 << 20});
};

// Grows by what really comes, whatever its length is said to be, and counts that. Not thread-safe.
class ReceivedMessage {
 public:
  enum class Packing { kNone, kZlib, kGzip };

  ReceivedMessage() = default;
  // Of `size` bytes that are still to come.
  ReceivedMessage(std::shared_ptr<MessageMemory> memory, size_t size, Packing packing);
  ReceivedMessage(ReceivedMessage&& other) noexcept { *this = std::move(other); }
  ReceivedMessage& operator=(ReceivedMessage&& other) noexcept;
  ~ReceivedMessage() { Clear(); }

  size_t size() const { return size_; }
  size_t come() const { return come_; }
  bool is_whole() const { return come_ == size_; }
  bool is_packed() const { return packing_ != Packing::kNone; }
  // Takes the beginning of `bytes`, as much as is missing; how much that was. Less only when the
  // system has no memory.
  size_t Take(std::string_view bytes);
  // Where the next bytes go, at most so many, for who puts them there before Take(), which does not
  // copy them then. Empty: it is whole, or the system has no memory.
  std::span<char> Room(size_t most);

  // The bytes from `offset` on are the content of a tensor, and go to its memory. False, and
  // nothing is changed, if that cannot be: others have their place already, or the content is no
  // part of what comes.
  bool Place(size_t offset, Tensor content);
  // Bytes that have come since those that have a place; 0 while these come.
  size_t unplaced() const { return come_ - std::min(come_, placed_end_); }
  // What has a place, in the order of the message.
  std::vector<Tensor> contents() const;

  // If it came packed, unpacks it: InvalidArgument when it cannot be, ResourceExhausted when it
  // grows past three quarters of what other messages leave, or to more than 2 GB.
  Status Unpack();
  std::string ToString() const;

  // Reads the bytes. The message outlives it.
  class Stream final : public google::protobuf::io::ZeroCopyInputStream {
   public:
    explicit Stream(const ReceivedMessage& message) : message_(message) {}
    bool Next(const void** data, int* size) override;
    void BackUp(int count) override;
    bool Skip(int count) override;
    int64_t ByteCount() const override { return static_cast<int64_t>(before_ + at_); }

   private:
    const ReceivedMessage& message_;
    size_t piece_ = 0;   // the next bytes are there,
    size_t at_ = 0;      // here;
    size_t before_ = 0;  // so many are in the pieces before
  };

 private:
  struct GiveBack {
    Allocator* allocator;
    size_t size;
    void operator()(char* bytes) const { allocator->Free(bytes, size); }
  };
  struct Piece {
    std::unique_ptr<char[], GiveBack> own;  // or,
    Tensor content;                         // when this holds something, its memory
    size_t size, used;
    char* bytes() {
      return content.has_value() ? static_cast<char*>(content.mutable_raw_data()) : own.get();
    }
    const char* bytes() const { return const_cast<Piece*>(this)->bytes(); }
  };
  void Clear();
  // Adds a piece for what is missing, not larger than what has come suggests. False: no memory, or
  // no fair share of it, if it is to be one.
  bool Grow(bool fairly = false);
  bool has_room() const { return !pieces_.empty() && pieces_.back().used < pieces_.back().size; }
  void Count(int64_t bytes);

  std::shared_ptr<MessageMemory> memory_;
  std::vector<Piece> pieces_;
  size_t size_ = 0, come_ = 0, placed_end_ = 0;
  int64_t counted_ = 0;
  Packing packing_ = Packing::kNone;
};

}  // namespace carillon
