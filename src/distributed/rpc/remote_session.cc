// Sessions on a server: what the public Session stands on when it is given a target.
#include <condition_variable>
#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <mutex>
#include <string>

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/session.h"
#include "distributed/cluster/step_messages.h"
#include "distributed/rpc/conversions.h"
#include "distributed/rpc/grpc_setup.h"
#include "graph/graph_def.h"
#include "proto/master.grpc.pb.h"
#include "runtime/feeds.h"
#include "runtime/session_backend.h"

namespace carillon {
namespace {

constexpr std::string_view kScheme = "grpc://";
constexpr const char* kRunStep = "/tensorflow.MasterService/RunStep";

std::string NameOf(const Endpoint& value) { return StrCat(value.node->name(), ":", value.index); }

std::vector<std::string> NamesOf(const std::vector<Endpoint>& values) {
  std::vector<std::string> names;
  for (const Endpoint& value : values) names.push_back(NameOf(value));
  return names;
}

std::vector<std::string> NamesOf(const std::vector<Node*>& nodes) {
  std::vector<std::string> names;
  for (const Node* node : nodes) names.push_back(node->name());
  return names;
}

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
  SetUpGrpc();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

void ReadMetadata(const std::string& bytes, RunMetadata* metadata) {
  tensorflow::RunMetadata proto;
  if (metadata == nullptr || !proto.ParseFromString(bytes)) return;
  for (const auto& device : proto.step_stats().dev_stats()) {
    if (metadata->device.empty()) metadata->device = device.device();
    for (const auto& node : device.node_stats()) {
      const int64_t start =
          node.all_start_nanos() != 0 ? node.all_start_nanos() : node.all_start_micros() * 1000;
      const int64_t length = node.all_end_rel_nanos() != 0 ? node.all_end_rel_nanos()
                                                           : node.all_end_rel_micros() * 1000;
      metadata->nodes.push_back(
          {.node = node.node_name(), .start_ns = start, .end_ns = start + length});
    }
  }
}

// Thread-safe. Invariants, under mutex_: the server has the first sent_ nodes of graph_, as
// version_ of session handle_; all three are empty until the first step.
class RemoteSession final : public SessionBackend {
 public:
  RemoteSession(const std::string& target, const NodeGraph& graph, const SessionOptions& options)
      : address_(target.substr(kScheme.size())),
        graph_(graph),
        options_(options),
        channel_(ChannelTo(address_)),
        master_(tensorflow::MasterService::NewStub(channel_)),
        raw_(channel_) {}

  ~RemoteSession() override { Close(); }

  StatusOr<std::shared_ptr<StepRunner>> PrepareStep(const std::vector<Endpoint>& feeds,
                                                    const std::vector<Endpoint>& fetches,
                                                    const std::vector<Node*>& targets) override;
  StatusOr<std::unique_ptr<PartsRunner>> StartStepInParts(
      const std::vector<Endpoint>& feeds, const std::vector<Endpoint>& fetches,
      const std::vector<Node*>& targets) override;

  // Brings the server up to date with the graph; the session's handle.
  StatusOr<std::string> Update() {
    std::lock_guard lock(mutex_);
    if (closed_) return FailedPrecondition("the session has been closed");
    if (!handle_.empty() && graph_.num_nodes() == sent_) return handle_;
    const int nodes = graph_.num_nodes();
    if (handle_.empty()) {
      CARILLON_RETURN_IF_ERROR(Connect());
      tensorflow::CreateSessionRequest request;
      tensorflow::CreateSessionResponse response;
      ExportGraphDef(graph_, request.mutable_graph_def());
      request.mutable_config()->set_allow_soft_placement(options_.allow_soft_placement);
      request.mutable_config()->set_intra_op_parallelism_threads(options_.threads);
      grpc::ClientContext context;
      CARILLON_RETURN_IF_ERROR(Named(master_->CreateSession(&context, request, &response)));
      handle_ = response.session_handle();
      version_ = response.graph_version();
    } else {
      tensorflow::ExtendSessionRequest request;
      tensorflow::ExtendSessionResponse response;
      request.set_session_handle(handle_);
      request.set_current_graph_version(version_);
      ExportGraphDef(graph_, request.mutable_graph_def(), sent_);
      grpc::ClientContext context;
      CARILLON_RETURN_IF_ERROR(Named(master_->ExtendSession(&context, request, &response)));
      version_ = response.new_graph_version();
    }
    sent_ = nodes;
    return handle_;
  }

