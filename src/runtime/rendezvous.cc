#include "runtime/rendezvous.h"

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
    status = aborted_;
    if (status.ok()) {
      Meeting& meeting = meetings_[key];
      if (meeting.values.empty()) {
        meeting.waiters.push_back(std::move(done));
        return;
      }
      value = std::move(meeting.values.front());
      meeting.values.pop_front();
      if (meeting.values.empty()) meetings_.erase(key);
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

}  // namespace carillon
