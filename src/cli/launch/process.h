// Processes of the launcher: how they start, how it hears of them, and how none is left behind.
//
// Every task leads a process group of its own, so that what it starts can be ended with it. What
// leaves its group is ended all the same:
// 1. while the launcher lives, orphans among its descendants become its children (it is a
//    "subreaper"), and EndChildren() ends them;
// 2. when it is killed, the kernel kills the tasks, and the Guard the rest of their descendants,
//    which it knows by a variable of their environment.
#pragma once

#include <csignal>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/status.h"

namespace carillon::launch {

struct StartedProcess {
  pid_t pid = -1;  // also the number of its group
  int out = -1;    // its standard output and standard error, to be read without waiting
  int err = -1;
};

// Starts a program in a process group of its own, with nothing to read on its standard input. It
// gets `signal_mask`, and is killed when this thread ends. The caller closes the descriptors and
// waits for the process.
StatusOr<StartedProcess> StartProcess(const std::string& program,
                                      const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& environment,
                                      const sigset_t& signal_mask);

// Whether anybody is left in a group, processes included that nobody has waited for.
bool GroupExists(pid_t group);
void SignalGroup(pid_t group, int signal);

// Makes this process the parent of its orphaned descendants.
void AdoptOrphans();
// Kills all children of this process, and theirs as they become its own, until none is left.
void EndChildren();

// While one lives, the signals that the launcher acts on are read from fd() instead of interrupting
// it: SIGINT, SIGTERM, SIGHUP, SIGCHLD. Writing to a pipe that nobody reads is an error, not a
// signal.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int fd() const { return fd_; }
  const sigset_t& mask_before() const { return before_; }
  // The next one, 0 when there is none.
  int Next();

 private:
  sigset_t before_;
  int fd_ = -1;
};

// A process that does nothing until this one dies without having destroyed the Guard. Then it kills
// all processes whose environment holds `marker`. Make it before there are other threads.
class Guard {
 public:
  explicit Guard(const std::string& marker);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  pid_t pid_ = -1;
  int lifeline_ = -1;  // the guard reads its end when this process dies
};

}  // namespace carillon::launch
