// Roster: which tasks of a cluster are there, are done, or are lost; and so when a job is over.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

namespace carillon {

// What a task that serves others (a ps; a worker that only waits) knows of them. Thread-safe.
//
// The job is over for it when every task that it serves is done. Those are all tasks of other jobs,
// the job "ps" apart, and whichever task of its own job has been a master here. When those that
// came are done or lost, and some of them lost or others never came, it is over after a grace time
// in which nobody came (back).
//
// Invariants, under mutex_: tasks_ has every other task of the cluster; changed_at_ is when one of
// them last came, left or finished.
class Roster {
 public:
  using Clock = std::chrono::steady_clock;

  // `self` and `tasks` as in "/job:ps/replica:0/task:0".
  Roster(const std::string& self, const std::map<std::string, std::string>& addresses);

  // What happens to `task`. Tasks that are not of the cluster are ignored.
  void Came(const std::string& task);
  void BecameMaster(const std::string& task);
  void Finished(const std::string& task);
  void WasLost(const std::string& task);

  bool IsDone(const std::string& task) const;

  // Until the job is over, or Stop; `grace` of 0 waits for ever. What ended it, in words; empty
  // after Stop.
  std::string WaitForEnd(std::chrono::milliseconds grace);
  void Stop();

 private:
  enum class State { kNeverCame, kHere, kDone, kLost };
  struct Task {
    State state = State::kNeverCame;
    bool is_served = false;
  };
  void Set(const std::string& task, State state);
  int Count(State state) const;  // of the tasks that are served, under mutex_

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Task> tasks_;
  Clock::time_point changed_at_ = Clock::now();
  bool stopped_ = false;
};

}  // namespace carillon
