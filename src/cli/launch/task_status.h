// What the launcher knows of a task while it runs, and where it hears it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace carillon::launch {

// The last news of each kind. Of the program's own: step, total_steps, loss, steps_per_second. Of
// the task's server: the rest.
struct TaskStatus {
  std::optional<int64_t> step, total_steps;
  std::optional<double> loss, steps_per_second;  // a loss that is not finite is NaN
  std::optional<int64_t> server_steps, bytes_sent, bytes_received;

  // Takes the keys that it knows from a JSON object; anything else is no news and changes nothing.
  // True when something was taken.
  bool Merge(std::string_view json);

  // The program's steps; those of its server where the program does not tell.
  std::optional<int64_t> steps() const { return step ? step : server_steps; }
};

// A unix datagram socket that takes news from processes of this user alone. Nothing of it is left
// in the file system, not even when the launcher is killed.
class StatusInbox {
 public:
  // The address begins with '@', see report/status_channel.h.
  static StatusOr<StatusInbox> Open(const std::string& address);
  ~StatusInbox();
  StatusInbox(StatusInbox&& other) noexcept;
  StatusInbox& operator=(StatusInbox&&) = delete;

  int fd() const { return socket_; }
  // Merges what has arrived, without waiting. True when there was news.
  bool ReadInto(TaskStatus* status);

 private:
  explicit StatusInbox(int socket) : socket_(socket) {}
  int socket_;
};

}  // namespace carillon::launch
