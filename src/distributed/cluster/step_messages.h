// The messages of a step, RunStep and RunCallable, read and written without needless copies of
// their tensors. The other calls of the master service are small and use the generated classes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/status.h"
#include "carillon/tensor.h"
#include "proto/config.pb.h"
#include "tensor/tensor_wire.h"

namespace carillon {

using NamedTensor = std::pair<std::string, Tensor>;

struct StepRequest {
  std::string session_handle;
  std::vector<NamedTensor> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  tensorflow::RunOptions options;
  std::string partial_run_handle;
  bool store_errors_in_response_body = false;
};

struct StepReply {
  Status status;                     // goes into the body when the client asked for that
  std::vector<NamedTensor> tensors;  // each under the name by which it was asked for
  std::string metadata;              // a serialized tensorflow.RunMetadata
  std::shared_ptr<const void> metadata_charge = nullptr;  // for as long as it is kept
};

struct CallableRequest {
  std::string session_handle;
  int64_t handle = 0;
  std::vector<Tensor> feeds;
};

struct CallableReply {
  std::vector<Tensor> fetches;
  std::string metadata;
  std::shared_ptr<const void> metadata_charge = nullptr;
};

// Where the tensors of a session's requests go; asked when the first tensor comes.
using AllocatorOfSession =
    absl::FunctionRef<std::shared_ptr<Allocator>(const std::string& session_handle)>;
using CodedInput = google::protobuf::io::CodedInputStream;

// InvalidArgument when the bytes are no such message. `contents`: as of ReadTensor().
Status ReadStepRequest(CodedInput* in, std::span<const Tensor> contents,
                       AllocatorOfSession allocator_of, StepRequest* request);
Status ReadStepReply(CodedInput* in, StepReply* reply);
Status ReadCallableRequest(CodedInput* in, std::span<const Tensor> contents,
                           AllocatorOfSession allocator_of, CallableRequest* request);
Status ReadCallableReply(CodedInput* in, CallableReply* reply);

MessagePieces WriteStepRequest(const StepRequest& request);
MessagePieces WriteStepReply(const StepReply& reply);
MessagePieces WriteCallableRequest(const CallableRequest& request);
MessagePieces WriteCallableReply(const CallableReply& reply);

// About what the message of a reply takes that is not the memory of the reply's tensors.
int64_t OwnBytes(const StepReply& reply);
int64_t OwnBytes(const CallableReply& reply);

}  // namespace carillon
