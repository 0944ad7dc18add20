#include "distributed/rpc/feed_placer.h"

#include <google/protobuf/wire_format_lite.h>

#include "proto/master.pb.h"

namespace carillon {
namespace {

using WireFormat = google::protobuf::internal::WireFormatLite;
using tensorflow::NamedTensorProto;
using tensorflow::RunCallableRequest;
using tensorflow::RunStepRequest;

constexpr int64_t kMostAhead = 64;  // times what has come of a feed
constexpr int kMostFields = 1000;
constexpr uint32_t kLongestHandle = 1000;

constexpr int kStepFeed = RunStepRequest::kFeedFieldNumber;
constexpr int kCallableFeed = RunCallableRequest::kFeedFieldNumber;
constexpr int kSessionHandle = RunStepRequest::kSessionHandleFieldNumber;
static_assert(kSessionHandle == int{RunCallableRequest::kSessionHandleFieldNumber});

bool IsDelimited(uint32_t tag) {
  return WireFormat::GetTagWireType(tag) == WireFormat::WIRETYPE_LENGTH_DELIMITED;
}

bool ReadLength(CodedInput* in, uint32_t* length) {
  return in->ReadVarint32(length) && *length <= INT32_MAX;
}

// Passes the name of a NamedTensorProto, up to the bytes of its tensor; how many these are.
bool PassName(CodedInput* in, uint32_t* length) {
  while (const uint32_t tag = in->ReadTag()) {
    const int field = WireFormat::GetTagFieldNumber(tag);
    if (!IsDelimited(tag)) return false;
    if (field == NamedTensorProto::kTensorFieldNumber) return ReadLength(in, length);
    if (field != NamedTensorProto::kNameFieldNumber || !WireFormat::SkipField(in, tag))
      return false;
  }
  return false;
}

}  // namespace

void FeedPlacer::Place(ReceivedMessage* request, AllocatorOfSession allocator_of) {
  std::optional<Feed> feed;
  {
    ReceivedMessage::Stream stream(*request);
    if (!stream.Skip(static_cast<int>(position_))) return;
    CodedInput in(&stream);
    feed = FindNext(&in, static_cast<int64_t>(request->come()) - position_, allocator_of);
  }
  if (feed.has_value()) request->Place(static_cast<size_t>(feed->offset), std::move(feed->tensor));
}

std::optional<FeedPlacer::Feed> FeedPlacer::FindNext(CodedInput* in, int64_t come,
                                                     AllocatorOfSession allocator_of) {
  const int64_t start = position_;
  const int feeds = kind_ == Kind::kStep ? kStepFeed : kCallableFeed;
  while (fields_ < kMostFields) {
    const uint32_t tag = in->ReadTag();
    if (tag == 0) return std::nullopt;  // nothing more has come
    const int field = WireFormat::GetTagFieldNumber(tag);
    uint32_t length = 0;
    if (field == feeds && IsDelimited(tag)) {
      if (!ReadLength(in, &length)) return std::nullopt;
      const int64_t end = in->CurrentPosition() + static_cast<int64_t>(length);
      if (length >= large_ && end > come) {
        std::optional<Feed> feed = FindIn(in, length, come, allocator_of);
        if (!feed.has_value()) return std::nullopt;
        feed->offset += start;
        position_ = start + end;
        const int64_t content_end = feed->offset + static_cast<int64_t>(feed->tensor.num_bytes());
        if (content_end != position_)
          fields_ = kMostFields;  // it has other fields: no more is looked for
        return feed;
      }
      if (!in->Skip(static_cast<int>(length))) return std::nullopt;
    } else if (field == kSessionHandle && IsDelimited(tag)) {
      if (!ReadLength(in, &length) || length > kLongestHandle ||
          !in->ReadString(&session_handle_, static_cast<int>(length)))
        return std::nullopt;
    } else if (kind_ == Kind::kCallable && field == RunCallableRequest::kHandleFieldNumber) {
      if (!WireFormat::SkipField(in, tag)) return std::nullopt;
    } else {
      return std::nullopt;  // feeds come before all else
    }
    position_ = start + in->CurrentPosition();
    ++fields_;
  }
  return std::nullopt;
}

std::optional<FeedPlacer::Feed> FeedPlacer::FindIn(CodedInput* in, uint32_t length, int64_t come,
                                                   AllocatorOfSession allocator_of) {
  if (kind_ == Kind::kStep && !PassName(in, &length)) return std::nullopt;
  if (allocator_ == nullptr) allocator_ = allocator_of(session_handle_);
  const int64_t most = kMostAhead * (come - in->CurrentPosition());
  Tensor tensor =
      AllocateForContent(in, static_cast<int>(length), static_cast<size_t>(most), allocator_.get());
  if (!tensor.has_value() || tensor.num_bytes() < large_) return std::nullopt;
  return Feed{in->CurrentPosition(), std::move(tensor)};
}

}  // namespace carillon
