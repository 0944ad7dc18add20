// What a program knows of its own process: memory and Ctrl-C.
#include <atomic>
#include <cstring>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include "carillon/report.h"

namespace carillon {
namespace {

// A signal has no other way to reach the program than a variable of the process.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void OnInterrupt(int) {
  interrupted.store(true, std::memory_order_relaxed);
  constexpr char kMessage[] = "\nStopping after this step. Press Ctrl-C again to end at once.\n";
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
}

}  // namespace

double PeakRssMb() {
  // The high-water mark of this very program: getrusage() would count what the process was before
  // exec.
  if (std::FILE* status = std::fopen("/proc/self/status", "r")) {
    char line[256];
    long kilobytes = 0;
    bool found = false;
    while (!found && std::fgets(line, sizeof line, status) != nullptr) {
      found = std::sscanf(line, "VmHWM: %ld kB", &kilobytes) == 1;
    }
    std::fclose(status);
    if (found) return static_cast<double>(kilobytes) * 1024 / 1e6;
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

struct Interrupt::Saved {
  struct sigaction action;
};

Interrupt::Interrupt() : saved_(std::make_unique<Saved>()) {
  interrupted.store(false);
  struct sigaction action;
  std::memset(&action, 0, sizeof action);
  action.sa_handler = OnInterrupt;
  // Back to the default after the first: the second ends the process. Reads that wait go on.
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  ::sigaction(SIGINT, &action, &saved_->action);
}

Interrupt::~Interrupt() { ::sigaction(SIGINT, &saved_->action, nullptr); }

bool Interrupt::requested() const { return interrupted.load(std::memory_order_relaxed); }

}  // namespace carillon
