#include "distributed/cluster/step_messages.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "proto/master.pb.h"

namespace carillon {
namespace {

using WireFormat = google::protobuf::internal::WireFormatLite;
using tensorflow::NamedTensorProto;
using tensorflow::RunCallableRequest;
using tensorflow::RunCallableResponse;
using tensorflow::RunStepRequest;
using tensorflow::RunStepResponse;

Status Malformed() { return InvalidArgument("the message is malformed"); }

// Reads the fields of one message, one after the other. After a failure nothing more is read.
class FieldReader {
 public:
  explicit FieldReader(CodedInput* in) : in_(in) {}

  // The next field's number; 0 at the end of the message, or after a failure.
  int Next() {
    if (failed_) return 0;
    tag_ = in_->ReadTag();
    if (tag_ == 0 && !in_->ConsumedEntireMessage() && in_->BytesUntilLimit() != 0) failed_ = true;
    return WireFormat::GetTagFieldNumber(tag_);
  }

  void Read(int64_t* value) {
    uint64_t bits = 0;
    Check(IsVarint() && in_->ReadVarint64(&bits));
    *value = static_cast<int64_t>(bits);
  }
  void Read(bool* value) {
    int64_t bits = 0;
    Read(&bits);
    *value = bits != 0;
  }
  void Read(std::string* value) {
    const int length = Length();
    Check(!failed_ && in_->ReadString(value, length));
  }
  void Read(google::protobuf::MessageLite* message) {
    std::string bytes;
    Read(&bytes);
    Check(!failed_ && message->ParseFromString(bytes));
  }
  template <typename T>
  void Append(std::vector<T>* values) {
    Read(&values->emplace_back());
  }

  void ReadTensorInto(Allocator* allocator, Tensor* tensor) {
    const int length = Length();
    if (failed_) return;
    StatusOr<Tensor> read = ReadTensor(in_, length, allocator);
    if (read.ok()) {
      *tensor = *std::move(read);
    } else {
      tensor_error_ = read.status();
      failed_ = true;
    }
  }

  void ReadNamedTensor(Allocator* allocator, NamedTensor* named) {
    const int length = Length();
    if (failed_) return;
    const CodedInput::Limit limit = in_->PushLimit(length);
    while (const int field = Next()) {
      if (field == NamedTensorProto::kNameFieldNumber) {
        Read(&named->first);
      } else if (field == NamedTensorProto::kTensorFieldNumber) {
        ReadTensorInto(allocator, &named->second);
      } else {
        Skip();
      }
    }
    Check(in_->BytesUntilLimit() == 0);
    if (!failed_) in_->PopLimit(limit);
  }

  void Skip() { Check(WireFormat::SkipField(in_, tag_)); }

  Status Finish() const {
    if (!tensor_error_.ok()) return tensor_error_;
    return failed_ ? Malformed() : absl::OkStatus();
  }

 private:
  bool IsVarint() const { return WireFormat::GetTagWireType(tag_) == WireFormat::WIRETYPE_VARINT; }
  int Length() {
    uint32_t length = 0;
    Check(WireFormat::GetTagWireType(tag_) == WireFormat::WIRETYPE_LENGTH_DELIMITED &&
          in_->ReadVarint32(&length) && length <= INT32_MAX);
    // Never more than there is: strings are allocated by it.
    const int left = in_->BytesUntilLimit();
    Check(left < 0 || static_cast<int>(length) <= left);
    return static_cast<int>(length);
  }
  void Check(bool ok) { failed_ = failed_ || !ok; }

