#include "distributed/rpc/doorman.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/throw.h"

namespace carillon {
namespace {

constexpr char kTlsHandshake = 0x16;  // how every TLS connection begins

}  // namespace

Doorman::Doorman(std::chrono::milliseconds patience, Take take)
    : patience_(patience),
      take_(std::move(take)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (epoll_ < 0 || wake_ < 0)
    Throw(absl::UnavailableError("cannot listen: no file descriptor is left"));
  epoll_event event{.events = EPOLLIN, .data = {.fd = wake_}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  thread_ = std::thread([this] { Loop(); });
}

Doorman::~Doorman() {
  Stop();
  close(epoll_);
  close(wake_);
}

void Doorman::Add(int listener, int connection) {
  bool is_first;
  {
    std::lock_guard lock(mutex_);
    const Clock::time_point until = Clock::now() + patience_;
    visitors_[connection] = {listener, until};
    by_time_.emplace(until, connection);
    is_first = visitors_.size() == 1;
    epoll_event event{.events = EPOLLIN, .data = {.fd = connection}};
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, connection, &event) != 0) {
      Close(connection);
      return;
    }
  }
  if (is_first) eventfd_write(wake_, 1);  // somebody's time is up some day
}

void Doorman::Stop() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  eventfd_write(wake_, 1);
  thread_.join();
  std::lock_guard lock(mutex_);
  while (!visitors_.empty()) Close(visitors_.begin()->first);
}

void Doorman::Loop() {
  std::array<epoll_event, 64> events;
  for (;;) {
    int wait;
    {
      std::lock_guard lock(mutex_);
      if (is_stopping_) return;
      wait = CloseLate();
    }
    const int count = epoll_wait(epoll_, events.data(), events.size(), wait);
    for (int i = 0; i < count; ++i) {
      if (events[static_cast<size_t>(i)].data.fd != wake_) {
        Look(events[static_cast<size_t>(i)].data.fd);
        continue;
      }
      eventfd_t ignored;
      eventfd_read(wake_, &ignored);
    }
  }
}

void Doorman::Look(int connection) {
  std::unique_lock lock(mutex_);
  const auto visitor = visitors_.find(connection);
  if (visitor == visitors_.end()) return;
  char first = 0;
  const ssize_t size = recv(connection, &first, 1, MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return Close(connection);
  const int listener = visitor->second.listener;
  Forget(connection);
  lock.unlock();
  take_(listener, connection, first == kTlsHandshake);
}

void Doorman::Forget(int connection) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, connection, nullptr);
  const auto visitor = visitors_.find(connection);
  const auto [begin, end] = by_time_.equal_range(visitor->second.until);
  by_time_.erase(std::find_if(begin, end, [&](const auto& e) { return e.second == connection; }));
  visitors_.erase(visitor);
}

void Doorman::Close(int connection) {
  Forget(connection);
  close(connection);
}

int Doorman::CloseLate() {
  const Clock::time_point now = Clock::now();
  while (!by_time_.empty() && by_time_.begin()->first <= now) Close(by_time_.begin()->second);
  if (by_time_.empty()) return -1;
  return static_cast<int>(
      std::chrono::ceil<std::chrono::milliseconds>(by_time_.begin()->first - now).count());
}

}  // namespace carillon
