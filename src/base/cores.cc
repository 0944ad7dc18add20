#include "base/cores.h"

#include <algorithm>
#include <cstdlib>
#include <sched.h>
#include <string>
#include <thread>

#include "base/logging.h"

namespace carillon {
namespace {

int FindCores() {
  if (const char* given = std::getenv("CARILLON_THREADS"); given != nullptr && *given != '\0') {
    char* end = nullptr;
    const long threads = std::strtol(given, &end, 10);
    if (*end == '\0' && threads >= 1 && threads <= 1024) return static_cast<int>(threads);
    LogWarning("CARILLON_THREADS is '", std::string(given),
               "', which is no number from 1 to 1024; it is ignored");
  }
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return std::max(1, CPU_COUNT(&cores));
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

int AvailableCores() {
  static const int cores = FindCores();
  return cores;
}

}  // namespace carillon
