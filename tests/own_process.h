// What a test's own process takes of the machine (Linux).
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
extern "C" size_t __sanitizer_get_current_allocated_bytes();  // gcc has no header for it
#endif

namespace carillon {

// A number of /proc/self/status, as it stands there: OwnStatus("Threads").
inline int64_t OwnStatus(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != key + ":") continue;
    int64_t value = -1;
    status >> value;
    return value;
  }
  return -1;
}

inline int64_t ResidentBytes() { return OwnStatus("VmRSS") * 1024; }
// The most since the last reset.
inline int64_t PeakResidentBytes() { return OwnStatus("VmHWM") * 1024; }
inline void ResetPeakResidentBytes() { std::ofstream("/proc/self/clear_refs") << "5"; }

// Memory in use. A sanitizer keeps what was freed, and books about it: there only what is not freed
// counts.
inline int64_t BytesInUse() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return static_cast<int64_t>(__sanitizer_get_current_allocated_bytes());
#else
  return ResidentBytes();
#endif
}

}  // namespace carillon
