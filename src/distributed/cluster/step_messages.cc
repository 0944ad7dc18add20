#include "distributed/cluster/step_messages.h"

#include "distributed/cluster/field_reader.h"
#include "proto/master.pb.h"

namespace carillon {
namespace {

using tensorflow::RunCallableRequest;
using tensorflow::RunCallableResponse;
using tensorflow::RunStepRequest;
using tensorflow::RunStepResponse;

void AddStatus(const Status& status, MessagePieces* pieces) {
  pieces->AddInt(RunStepResponse::kStatusCodeFieldNumber, static_cast<int>(status.code()));
  pieces->AddString(RunStepResponse::kStatusErrorMessageFieldNumber,
                    std::string_view(status.message().data(), status.message().size()));
}

}  // namespace

Status ReadStepRequest(CodedInput* in, std::span<const Tensor> contents,
                       AllocatorOfSession allocator_of, StepRequest* request) {
  FieldReader reader(in, contents);
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

Status ReadCallableRequest(CodedInput* in, std::span<const Tensor> contents,
                           AllocatorOfSession allocator_of, CallableRequest* request) {
  FieldReader reader(in, contents);
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

int64_t OwnBytes(const StepReply& reply) {
  auto bytes = static_cast<int64_t>(reply.metadata.size() + reply.status.message().size());
  for (const auto& [name, tensor] : reply.tensors)
    bytes += static_cast<int64_t>(name.size()) + MessagePieces::OwnBytes(tensor);
  return bytes;
}

int64_t OwnBytes(const CallableReply& reply) {
  auto bytes = static_cast<int64_t>(reply.metadata.size());
  for (const Tensor& fetch : reply.fetches) bytes += MessagePieces::OwnBytes(fetch);
  return bytes;
}

}  // namespace carillon