  CodedInput* const in_;
  uint32_t tag_ = 0;
  bool failed_ = false;
  Status tensor_error_;
};

void AddStatus(const Status& status, MessagePieces* pieces) {
  pieces->AddInt(RunStepResponse::kStatusCodeFieldNumber, static_cast<int>(status.code()));
  pieces->AddString(RunStepResponse::kStatusErrorMessageFieldNumber,
                    std::string_view(status.message().data(), status.message().size()));
}

}  // namespace

Status ReadStepRequest(CodedInput* in, AllocatorOfSession allocator_of, StepRequest* request) {
  FieldReader reader(in);
  std::shared_ptr<Allocator> allocator;
  while (const int field = reader.Next()) {
    switch (field) {
      case RunStepRequest::kSessionHandleFieldNumber:
        reader.Read(&request->session_handle);
        break;
      case RunStepRequest::kFeedFieldNumber:
        if (allocator == nullptr) allocator = allocator_of(request->session_handle);
        reader.ReadNamedTensor(allocator.get(), &request->feeds.emplace_back());
        break;
      case RunStepRequest::kFetchFieldNumber:
        reader.Append(&request->fetches);
        break;
      case RunStepRequest::kTargetFieldNumber:
        reader.Append(&request->targets);
        break;
      case RunStepRequest::kOptionsFieldNumber:
        reader.Read(&request->options);
        break;
      case RunStepRequest::kPartialRunHandleFieldNumber:
        reader.Read(&request->partial_run_handle);
        break;
      case RunStepRequest::kStoreErrorsInResponseBodyFieldNumber:
        reader.Read(&request->store_errors_in_response_body);
        break;
      default:
        reader.Skip();
    }
  }
  return reader.Finish();
}

Status ReadStepReply(CodedInput* in, StepReply* reply) {
  FieldReader reader(in);
  int64_t code = 0;
  std::string message;
  while (const int field = reader.Next()) {
    switch (field) {
      case RunStepResponse::kTensorFieldNumber:
        reader.ReadNamedTensor(HostAllocator(), &reply->tensors.emplace_back());
        break;
      case RunStepResponse::kMetadataFieldNumber:
        reader.Read(&reply->metadata);
        break;
      case RunStepResponse::kStatusCodeFieldNumber:
        reader.Read(&code);
        break;
      case RunStepResponse::kStatusErrorMessageFieldNumber:
        reader.Read(&message);
        break;
      default:
        reader.Skip();
    }
  }
  reply->status = Status(static_cast<absl::StatusCode>(code), message);
  return reader.Finish();
}

Status ReadCallableRequest(CodedInput* in, AllocatorOfSession allocator_of,
                           CallableRequest* request) {
  FieldReader reader(in);
  std::shared_ptr<Allocator> allocator;
  while (const int field = reader.Next()) {
    switch (field) {
      case RunCallableRequest::kSessionHandleFieldNumber:
        reader.Read(&request->session_handle);
        break;
      case RunCallableRequest::kHandleFieldNumber:
        reader.Read(&request->handle);
        break;
      case RunCallableRequest::kFeedFieldNumber:
        if (allocator == nullptr) allocator = allocator_of(request->session_handle);
        reader.ReadTensorInto(allocator.get(), &request->feeds.emplace_back());
        break;
      default:
        reader.Skip();
    }
  }
  return reader.Finish();
}

Status ReadCallableReply(CodedInput* in, CallableReply* reply) {
  FieldReader reader(in);
  while (const int field = reader.Next()) {
    switch (field) {
      case RunCallableResponse::kFetchFieldNumber:
        reader.ReadTensorInto(HostAllocator(), &reply->fetches.emplace_back());
        break;
      case RunCallableResponse::kMetadataFieldNumber:
        reader.Read(&reply->metadata);
        break;
      default:
        reader.Skip();
    }
  }
  return reader.Finish();
}

MessagePieces WriteStepRequest(const StepRequest& request) {
  MessagePieces pieces;
  pieces.AddString(RunStepRequest::kSessionHandleFieldNumber, request.session_handle);
  for (const auto& [name, tensor] : request.feeds)
    pieces.AddNamedTensor(RunStepRequest::kFeedFieldNumber, name, tensor);
  for (const std::string& fetch : request.fetches)
    pieces.AddString(RunStepRequest::kFetchFieldNumber, fetch);
  for (const std::string& target : request.targets)
    pieces.AddString(RunStepRequest::kTargetFieldNumber, target);
  pieces.AddString(RunStepRequest::kOptionsFieldNumber, request.options.SerializeAsString());
  pieces.AddString(RunStepRequest::kPartialRunHandleFieldNumber, request.partial_run_handle);
  pieces.AddInt(RunStepRequest::kStoreErrorsInResponseBodyFieldNumber,
                request.store_errors_in_response_body);
  return pieces;
}

MessagePieces WriteStepReply(const StepReply& reply) {
  MessagePieces pieces;
  for (const auto& [name, tensor] : reply.tensors)
    pieces.AddNamedTensor(RunStepResponse::kTensorFieldNumber, name, tensor);
  pieces.AddString(RunStepResponse::kMetadataFieldNumber, reply.metadata);
  AddStatus(reply.status, &pieces);
  return pieces;
}

MessagePieces WriteCallableRequest(const CallableRequest& request) {
  MessagePieces pieces;
  pieces.AddString(RunCallableRequest::kSessionHandleFieldNumber, request.session_handle);
  pieces.AddInt(RunCallableRequest::kHandleFieldNumber, request.handle);
  for (const Tensor& feed : request.feeds)
    pieces.AddTensor(RunCallableRequest::kFeedFieldNumber, feed);
  return pieces;
}

MessagePieces WriteCallableReply(const CallableReply& reply) {
  MessagePieces pieces;
  for (const Tensor& fetch : reply.fetches)
    pieces.AddTensor(RunCallableResponse::kFetchFieldNumber, fetch);
  pieces.AddString(RunCallableResponse::kMetadataFieldNumber, reply.metadata);
  return pieces;
}

}  // namespace carillon
