#include "distributed/serving/message_reader.h"

#include <utility>

#include "base/strings.h"

namespace carillon {
namespace {

// A message is lent when so much has come, if so much is missing.
constexpr size_t kFirstPart = 4 << 10, kLeastMissing = 256 << 10;

}  // namespace

Status MessageReader::Take(std::string_view bytes) {
  bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (prefix_size_ < kMessagePrefix) {
      const size_t part = bytes.copy(prefix_.data() + prefix_size_, kMessagePrefix - prefix_size_);
      prefix_size_ += part;
      bytes.remove_prefix(part);
      if (prefix_size_ < kMessagePrefix) break;
      CARILLON_RETURN_IF_ERROR(BeginMessage());
    }
    bytes.remove_prefix(message_.Take(bytes));
    if (!message_.is_whole()) {
      if (!bytes.empty()) return absl::ResourceExhaustedError("the system has no memory left");
      break;
    }
    whole_.push_back(std::move(message_));
    prefix_size_ = 0;
  }
  return absl::OkStatus();
}

Status MessageReader::BeginMessage() {
  const auto byte = [&](size_t i) -> uint32_t { return static_cast<uint8_t>(prefix_[i]); };
  const uint32_t size = byte(1) << 24 | byte(2) << 16 | byte(3) << 8 | byte(4);
  if (size > INT32_MAX || !memory_->HasRoomFor(size))
    return absl::ResourceExhaustedError(StrCat(
        "a message of ", size, " bytes is too large for this server",
        memory_->limit() > 0 ? StrCat(", where messages may take ", memory_->limit(), " bytes")
                             : ""));
  auto packing = ReceivedMessage::Packing::kNone;
  if (byte(0) > 1) return InvalidArgument("the bytes of the call are no messages of gRPC");
  if (byte(0) == 1) {
    if (packing_ != "gzip" && packing_ != "deflate")
      return Unimplemented("messages packed by '", packing_,
                           "' cannot be read here: use gzip, deflate or none");
    packing =
        packing_ == "gzip" ? ReceivedMessage::Packing::kGzip : ReceivedMessage::Packing::kZlib;
  }
  number_ = memory_->NextNumber();
  message_ = ReceivedMessage(memory_, size, packing);
  lend_at_ = kFirstPart;
  is_lent_ = false;
  return absl::OkStatus();
}

std::span<char> MessageReader::Room(size_t most) {
  return prefix_size_ == kMessagePrefix ? message_.Room(most) : std::span<char>();
}

bool MessageReader::has_part() const {
  return prefix_size_ == kMessagePrefix && whole_.empty() && !message_.is_packed() &&
         message_.size() - message_.come() >= kLeastMissing && message_.unplaced() >= lend_at_;
}

std::optional<ReceivedMessage> MessageReader::LendPart() {
  if (!has_part()) return std::nullopt;
  is_lent_ = true;
  return std::move(message_);
}

void MessageReader::TakeBack(ReceivedMessage part) {
  if (!std::exchange(is_lent_, false)) return;  // nobody wants it any more
  const bool is_placed = part.unplaced() == 0;
  lend_at_ = is_placed ? kFirstPart : 2 * part.unplaced();
  message_ = std::move(part);
}

std::optional<ReceivedMessage> MessageReader::Next() {
  if (whole_.empty()) return std::nullopt;
  std::optional<ReceivedMessage> next = std::move(whole_.front());
  whole_.pop_front();
  bytes_ -= kMessagePrefix + next->size();
  return next;
}

std::optional<uint64_t> MessageReader::held_message() const {
  const bool is_any = prefix_size_ == kMessagePrefix || !whole_.empty();
  return is_any ? std::optional(number_) : std::nullopt;
}

void MessageReader::Clear() {
  prefix_size_ = 0;
  is_lent_ = false;
  message_ = {};
  whole_.clear();
  bytes_ = 0;
}

}  // namespace carillon
