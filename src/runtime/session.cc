#include "carillon/session.h"

#include <algorithm>

#include "base/throw.h"
#include "runtime/local_session.h"
#include "runtime/session_backend.h"

namespace carillon {
namespace {

constexpr const char* kLocalTask = "/job:localhost/replica:0/task:0";

[[noreturn]] void ThrowOtherGraph(const Graph& graph, const std::string& name) {
  const auto& nodes = graph.nodes().nodes();
  const auto some = std::ranges::find_if(nodes, [](const auto& node) { return node != nullptr; });
  Throw(InvalidArgument(
      "'", name, "' is of another graph than the session's, which ",
      some == nodes.end() ? "is empty" : "holds '" + (*some)->name() + "' and others"));
}

Endpoint EndpointOf(const Graph& graph, const Output& output) {
  if (!output.valid())
    Throw(InvalidArgument("an Output that refers to nothing was given to a session"));
  if (&output.graph() != &graph) ThrowOtherGraph(graph, output.name());
  return {output.node(), output.index()};
}

std::vector<Endpoint> EndpointsOf(const Graph& graph, const std::vector<Output>& outputs) {
  std::vector<Endpoint> endpoints;
  endpoints.reserve(outputs.size());
  for (const Output& output : outputs) endpoints.push_back(EndpointOf(graph, output));
  return endpoints;
}

std::vector<Node*> NodesOf(const Graph& graph, const std::vector<Operation>& ops) {
  std::vector<Node*> nodes;
  nodes.reserve(ops.size());
  for (const Operation& op : ops) {
    if (!op.valid())
      Throw(InvalidArgument("an Operation that refers to nothing was given to a session"));
    if (&op.graph() != &graph) ThrowOtherGraph(graph, op.name());
    nodes.push_back(op.node());
  }
  return nodes;
}

// Steps in this process, on a device and with resources of the session's own.
class LocalBackend final : public SessionBackend {
 public:
  LocalBackend(const NodeGraph& graph, const SessionOptions& options)
      : device_(MakeCpuDevice(kLocalTask, {.limit_bytes = options.memory_limit_bytes})),
        session_(graph, device_, &resources_, options) {}

  StatusOr<std::shared_ptr<StepRunner>> PrepareStep(const std::vector<Endpoint>& feeds,
                                                    const std::vector<Endpoint>& fetches,
                                                    const std::vector<Node*>& targets) override {
    return session_.Prepare(feeds, fetches, targets);
  }
  StatusOr<std::unique_ptr<PartsRunner>> StartStepInParts(
      const std::vector<Endpoint>& feeds, const std::vector<Endpoint>& fetches,
      const std::vector<Node*>& targets) override {
    return session_.StartInParts(feeds, fetches, targets);
  }
  void Close() override { session_.Close(); }
  int64_t bytes_in_use() const override { return device_->allocator->stats().bytes_in_use; }
  int64_t peak_bytes() const override { return device_->allocator->stats().peak_bytes; }

 private:
  std::shared_ptr<Device> device_;
  MapResourceStore resources_;
  LocalSession session_;
};

}  // namespace

struct Callable::State {
  std::shared_ptr<StepRunner> run;
};

void Callable::Run(const std::vector<Tensor>& feeds, std::vector<Tensor>* fetches,
                   const RunOptions& options) const {
  if (state_ == nullptr) Throw(FailedPrecondition("the Callable was not made by a session"));
  ThrowIfError(state_->run->Run(feeds, options, fetches, nullptr));
}

std::vector<Tensor> Callable::operator()(const std::vector<Tensor>& feeds,
                                         const RunOptions& options) const {
  std::vector<Tensor> fetches;
  Run(feeds, &fetches, options);
  return fetches;
}

Session::Session(Graph& graph, const SessionOptions& options)
    : state_(new State{graph, std::make_unique<LocalBackend>(graph.nodes(), options)}) {}
Session::~Session() = default;

std::vector<Tensor> Session::Run(const std::vector<Output>& fetches, const Feeds& feeds,
                                 const std::vector<Operation>& targets, const RunOptions& options,
                                 RunMetadata* metadata) {
  std::vector<Endpoint> feed_points;
  std::vector<Tensor> feed_values;
  feed_points.reserve(feeds.size());
  feed_values.reserve(feeds.size());
  for (const auto& [output, value] : feeds) {
    feed_points.push_back(EndpointOf(state_->graph, output));
    feed_values.push_back(value);
  }
  const auto run = ValueOrThrow(state_->backend->PrepareStep(
      feed_points, EndpointsOf(state_->graph, fetches), NodesOf(state_->graph, targets)));
  std::vector<Tensor> results;
  ThrowIfError(run->Run(feed_values, options, &results, metadata));
  return results;
}

Tensor Session::Run(const Output& fetch, const Feeds& feeds) {
  return Run(std::vector<Output>{fetch}, feeds)[0];
}

void Session::Run(const Operation& target, const Feeds& feeds) {
  Run(std::vector<Output>{}, feeds, {target});
}

Callable Session::MakeCallable(const std::vector<Output>& feeds, const std::vector<Output>& fetches,
                               const std::vector<Operation>& targets) {
  Callable callable;
  callable.state_ =
      std::make_shared<Callable::State>(Callable::State{ValueOrThrow(state_->backend->PrepareStep(
          EndpointsOf(state_->graph, feeds), EndpointsOf(state_->graph, fetches),
          NodesOf(state_->graph, targets)))});
  return callable;
}

struct PartialRun::State {
  const Graph* graph;
  std::vector<Endpoint> feeds, fetches;
  std::unique_ptr<PartsRunner> step;

  static size_t Position(const std::vector<Endpoint>& list, const Endpoint& wanted) {
    const auto found = std::ranges::find(list, wanted);
    if (found == list.end())
      Throw(InvalidArgument("'", wanted.node->name(), ":", wanted.index,
                            "' was not named when the partial run was set up"));
    return static_cast<size_t>(found - list.begin());
  }
};

PartialRun Session::MakePartialRun(const std::vector<Output>& feeds,
                                   const std::vector<Output>& fetches,
                                   const std::vector<Operation>& targets) {
  PartialRun run;
  run.state_ = std::make_shared<PartialRun::State>();
  run.state_->graph = &state_->graph;
  run.state_->feeds = EndpointsOf(state_->graph, feeds);
  run.state_->fetches = EndpointsOf(state_->graph, fetches);
  run.state_->step = ValueOrThrow(state_->backend->StartStepInParts(
      run.state_->feeds, run.state_->fetches, NodesOf(state_->graph, targets)));
  return run;
}

std::vector<Tensor> PartialRun::Run(const std::vector<Output>& fetches, const Feeds& feeds) {
  if (state_ == nullptr) Throw(FailedPrecondition("the PartialRun was not made by a session"));
  std::vector<std::pair<size_t, Tensor>> given;
  for (const auto& [output, value] : feeds)
    given.emplace_back(State::Position(state_->feeds, EndpointOf(*state_->graph, output)), value);
  std::vector<size_t> wanted;
  for (const Output& fetch : fetches)
    wanted.push_back(State::Position(state_->fetches, EndpointOf(*state_->graph, fetch)));
  std::vector<Tensor> results;
  ThrowIfError(state_->step->Exchange(given, wanted, &results));
  return results;
}

void Session::Close() { state_->backend->Close(); }
int64_t Session::bytes_in_use() const { return state_->backend->bytes_in_use(); }
int64_t Session::peak_bytes() const { return state_->backend->peak_bytes(); }

}  // namespace carillon
