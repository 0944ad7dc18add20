#include "runtime/step_in_parts.h"

#include <algorithm>

#include "base/strings.h"
#include "base/throw.h"
#include "runtime/local_session.h"

namespace carillon {
namespace {

Status NotTaken() {
  return InvalidArgument(
      "a fetch of the partial run has no value: it belongs to a branch that was not taken");
}

std::string NameOf(const Endpoint& value) {
  return StrCat("'", value.node->name(), ":", value.index, "'");
}

}  // namespace

std::vector<bool> StepInParts::FindFeeds(const NodeGraph& graph, const Places& feeds,
                                         const std::vector<Endpoint>& values,
                                         const std::vector<Node*>& targets) {
  std::vector<bool> found(feeds.size()), seen(static_cast<size_t>(graph.num_nodes()));
  std::vector<const Node*> stack;
  const auto visit_node = [&](const Node* node) {
    if (node == nullptr || seen[static_cast<size_t>(node->id())]) return;
    seen[static_cast<size_t>(node->id())] = true;
    stack.push_back(node);
  };
  const auto visit = [&](const Endpoint& value) {
    const auto feed = feeds.find({value.node, value.index});
    if (feed == feeds.end()) return visit_node(value.node);
    found[feed->second] = true;
  };
  for (const Endpoint& value : values) visit(value);
  for (const Node* target : targets) visit_node(target);
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Endpoint& input : node->inputs()) visit(input);
    for (const Node* before : node->control_inputs()) visit_node(before);
  }
  return found;
}

StatusOr<std::unique_ptr<StepInParts>> LocalSession::StartInParts(
    const std::vector<Endpoint>& feeds, const std::vector<Endpoint>& fetches,
    const std::vector<Node*>& targets) {
  Signature signature{.feeds = feeds, .fetches = fetches, .targets = targets};
  std::unique_ptr<StepInParts> step(new StepInParts(this));
  for (const Endpoint& feed : feeds) {
    signature.feed_shapes.push_back(feed.node->output(feed.index).shape);
    if (!step->feed_places_.emplace(std::pair(feed.node, feed.index), step->feed_places_.size())
             .second)
      return InvalidArgument(NameOf(feed), " is fed twice");
  }
  SpecializeOptions options = MakeSpecializeOptions();
  options.in_parts = true;
  CARILLON_ASSIGN_OR_RETURN(step->program_, Make(signature, options, step->cancellation_));
  std::shared_lock graph_lock(graph_mutex_);
  step->feed_points_ = feeds;
  step->fetch_points_ = fetches;
  step->is_read_ = StepInParts::FindFeeds(graph_, step->feed_places_, fetches, targets);
  step->fed_.resize(feeds.size());
  step->fetched_.resize(fetches.size());
  step->args_ = MakeArgs({}, &step->cancellation_);
  step->args_.rendezvous = step->rendezvous_.get();
  StepInParts* running = step.get();
  uint64_t token = 0;
  running->cancellation_.Register(
      &token, [running] { running->rendezvous_->Abort(running->cancellation_.reason()); });
  CARILLON_RETURN_IF_ERROR(Enter(&running->cancellation_));
  running->ended_ = false;
  const Status started = CatchAsStatus([&] {
    device_->background->Start([running] {
      running->program_->RunAsync(running->args_, &running->no_fetches_,
                                  [running](Status status) { running->End(std::move(status)); });
    });
  });
  if (!started.ok()) running->End(started);
  CARILLON_RETURN_IF_ERROR(started);
  return step;
}

StepInParts::~StepInParts() {
  cancellation_.Cancel(absl::CancelledError("the partial run was given up"));
  std::unique_lock lock(mutex_);
  has_ended_.wait(lock, [this] { return ended_; });
}

void StepInParts::End(Status status) {
  if (status.ok()) {
    rendezvous_->EndSending(NotTaken());
  } else {
    rendezvous_->Abort(status);
  }
  session_->Leave(&cancellation_);
  // Notified under the lock: the object may be gone as soon as it is released.
  std::lock_guard lock(mutex_);
  result_ = std::move(status);
  ended_ = true;
  has_ended_.notify_all();
}

bool StepInParts::IsOver() const {
  if (failed_) return true;
  for (size_t i = 0; i < fed_.size(); ++i) {
    if (is_read_[i] && !fed_[i]) return false;
  }
  return std::ranges::find(fetched_, false) == fetched_.end();
}

