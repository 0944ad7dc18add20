// Doorman: waits for the first byte of each new connection, which tells TLS from plain gRPC.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace carillon {

// gRPC closes a connection that speaks the wrong language without a word, neither to the client nor
// in the log; with what this says, others can do better. Thread-safe.
class Doorman {
 public:
  // Gets the connections that have said something, from one thread, and owns them then.
  using Take = std::function<void(int listener, int connection, bool tls)>;

  // Connections that say nothing are closed when `patience` is over.
  Doorman(std::chrono::milliseconds patience, Take take);
  ~Doorman();
  Doorman(const Doorman&) = delete;
  Doorman& operator=(const Doorman&) = delete;

  // Owns the connection from here on.
  void Add(int listener, int connection);
  // Closes what waits; no more calls to `take` once this returns. May be called again.
  void Stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Visitor {
    int listener;
    Clock::time_point until;
  };

  void Loop();
  void Look(int connection);  // there is something to read
  // All under mutex_.
  void Forget(int connection);
  void Close(int connection);
  // Closes those whose time is up; milliseconds until the next one's, -1: there is none.
  int CloseLate();

  const std::chrono::milliseconds patience_;
  const Take take_;
  const int epoll_, wake_;
  std::mutex mutex_;
  std::map<int, Visitor> visitors_;                // under mutex_
  std::multimap<Clock::time_point, int> by_time_;  // the same ones, under mutex_
  bool is_stopping_ = false;                       // under mutex_
  std::thread thread_;
};

}  // namespace carillon
