#include "distributed/cluster/client_session.h"

#include <algorithm>
#include <mutex>
#include <string>

#include "base/strings.h"
#include "graph/graph_def.h"
#include "runtime/feeds.h"

namespace carillon {
namespace {

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

// "Add" of "sum = Add(…)", as servers describe a node; empty when they do not.
std::string OpOfLabel(const std::string& label) {
  const size_t equals = label.find(" = ");
  if (equals == std::string::npos) return "";
  const size_t begin = equals + 3;
  return label.substr(begin, label.find('(', begin) - begin);
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
      metadata->nodes.push_back({.node = node.node_name(),
                                 .op = OpOfLabel(node.timeline_label()),
                                 .device = device.device(),
                                 .start_ns = start,
                                 .end_ns = start + length});
    }
  }
}

// Thread-safe. Invariants, under mutex_: the server has the first sent_ nodes of graph_, as
// version_ of session handle_; all three are empty until the first step.
class ClientSession final : public SessionBackend {
 public:
  ClientSession(std::unique_ptr<MasterClient> master, const NodeGraph& graph,
                const SessionOptions& options)
      : master_(std::move(master)), graph_(graph), options_(options) {}

  ~ClientSession() override { Close(); }

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
      CARILLON_RETURN_IF_ERROR(master_->Connect(options_.connect_timeout));
      tensorflow::CreateSessionRequest request;
      tensorflow::CreateSessionResponse response;
      ExportGraphDef(graph_, request.mutable_graph_def());
      request.mutable_config()->set_allow_soft_placement(options_.allow_soft_placement);
      request.mutable_config()->set_intra_op_parallelism_threads(options_.threads);
      CARILLON_RETURN_IF_ERROR(master_->CreateSession(request, &response));
      handle_ = response.session_handle();
      version_ = response.graph_version();
    } else {
      tensorflow::ExtendSessionRequest request;
      tensorflow::ExtendSessionResponse response;
      request.set_session_handle(handle_);
      request.set_current_graph_version(version_);
      ExportGraphDef(graph_, request.mutable_graph_def(), sent_);
      CARILLON_RETURN_IF_ERROR(master_->ExtendSession(request, &response));
      version_ = response.new_graph_version();
    }
    sent_ = nodes;
    return handle_;
  }

  // `request.session_handle` is filled in.
  Status RunStep(StepRequest request, const RunOptions& options, StepReply* reply) {
    CARILLON_ASSIGN_OR_RETURN(request.session_handle, Update());
    request.store_errors_in_response_body = true;
    if (options.timeout.count() > 0) request.options.set_timeout_in_ms(options.timeout.count());
    CARILLON_RETURN_IF_ERROR(master_->RunStep(std::move(request), reply));
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
    request.set_session_handle(handle);
    master_->CloseSession(request, options_.connect_timeout);
  }

 private:
  const std::unique_ptr<MasterClient> master_;
  const NodeGraph& graph_;
  const SessionOptions options_;

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

class ClientStep final : public StepRunner {
 public:
  ClientStep(ClientSession* session, const std::vector<Endpoint>& feeds,
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
  ClientSession* const session_;
  const std::vector<Endpoint> feed_points_;
  const std::vector<std::string> feeds_, fetches_, targets_;
};

class ClientParts final : public PartsRunner {
 public:
  ClientParts(ClientSession* session, std::string handle, std::vector<std::string> feeds,
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
  ClientSession* const session_;
  const std::string handle_;
  const std::vector<std::string> feeds_, fetches_;
};

StatusOr<std::shared_ptr<StepRunner>> ClientSession::PrepareStep(
    const std::vector<Endpoint>& feeds, const std::vector<Endpoint>& fetches,
    const std::vector<Node*>& targets) {
  return std::make_shared<ClientStep>(this, feeds, NamesOf(fetches), NamesOf(targets));
}

StatusOr<std::unique_ptr<PartsRunner>> ClientSession::StartStepInParts(
    const std::vector<Endpoint>& feeds, const std::vector<Endpoint>& fetches,
    const std::vector<Node*>& targets) {
  CARILLON_ASSIGN_OR_RETURN(const std::string handle, Update());
  tensorflow::PartialRunSetupRequest request;
  tensorflow::PartialRunSetupResponse response;
  request.set_session_handle(handle);
  for (const std::string& name : NamesOf(feeds)) request.add_feed(name);
  for (const std::string& name : NamesOf(fetches)) request.add_fetch(name);
  for (const std::string& name : NamesOf(targets)) request.add_target(name);
  CARILLON_RETURN_IF_ERROR(master_->PartialRunSetup(request, &response));
  return std::make_unique<ClientParts>(this, response.partial_run_handle(), NamesOf(feeds),
                                       NamesOf(fetches));
}

}  // namespace

std::unique_ptr<SessionBackend> MakeClientSession(std::unique_ptr<MasterClient> master,
                                                  const NodeGraph& graph,
                                                  const SessionOptions& options) {
  return std::make_unique<ClientSession>(std::move(master), graph, options);
}

}  // namespace carillon