  // One RunStep. `request.session_handle` is filled in.
  Status RunStep(StepRequest request, const RunOptions& options, StepReply* reply) {
    CARILLON_ASSIGN_OR_RETURN(request.session_handle, Update());
    request.store_errors_in_response_body = true;
    grpc::ClientContext context;
    if (options.timeout.count() > 0) {
      request.options.set_timeout_in_ms(options.timeout.count());
      // The server ends the step; who does not answer at all is given up a little later.
      constexpr std::chrono::seconds kGrace{5};
      context.set_deadline(std::chrono::system_clock::now() + options.timeout + kGrace);
    }
    const grpc::ByteBuffer sent = ToByteBuffer(WriteStepRequest(request));
    grpc::ByteBuffer received;
    std::mutex mutex;
    std::condition_variable answered;
    bool done = false;
    grpc::Status status;
    raw_.UnaryCall(&context, kRunStep, grpc::StubOptions(), &sent, &received,
                   [&](grpc::Status result) {
                     std::lock_guard lock(mutex);
                     status = std::move(result);
                     done = true;
                     answered.notify_one();
                   });
    {
      std::unique_lock lock(mutex);
      answered.wait(lock, [&] { return done; });
    }
    CARILLON_RETURN_IF_ERROR(Named(status));
    grpc::ProtoBufferReader stream(&received);
    google::protobuf::io::CodedInputStream in(&stream);
    in.PushLimit(static_cast<int>(received.Length()));
    CARILLON_RETURN_IF_ERROR(ReadStepReply(&in, reply));
    return reply->status;
  }

  void Close() override {
    std::string handle;
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
      handle.swap(handle_);
    }
    if (handle.empty()) return;
    tensorflow::CloseSessionRequest request;
    tensorflow::CloseSessionResponse response;
    request.set_session_handle(handle);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + options_.connect_timeout);
    // A server that is gone has closed the session too.
    static_cast<void>(master_->CloseSession(&context, request, &response));
  }

  // What gRPC says of a call, with the server's address where the transport failed.
  Status Named(const grpc::Status& status) const {
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) return FromGrpcStatus(status);
    return absl::UnavailableError(
        StrCat("the server at ", address_, " cannot be reached: ", status.error_message()));
  }

 private:
  Status Connect() {
    if (channel_->WaitForConnected(std::chrono::system_clock::now() + options_.connect_timeout))
      return absl::OkStatus();
    return absl::UnavailableError(
        StrCat("no server answers at ", address_, "; waited for ",
               std::chrono::duration<double>(options_.connect_timeout).count(),
               " s. Is it running, and is the address right?"));
  }

  const std::string address_;
  const NodeGraph& graph_;
  const SessionOptions options_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<tensorflow::MasterService::Stub> master_;
  grpc::GenericStub raw_;

  std::mutex mutex_;
  std::string handle_;
  int64_t version_ = 0;
  int sent_ = 0;
  bool closed_ = false;
};

// Takes the reply's tensors in the order in which they were asked for.
Status TakeFetches(const std::vector<std::string>& names, StepReply* reply,
                   std::vector<Tensor>* fetches) {
  fetches->assign(names.size(), Tensor());
  for (size_t i = 0; i < names.size(); ++i) {
    for (auto& [name, tensor] : reply->tensors) {
      if (name == names[i]) (*fetches)[i] = tensor;
    }
    if (!(*fetches)[i].has_value())
      return Internal("the server's answer lacks the fetch '", names[i], "'");
  }
  return absl::OkStatus();
}

class RemoteStep final : public StepRunner {
 public:
  RemoteStep(RemoteSession* session, const std::vector<Endpoint>& feeds,
             std::vector<std::string> fetches, std::vector<std::string> targets)
      : session_(session),
        feed_points_(feeds),
        feeds_(NamesOf(feeds)),
        fetches_(std::move(fetches)),
        targets_(std::move(targets)) {}

