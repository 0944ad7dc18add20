#include "distributed/serving/received_message.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <zlib.h>

namespace carillon {
namespace {

// A small message is one piece; of a large one, a piece is never much more than what has come.
constexpr size_t kFirstPiece = 16 << 10, kLargestPiece = 2 << 20;
// What a message takes besides its bytes.
constexpr int64_t kOverhead = 256;

}  // namespace

bool MessageMemory::AddFairly(int64_t bytes, int64_t has) {
  for (int64_t held = held_; limit_ > 0;) {
    const int64_t left = limit_ - (held - has);
    if (has + bytes > left / 4 * 3) return false;
    if (held_.compare_exchange_weak(held, held + bytes)) return true;
  }
  held_ += bytes;
  return true;
}

ReceivedMessage::ReceivedMessage(std::shared_ptr<MessageMemory> memory, size_t size,
                                 Packing packing)
    : memory_(std::move(memory)), size_(size), packing_(packing) {
  Count(kOverhead);
}

ReceivedMessage& ReceivedMessage::operator=(ReceivedMessage&& other) noexcept {
  if (this == &other) return *this;
  Clear();
  memory_ = std::move(other.memory_);
  pieces_ = std::move(other.pieces_);
  other.pieces_.clear();
  size_ = std::exchange(other.size_, 0);
  come_ = std::exchange(other.come_, 0);
  placed_end_ = std::exchange(other.placed_end_, 0);
  counted_ = std::exchange(other.counted_, 0);
  packing_ = other.packing_;
  return *this;
}

void ReceivedMessage::Clear() {
  pieces_.clear();
  Count(-counted_);
}

void ReceivedMessage::Count(int64_t bytes) {
  counted_ += bytes;
  if (memory_ != nullptr) memory_->Add(bytes);
}

bool ReceivedMessage::Grow(bool fairly) {
  const size_t size =
      std::min(size_ - come_, std::clamp(std::bit_floor(come_), kFirstPiece, kLargestPiece));
  const auto bytes_more = static_cast<int64_t>(size);
  if (fairly && !memory_->AddFairly(bytes_more, counted_)) return false;
  if (!fairly) memory_->Add(bytes_more);
  counted_ += bytes_more;
  Allocator* const allocator = size < kLargestPiece ? HostAllocator() : memory_->allocator();
  char* const bytes = static_cast<char*>(allocator->Allocate(size));
  if (bytes == nullptr) {
    Count(-bytes_more);
    return false;
  }
  pieces_.push_back(Piece{{bytes, {allocator, size}}, {}, size, 0});
  return true;
}

std::span<char> ReceivedMessage::Room(size_t most) {
  if (is_whole()) return {};
  if (!has_room() && !Grow()) return {};
  Piece& piece = pieces_.back();
  return {piece.bytes() + piece.used, std::min(most, piece.size - piece.used)};
}

size_t ReceivedMessage::Take(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size() && !is_whole()) {
    const std::span<char> room = Room(bytes.size() - taken);
    if (room.empty()) break;
    if (room.data() != bytes.data() + taken)
      std::memcpy(room.data(), bytes.data() + taken, room.size());
    Piece& piece = pieces_.back();
    piece.used += room.size();
    if (piece.content.has_value()) Count(static_cast<int64_t>(room.size()));
    come_ += room.size();
    taken += room.size();
  }
  return taken;
}

bool ReceivedMessage::Place(size_t offset, Tensor content) {
  const size_t size = content.num_bytes();
  const size_t come = come_ - std::min(offset, come_);  // of it
  if (come_ < placed_end_ || offset > come_ || offset < placed_end_ || size <= come ||
      size > size_ - offset)
    return false;
  // What has come is moved there, the last bytes first.
  Piece placed{{}, std::move(content), size, come};
  for (size_t left = come; left > 0;) {
    Piece& last = pieces_.back();
    const size_t moved = std::min(left, last.used);
    left -= moved;
    last.used -= moved;
    std::memcpy(placed.bytes() + left, last.bytes() + last.used, moved);
    if (last.used > 0) continue;
    Count(-static_cast<int64_t>(last.size));
    pieces_.pop_back();
  }
  Count(static_cast<int64_t>(come));
  pieces_.push_back(std::move(placed));
  placed_end_ = offset + size;
  return true;
}

