#include "distributed/cluster/roster.h"

#include "base/strings.h"

namespace carillon {
namespace {

// "/job:ps" of "/job:ps/replica:0/task:0".
std::string JobOf(const std::string& task) { return task.substr(0, task.find('/', 1)); }

}  // namespace

Roster::Roster(const std::string& self, const std::map<std::string, std::string>& addresses) {
  for (const auto& [task, address] : addresses) {
    if (task == self) continue;
    const std::string job = JobOf(task);
    tasks_[task].is_served = job != JobOf(self) && job != "/job:ps";
  }
}

void Roster::Set(const std::string& task, State state) {
  std::lock_guard lock(mutex_);
  const auto found = tasks_.find(task);
  if (found == tasks_.end() || found->second.state == state) return;
  // Only who was there can be lost, and who is done is not missed.
  if (state == State::kLost && found->second.state != State::kHere) return;
  found->second.state = state;
  changed_at_ = Clock::now();
  changed_.notify_all();
}

void Roster::Came(const std::string& task) { Set(task, State::kHere); }
void Roster::Finished(const std::string& task) { Set(task, State::kDone); }
void Roster::WasLost(const std::string& task) { Set(task, State::kLost); }

void Roster::BecameMaster(const std::string& task) {
  std::lock_guard lock(mutex_);
  if (const auto found = tasks_.find(task); found != tasks_.end()) found->second.is_served = true;
}

bool Roster::IsDone(const std::string& task) const {
  std::lock_guard lock(mutex_);
  const auto found = tasks_.find(task);
  return found != tasks_.end() && found->second.state == State::kDone;
}

int Roster::Count(State state) const {
  int count = 0;
  for (const auto& [name, task] : tasks_) count += task.is_served && task.state == state;
  return count;
}

std::string Roster::WaitForEnd(std::chrono::milliseconds grace) {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    const int here = Count(State::kHere), done = Count(State::kDone), lost = Count(State::kLost),
              never_came = Count(State::kNeverCame);
    const bool is_quiet = here == 0 && done + lost > 0;
    if (is_quiet && lost == 0 && never_came == 0) return "all tasks that were served are done";
    if (!is_quiet || grace.count() == 0) {
      changed_.wait(lock);
    } else if (Clock::now() >= changed_at_ + grace) {
      return StrCat("of the tasks that were served ", done, " are done, ", lost, " were lost and ",
                    never_came, " never came; nobody came for ", grace.count() / 1000, " s");
    } else {
      changed_.wait_until(lock, changed_at_ + grace);
    }
  }
  return "";
}

void Roster::Stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace carillon
