#include "base/parallel.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "base/team.h"

namespace carillon {
namespace {

// Items of one thread's part that nobody has taken yet. Alone in its cache line.
struct alignas(64) Part {
  std::atomic<int64_t> next;
  int64_t end;
};

// A thread's part falls into so many ranges: enough to share, few enough to cost nothing.
constexpr int64_t kRangesOfPart = 8;
constexpr int kMostParts = 64;

}  // namespace

void ParallelForWithThread(int64_t n, int64_t grain,
                           absl::FunctionRef<void(int, int64_t, int64_t)> body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t most = (n + grain - 1) / grain;
  const int threads =
      static_cast<int>(std::min<int64_t>({most, KernelThreads(), int64_t{kMostParts}}));
  if (threads <= 1 || InTeam()) {
    body(0, 0, n);
    return;
  }
  std::array<Part, kMostParts> parts;
  for (int i = 0; i < threads; ++i) {
    parts[static_cast<size_t>(i)].next.store(n * i / threads, std::memory_order_relaxed);
    parts[static_cast<size_t>(i)].end = n * (i + 1) / threads;
  }
  const int64_t range = std::max(grain, n / (threads * kRangesOfPart));
  RunTeam(threads, [&](int thread) {
    for (int i = 0; i < threads; ++i) {
      Part& part = parts[static_cast<size_t>((thread + i) % threads)];
      for (;;) {
        const int64_t begin = part.next.fetch_add(range, std::memory_order_relaxed);
        if (begin >= part.end) break;
        body(thread, begin, std::min(begin + range, part.end));
      }
    }
  });
}

void ParallelFor(int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body) {
  ParallelForWithThread(n, grain, [&](int, int64_t begin, int64_t end) { body(begin, end); });
}

}  // namespace carillon
