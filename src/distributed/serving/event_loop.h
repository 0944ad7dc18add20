// EventLoop: one thread that waits for sockets, for moments, and for work that others hand in.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace carillon {

// Told when a socket is ready.
class SocketWatcher {
 public:
  virtual ~SocketWatcher() = default;
  // By the loop's thread. May be called once too often: what is not there has to be borne.
  virtual void OnReady() = 0;
};

class EventLoop {
 public:
  using Clock = std::chrono::steady_clock;
  using Timer = std::pair<Clock::time_point, uint64_t>;

  // Unavailable, thrown, when no file descriptor is left.
  EventLoop();
  ~EventLoop();  // stops
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // From any thread: runs `work` on the loop's, later. What is handed in after Stop() is dropped.
  void Post(std::function<void()> work);
  // From any thread: whether the watcher of a watched socket is also told when it can be written
  // to.
  void WatchWriting(int socket, bool on);
  // Ends the thread after the work that was posted. Not from the loop's own. May be called again.
  void Stop();

  // The rest is for the loop's own thread.

  // Tells `watcher` as long as something can be read. False: the system refuses.
  bool Watch(int socket, std::shared_ptr<SocketWatcher> watcher);
  // Before the socket is closed.
  void Unwatch(int socket);
  Timer At(Clock::time_point when, std::function<void()> work);
  void Cancel(const Timer& timer);  // one that has run is no matter

 private:
  void Loop();
  void RunPosted();
  // Runs what is due; milliseconds until the next timer, -1: there is none.
  int RunTimers();

  const int epoll_, wake_;
  std::unordered_map<int, std::shared_ptr<SocketWatcher>> watchers_;  // the thread's
  std::map<Timer, std::function<void()>> timers_;                     // the thread's
  uint64_t timers_made_ = 0;                                          // the thread's

  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // under mutex_
  bool is_stopping_ = false;                   // under mutex_
  std::thread thread_;
};

}  // namespace carillon