  Status Run(std::span<const Tensor> feeds, const RunOptions& options, std::vector<Tensor>* fetches,
             RunMetadata* metadata) override {
    // TensorFlow's server leaves that to its clients.
    CARILLON_RETURN_IF_ERROR(CheckFeeds(feed_points_, feeds));
    StepRequest request;
    for (size_t i = 0; i < feeds.size(); ++i) request.feeds.emplace_back(feeds_[i], feeds[i]);
    // Servers refuse, or answer once, what is asked for twice, and refuse to give back what is fed.
    StepReply reply;
    for (const std::string& fetch : fetches_) {
      const auto fed = std::ranges::find(feeds_, fetch);
      if (fed != feeds_.end()) {
        reply.tensors.emplace_back(fetch, feeds[static_cast<size_t>(fed - feeds_.begin())]);
      } else if (std::ranges::find(request.fetches, fetch) == request.fetches.end()) {
        request.fetches.push_back(fetch);
      }
    }
    request.targets = targets_;
    if (request.fetches.empty() && request.targets.empty()) {
      CARILLON_RETURN_IF_ERROR(session_->Update().status());
      return TakeFetches(fetches_, &reply, fetches);
    }
    if (options.trace && metadata != nullptr)
      request.options.set_trace_level(tensorflow::RunOptions::FULL_TRACE);
    CARILLON_RETURN_IF_ERROR(session_->RunStep(std::move(request), options, &reply));
    if (options.trace) ReadMetadata(reply.metadata, metadata);
    return TakeFetches(fetches_, &reply, fetches);
  }

 private:
  RemoteSession* const session_;
  const std::vector<Endpoint> feed_points_;
  const std::vector<std::string> feeds_, fetches_, targets_;
};

class RemoteParts final : public PartsRunner {
 public:
  RemoteParts(RemoteSession* session, std::string handle, std::vector<std::string> feeds,
              std::vector<std::string> fetches)
      : session_(session),
        handle_(std::move(handle)),
        feeds_(std::move(feeds)),
        fetches_(std::move(fetches)) {}

  Status Exchange(const std::vector<std::pair<size_t, Tensor>>& feeds,
                  const std::vector<size_t>& fetches, std::vector<Tensor>* results) override {
    StepRequest request;
    request.partial_run_handle = handle_;
    for (const auto& [i, value] : feeds) request.feeds.emplace_back(feeds_[i], value);
    for (const size_t i : fetches) request.fetches.push_back(fetches_[i]);
    const std::vector<std::string> names = request.fetches;
    StepReply reply;
    CARILLON_RETURN_IF_ERROR(session_->RunStep(std::move(request), {}, &reply));
    return TakeFetches(names, &reply, results);
  }

 private:
  RemoteSession* const session_;
  const std::string handle_;
  const std::vector<std::string> feeds_, fetches_;
};

StatusOr<std::shared_ptr<StepRunner>> RemoteSession::PrepareStep(
    const std::vector<Endpoint>& feeds, const std::vector<Endpoint>& fetches,
    const std::vector<Node*>& targets) {
  return std::make_shared<RemoteStep>(this, feeds, NamesOf(fetches), NamesOf(targets));
}

StatusOr<std::unique_ptr<PartsRunner>> RemoteSession::StartStepInParts(
    const std::vector<Endpoint>& feeds, const std::vector<Endpoint>& fetches,
    const std::vector<Node*>& targets) {
  CARILLON_ASSIGN_OR_RETURN(const std::string handle, Update());
  tensorflow::PartialRunSetupRequest request;
  tensorflow::PartialRunSetupResponse response;
  request.set_session_handle(handle);
  for (const std::string& name : NamesOf(feeds)) request.add_feed(name);
  for (const std::string& name : NamesOf(fetches)) request.add_fetch(name);
  for (const std::string& name : NamesOf(targets)) request.add_target(name);
  grpc::ClientContext context;
  CARILLON_RETURN_IF_ERROR(Named(master_->PartialRunSetup(&context, request, &response)));
  return std::make_unique<RemoteParts>(this, response.partial_run_handle(), NamesOf(feeds),
                                       NamesOf(fetches));
}

}  // namespace

Session::Session(const std::string& target, Graph& graph, const SessionOptions& options)
    : state_(new State{graph, nullptr}) {
  if (!target.starts_with(kScheme) || target.size() == kScheme.size()) {
    Throw(InvalidArgument("'", target, "' is no target of a session: it should look like ", kScheme,
                          "host:port"));
  }
  state_->backend = std::make_unique<RemoteSession>(target, graph.nodes(), options);
}

}  // namespace carillon