Status StepInParts::WaitForEnd() {
  std::unique_lock lock(mutex_);
  has_ended_.wait(lock, [this] { return ended_; });
  return result_;
}

Status StepInParts::Check(const std::vector<std::pair<size_t, Tensor>>& feeds,
                          const std::vector<size_t>& fetches) const {
  std::vector<bool> fed = fed_, fetched = fetched_;
  for (const auto& [i, value] : feeds) {
    const OutputInfo& wanted = feed_points_[i].node->output(feed_points_[i].index);
    if (fed[i])
      return InvalidArgument(NameOf(feed_points_[i]), " was fed before in this partial run");
    if (value.dtype() != wanted.dtype || !wanted.shape.IsCompatibleWith(value.shape())) {
      return InvalidArgument(NameOf(feed_points_[i]), " takes ", DTypeName(wanted.dtype),
                             wanted.shape.ToString(), " but is fed ", DTypeName(value.dtype()),
                             value.shape().ToString());
    }
    fed[i] = true;
  }
  std::vector<Endpoint> values;
  for (const size_t i : fetches) {
    if (fetched[i])
      return InvalidArgument(NameOf(fetch_points_[i]), " was fetched before in this partial run");
    fetched[i] = true;
    values.push_back(fetch_points_[i]);
  }
  std::shared_lock graph_lock(session_->graph_mutex_);
  const std::vector<bool> read = FindFeeds(session_->graph_, feed_places_, values, {});
  for (size_t i = 0; i < read.size(); ++i) {
    if (read[i] && !fed[i]) {
      return InvalidArgument("what is fetched cannot be computed yet: ", NameOf(feed_points_[i]),
                             " has not been fed in this partial run");
    }
  }
  return absl::OkStatus();
}

Status StepInParts::Exchange(const std::vector<std::pair<size_t, Tensor>>& feeds,
                             const std::vector<size_t>& fetches, std::vector<Tensor>* results) {
  CARILLON_RETURN_IF_ERROR(Check(feeds, fetches));
  Status status = Trade(feeds, fetches, results);
  if (status.ok() && IsOver()) status = WaitForEnd();
  failed_ = !status.ok();
  return status;
}

Status StepInParts::Trade(const std::vector<std::pair<size_t, Tensor>>& feeds,
                          const std::vector<size_t>& fetches, std::vector<Tensor>* results) {
  for (const auto& [i, value] : feeds) {
    fed_[i] = true;
    CARILLON_RETURN_IF_ERROR(
        rendezvous_->Send(FeedKey(static_cast<int64_t>(i)), value, /*is_dead=*/false));
  }
  // The waits share one counter: the last answer wakes us.
  std::mutex mutex;
  std::condition_variable answered;
  size_t open = fetches.size();
  Status first_error;
  results->assign(fetches.size(), Tensor());
  for (size_t k = 0; k < fetches.size(); ++k) {
    fetched_[fetches[k]] = true;
    rendezvous_->ReceiveAsync(FetchKey(static_cast<int64_t>(fetches[k])),
                              [&, k](const Status& status, Tensor value, bool is_dead) {
                                std::lock_guard lock(mutex);
                                if (first_error.ok()) first_error = is_dead ? NotTaken() : status;
                                (*results)[k] = std::move(value);
                                --open;
                                answered.notify_all();
                              });
  }
  std::unique_lock lock(mutex);
  answered.wait(lock, [&] { return open == 0; });
  return first_error;
}

Status StepInParts::ExchangeUntil(const RunOptions& options, CancellationSource* caller,
                                  const std::vector<std::pair<size_t, Tensor>>& feeds,
                                  const std::vector<size_t>& fetches,
                                  std::vector<Tensor>* results) {
  const auto give_up = [this, caller] { cancellation_.Cancel(caller->reason()); };
  uint64_t token = 0;
  if (!caller->Register(&token, give_up)) {
    give_up();
    failed_ = true;
    return caller->reason();
  }
  const uint64_t deadline = session_->StartDeadline(options, &cancellation_);
  const Status status = Exchange(feeds, fetches, results);
  if (deadline != 0) session_->timer_.Remove(deadline);
  caller->Deregister(token);
  return status;
}

}  // namespace carillon
