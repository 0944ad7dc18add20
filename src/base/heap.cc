#include "base/heap.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <malloc.h>

#include "base/cores.h"

namespace carillon {

void KeepHeapSmall() {
  mallopt(M_MMAP_THRESHOLD, 1 << 20);  // fixed: else it grows with what is given back
  mallopt(M_ARENA_MAX, std::max(4, AvailableCores()));
}

void TrimHeapAfter(int64_t bytes_given_back) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t kWorthIt = 64 << 20;
  constexpr Clock::duration kBetween = std::chrono::milliseconds(200);
  static std::atomic<int64_t> given_back{0};
  static std::atomic<Clock::duration::rep> last{0};
  if ((given_back += bytes_given_back) < kWorthIt) return;
  Clock::duration::rep before = last.load();
  const Clock::duration::rep now = Clock::now().time_since_epoch().count();
  if (now - before < kBetween.count() || !last.compare_exchange_strong(before, now)) return;
  given_back = 0;
  malloc_trim(0);
}

}  // namespace carillon
