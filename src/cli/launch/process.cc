#include "cli/launch/process.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace carillon::launch {
namespace {

// A pipe whose ends close themselves unless they are released.
class Pipe {
 public:
  Pipe() { ok_ = ::pipe2(ends_, O_CLOEXEC) == 0; }
  ~Pipe() {
    CloseRead();
    CloseWrite();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  bool ok() const { return ok_; }
  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void CloseRead() { Close(&ends_[0]); }
  void CloseWrite() { Close(&ends_[1]); }
  int ReleaseRead() { return std::exchange(ends_[0], -1); }

 private:
  static void Close(int* fd) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
  int ends_[2] = {-1, -1};
  bool ok_;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// What the child does between fork() and the program. It allocates nothing and returns only with
// the error of what failed.
int BecomeProgram(pid_t launcher, const char* program, char* const* arguments,
                  char* const* environment, int out, int err, const sigset_t& signal_mask) {
  ::setpgid(0, 0);
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (::getppid() != launcher) ::_exit(127);  // it died before the line above
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 ||
      ::dup2(err, STDERR_FILENO) < 0) {
    return errno;
  }
  if (nothing > STDERR_FILENO) ::close(nothing);
  ::signal(SIGPIPE, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &signal_mask, nullptr);
  ::execve(program, arguments, environment);
  return errno;
}

}  // namespace

StatusOr<StartedProcess> StartProcess(const std::string& program,
                                      const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& environment,
                                      const sigset_t& signal_mask) {
  Pipe out, err, failure;
  if (!out.ok() || !err.ok() || !failure.ok()) {
    return ResourceExhausted("cannot make a pipe: ", std::strerror(errno));
  }
  const std::vector<char*> argv = Pointers(arguments), envp = Pointers(environment);
  const pid_t launcher = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return ResourceExhausted("cannot start a process: ", std::strerror(errno));
  if (pid == 0) {
    const int error = BecomeProgram(launcher, program.c_str(), argv.data(), envp.data(),
                                    out.write_end(), err.write_end(), signal_mask);
    [[maybe_unused]] const ssize_t told = ::write(failure.write_end(), &error, sizeof error);
    ::_exit(127);
  }
  ::setpgid(pid, pid);  // the child does so too: whoever comes first
  failure.CloseWrite();
  int error = 0;
  ssize_t got;
  do {
    got = ::read(failure.read_end(), &error, sizeof error);  // ends when the program begins
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    ::waitpid(pid, nullptr, 0);
    return InvalidArgument("cannot execute ", program, ": ", std::strerror(error));
  }
  ::fcntl(out.read_end(), F_SETFL, O_NONBLOCK);
  ::fcntl(err.read_end(), F_SETFL, O_NONBLOCK);
  return StartedProcess{pid, out.ReleaseRead(), err.ReleaseRead()};
}

bool GroupExists(pid_t group) { return ::kill(-group, 0) == 0 || errno != ESRCH; }

void SignalGroup(pid_t group, int signal) { ::kill(-group, signal); }

void AdoptOrphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

void EndChildren() {
  while (true) {
    // Those of this thread, which are all there are: the launcher has one.
    std::ifstream children("/proc/thread-self/children");
    bool any = false;
    for (pid_t child; children >> child; any = true) ::kill(child, SIGKILL);
    if (!any) return;
    if (::waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

Signals::Signals() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);  // whoever ignores it is not told how its children ended
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, &before_);
  fd_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

Signals::~Signals() {
  ::close(fd_);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int Signals::Next() {
  signalfd_siginfo info{};
  if (::read(fd_, &info, sizeof info) != static_cast<ssize_t>(sizeof info)) return 0;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace carillon::launch
