#include "distributed/serving/event_loop.h"

#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/throw.h"

namespace carillon {

EventLoop::EventLoop()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_}};
  if (epoll_ < 0 || wake_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0) {
    if (epoll_ >= 0) close(epoll_);
    if (wake_ >= 0) close(wake_);
    Throw(absl::UnavailableError("cannot wait for connections: no file descriptor is left"));
  }
  thread_ = std::thread([this] { Loop(); });
}

EventLoop::~EventLoop() {
  Stop();
  close(epoll_);
  close(wake_);
}

void EventLoop::Post(std::function<void()> work) {
  {
    std::lock_guard lock(mutex_);
    if (is_stopping_) return;
    posted_.push_back(std::move(work));
    if (posted_.size() > 1) return;  // the thread has been woken for the first
  }
  eventfd_write(wake_, 1);
}

void EventLoop::WatchWriting(int socket, bool on) {
  epoll_event event{.events = EPOLLIN | (on ? EPOLLOUT : 0U), .data = {.fd = socket}};
  epoll_ctl(epoll_, EPOLL_CTL_MOD, socket, &event);
}

void EventLoop::Stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  eventfd_write(wake_, 1);
  thread_.join();
}

bool EventLoop::Watch(int socket, std::shared_ptr<SocketWatcher> watcher) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, socket, &event) != 0) return false;
  watchers_[socket] = std::move(watcher);
  return true;
}

void EventLoop::Unwatch(int socket) {
  if (watchers_.erase(socket) > 0) epoll_ctl(epoll_, EPOLL_CTL_DEL, socket, nullptr);
}

EventLoop::Timer EventLoop::At(Clock::time_point when, std::function<void()> work) {
  const Timer timer{when, ++timers_made_};
  timers_.emplace(timer, std::move(work));
  return timer;
}

void EventLoop::Cancel(const Timer& timer) { timers_.erase(timer); }

void EventLoop::Loop() {
  std::array<epoll_event, 64> events;
  for (;;) {
    const int count = epoll_wait(epoll_, events.data(), events.size(), RunTimers());
    for (int i = 0; i < count; ++i) {
      const int socket = events[static_cast<size_t>(i)].data.fd;
      if (socket == wake_) {
        eventfd_t ignored;
        eventfd_read(wake_, &ignored);
        RunPosted();
        std::lock_guard lock(mutex_);
        if (is_stopping_ && posted_.empty()) return;
      } else if (const auto found = watchers_.find(socket); found != watchers_.end()) {
        // It may stop being watched meanwhile.
        const std::shared_ptr<SocketWatcher> watcher = found->second;
        watcher->OnReady();
      }
    }
  }
}

void EventLoop::RunPosted() {
  std::vector<std::function<void()>> work;
  {
    std::lock_guard lock(mutex_);
    work.swap(posted_);
  }
  for (const std::function<void()>& one : work) one();
}

int EventLoop::RunTimers() {
  const Clock::time_point now = Clock::now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    const auto due = timers_.extract(timers_.begin());
    due.mapped()();
  }
  if (timers_.empty()) return -1;
  const auto wait =
      std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first.first - now).count();
  return static_cast<int>(std::min<int64_t>(wait, 1'000'000));
}

}  // namespace carillon