std::vector<Tensor> ReceivedMessage::contents() const {
  std::vector<Tensor> contents;
  for (const Piece& piece : pieces_)
    if (piece.content.has_value()) contents.push_back(piece.content);
  return contents;
}

std::string ReceivedMessage::ToString() const {
  std::string text;
  text.reserve(come_);
  for (const Piece& piece : pieces_) text.append(piece.bytes(), piece.used);
  return text;
}

Status ReceivedMessage::Unpack() {
  if (packing_ == Packing::kNone) return absl::OkStatus();
  ReceivedMessage unpacked(memory_, INT32_MAX, Packing::kNone);
  z_stream zlib{};
  constexpr int kGzipWindow = 16 + MAX_WBITS;
  if (inflateInit2(&zlib, packing_ == Packing::kGzip ? kGzipWindow : MAX_WBITS) != Z_OK)
    return absl::ResourceExhaustedError("there is no memory to unpack a message");
  int result = Z_OK;
  Status status;
  size_t i = 0;
  for (; status.ok() && result == Z_OK && i < pieces_.size(); ++i) {
    zlib.next_in = reinterpret_cast<Bytef*>(pieces_[i].bytes());
    zlib.avail_in = static_cast<uInt>(pieces_[i].used);
    // Output that fills its room may not be all that there is.
    bool is_full = true;
    while (status.ok() && result == Z_OK && (zlib.avail_in > 0 || is_full)) {
      const bool may_grow = unpacked.has_room() || unpacked.is_whole() || unpacked.Grow(true);
      const std::span<char> room = may_grow ? unpacked.Room(kLargestPiece) : std::span<char>();
      if (room.empty()) {
        status = absl::ResourceExhaustedError(
            "a packed message grows past what messages may take on this server");
        break;
      }
      zlib.next_out = reinterpret_cast<Bytef*>(room.data());
      zlib.avail_out = static_cast<uInt>(room.size());
      result = inflate(&zlib, Z_NO_FLUSH);
      if (result == Z_BUF_ERROR) result = Z_OK;  // it needs the next piece
      is_full = zlib.avail_out == 0;
      unpacked.Take({room.data(), room.size() - zlib.avail_out});
    }
  }
  inflateEnd(&zlib);
  if (!status.ok()) return status;
  if (result != Z_STREAM_END || zlib.avail_in > 0 || i < pieces_.size())
    return InvalidArgument("a packed message cannot be unpacked");
  unpacked.size_ = unpacked.come_;
  *this = std::move(unpacked);
  return absl::OkStatus();
}

bool ReceivedMessage::Stream::Next(const void** data, int* size) {
  const std::vector<Piece>& pieces = message_.pieces_;
  while (piece_ < pieces.size() && at_ == pieces[piece_].used) {
    before_ += pieces[piece_].used;
    ++piece_;
    at_ = 0;
  }
  if (piece_ == pieces.size()) return false;
  *data = pieces[piece_].bytes() + at_;
  *size = static_cast<int>(pieces[piece_].used - at_);
  at_ = pieces[piece_].used;
  return true;
}

void ReceivedMessage::Stream::BackUp(int count) { at_ -= static_cast<size_t>(count); }

bool ReceivedMessage::Stream::Skip(int count) {
  const void* data;
  int size;
  while (count > 0) {
    if (!Next(&data, &size)) return false;
    if (size > count) BackUp(size - count);
    count -= std::min(size, count);
  }
  return true;
}

}  // namespace carillon
