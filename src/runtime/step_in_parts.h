// StepInParts: a step of a LocalSession that takes its feeds and gives its fetches piece by piece.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/cancellation.h"
#include "runtime/executable.h"
#include "runtime/rendezvous.h"
#include "runtime/session_backend.h"

namespace carillon {

class LocalSession;

// Waits for feeds without holding a thread. Invariant, under mutex_: ended_ is false from the
// moment the step is started until it has left the session.
class StepInParts final : public PartsRunner {
 public:
  // Cancels the step and waits for it.
  ~StepInParts() override;

  // InvalidArgument, and the step goes on, for feeds and fetches that are not to be had: twice, of
  // another dtype or shape, or before everything that they are computed from has been fed. With
  // the last feed and fetch, waits for the step's end.
  Status Exchange(const std::vector<std::pair<size_t, Tensor>>& feeds,
                  const std::vector<size_t>& fetches, std::vector<Tensor>* results) override;
  // Gives the step up when the wait takes longer than the options' timeout, or when `caller` is
  // cancelled.
  Status ExchangeUntil(const RunOptions& options, CancellationSource* caller,
                       const std::vector<std::pair<size_t, Tensor>>& feeds,
                       const std::vector<size_t>& fetches, std::vector<Tensor>* results);

  // Whether there is nothing left to exchange: the step has failed, or every fetch has been given
  // and every feed that the step reads.
  bool IsOver() const;

 private:
  friend class LocalSession;
  using Places = std::map<std::pair<const Node*, int>, size_t>;
  explicit StepInParts(LocalSession* session) : session_(session) {}

  // Marks the feeds that `values` and `targets` are computed from. Feeds are not looked behind.
  static std::vector<bool> FindFeeds(const NodeGraph& graph, const Places& feeds,
                                     const std::vector<Endpoint>& values,
                                     const std::vector<Node*>& targets);
  Status Check(const std::vector<std::pair<size_t, Tensor>>& feeds,
               const std::vector<size_t>& fetches) const;
  Status Trade(const std::vector<std::pair<size_t, Tensor>>& feeds,
               const std::vector<size_t>& fetches, std::vector<Tensor>* results);
  Status WaitForEnd();
  void End(Status status);  // called by the step, once

  LocalSession* const session_;
  std::vector<Endpoint> feed_points_, fetch_points_;
  Places feed_places_;
  std::vector<bool> is_read_;  // feeds that some fetch or target is computed from
  std::vector<bool> fed_, fetched_;
  bool failed_ = false;
  std::shared_ptr<StepProgram> program_;
  StepArgs args_;
  std::vector<Tensor> no_fetches_;  // they go through the rendezvous
  const std::shared_ptr<LocalRendezvous> rendezvous_ = std::make_shared<LocalRendezvous>();
  CancellationSource cancellation_;

  std::mutex mutex_;
  std::condition_variable has_ended_;
  bool ended_ = true;
  Status result_;
};

}  // namespace carillon
