#include "runtime/rendezvous.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace carillon {

Status LocalRendezvous::Send(const std::string& key, Tensor value, bool is_dead) {
  Receive waiter;
  {
    std::lock_guard lock(mutex_);
    if (!aborted_.ok()) return aborted_;
    Meeting& meeting = meetings_[key];
    if (meeting.waiters.empty()) {
      meeting.values.push_back({std::move(value), is_dead});
      return absl::OkStatus();
    }
    waiter = std::move(meeting.waiters.front());
    meeting.waiters.pop_front();
    if (meeting.waiters.empty()) meetings_.erase(key);
  }
  waiter(absl::OkStatus(), std::move(value), is_dead);
  return absl::OkStatus();
}

void LocalRendezvous::ReceiveAsync(const std::string& key, Receive done) {
  Value value{Tensor(), false};
  Status status;
  {
    std::lock_guard lock(mutex_);
    const auto found = meetings_.find(key);
    if (!aborted_.ok()) {
      status = aborted_;
    } else if (found != meetings_.end() && !found->second.values.empty()) {
      value = std::move(found->second.values.front());
      found->second.values.pop_front();
      if (found->second.values.empty()) meetings_.erase(found);
    } else if (!sending_ended_.ok()) {
      status = sending_ended_;
    } else {
      meetings_[key].waiters.push_back(std::move(done));
      return;
    }
  }
  done(status, std::move(value.tensor), value.is_dead);
}

void LocalRendezvous::Abort(const Status& reason) {
  std::unordered_map<std::string, Meeting> ended;
  {
    std::lock_guard lock(mutex_);
    if (!aborted_.ok()) return;
    aborted_ = reason;
    ended.swap(meetings_);
  }
  for (auto& [key, meeting] : ended) {
    for (Receive& waiter : meeting.waiters) waiter(reason, Tensor(), false);
  }
}

void LocalRendezvous::EndSending(const Status& reason) {
  std::vector<Receive> waiters;
  {
    std::lock_guard lock(mutex_);
    sending_ended_ = reason;
    for (auto at = meetings_.begin(); at != meetings_.end();) {
      std::deque<Receive>& ended = at->second.waiters;
      std::ranges::move(ended, std::back_inserter(waiters));
      ended.clear();
      at = at->second.values.empty() ? meetings_.erase(at) : std::next(at);
    }
  }
  for (Receive& waiter : waiters) waiter(reason, Tensor(), false);
}

}  // namespace carillon
