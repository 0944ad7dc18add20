#include <condition_variable>
#include <mutex>

#include "base/strings.h"
#include "runtime/local_session.h"

namespace carillon {
namespace {

std::string NameOf(const Endpoint& value) {
  return StrCat("'", value.node->name(), ":", value.index, "'");
}

}  // namespace

StatusOr<std::unique_ptr<StepInParts>> LocalSession::StartInParts(
    const std::vector<Endpoint>& feeds, const std::vector<Endpoint>& fetches,
    const std::vector<Node*>& targets) {
  Signature signature{.feeds = feeds, .fetches = fetches, .targets = targets};
  for (const Endpoint& feed : feeds)
    signature.feed_shapes.push_back(feed.node->output(feed.index).shape);
  SpecializeOptions options = MakeSpecializeOptions();
  options.in_parts = true;
  std::unique_ptr<StepInParts> step(new StepInParts);
  std::shared_lock graph_lock(graph_mutex_);
  CARILLON_ASSIGN_OR_RETURN(step->executable_,
                            Executable::Make(graph_, signature, device_, &state_, options));
  step->session_ = this;
  step->feed_points_ = feeds;
  step->fetch_points_ = fetches;
  step->fed_.resize(feeds.size());
  step->fetched_.resize(fetches.size());
  CARILLON_RETURN_IF_ERROR(Enter(&step->cancellation_));
  uint64_t token = 0;
  StepInParts* running = step.get();
  running->cancellation_.Register(
      &token, [running] { running->rendezvous_.Abort(running->cancellation_.reason()); });
  const StepArgs args{.step_id = next_step_.fetch_add(1, std::memory_order_relaxed),
                      .threads = threads_,
                      .resources = resources_,
                      .cancellation = &running->cancellation_,
                      .rendezvous = &running->rendezvous_};
  running->thread_ = std::thread([this, running, args] {
    std::vector<Tensor> none;
    const Status status = running->executable_->Run(args, &none);
    if (!status.ok()) running->rendezvous_.Abort(status);
    Leave(&running->cancellation_);
  });
  return step;
}

StepInParts::~StepInParts() {
  if (!thread_.joinable()) return;
  cancellation_.Cancel(absl::CancelledError("the partial run was given up"));
  thread_.join();
}

Status StepInParts::Exchange(const std::vector<std::pair<size_t, Tensor>>& feeds,
                             const std::vector<size_t>& fetches, std::vector<Tensor>* results) {
  for (const auto& [i, value] : feeds) {
    const OutputInfo& wanted = feed_points_[i].node->output(feed_points_[i].index);
    if (fed_[i])
      return InvalidArgument(NameOf(feed_points_[i]), " was fed before in this partial run");
    if (value.dtype() != wanted.dtype || !wanted.shape.IsCompatibleWith(value.shape())) {
      return InvalidArgument(NameOf(feed_points_[i]), " takes ", DTypeName(wanted.dtype),
                             wanted.shape.ToString(), " but is fed ", DTypeName(value.dtype()),
                             value.shape().ToString());
    }
  }
  for (const size_t i : fetches) {
    if (fetched_[i])
      return InvalidArgument(NameOf(fetch_points_[i]), " was fetched before in this partial run");
  }
  for (const auto& [i, value] : feeds) {
    fed_[i] = true;
    CARILLON_RETURN_IF_ERROR(
        rendezvous_.Send(FeedKey(static_cast<int64_t>(i)), value, /*is_dead=*/false));
  }
  // The waits share one counter: the last answer wakes us.
  std::mutex mutex;
  std::condition_variable answered;
  size_t open = fetches.size();
  Status first_error;
  results->assign(fetches.size(), Tensor());
  for (size_t k = 0; k < fetches.size(); ++k) {
    fetched_[fetches[k]] = true;
    rendezvous_.ReceiveAsync(FetchKey(static_cast<int64_t>(fetches[k])),
                             [&, k](const Status& status, Tensor value, bool) {
                               std::lock_guard lock(mutex);
                               if (!status.ok() && first_error.ok()) first_error = status;
                               (*results)[k] = std::move(value);
                               --open;
                               answered.notify_all();
                             });
  }
  std::unique_lock lock(mutex);
  answered.wait(lock, [&] { return open == 0; });
  return first_error;
}

}  // namespace carillon
