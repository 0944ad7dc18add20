#include "base/parallel.h"

#include <algorithm>

#include "base/team.h"

namespace carillon {
void ParallelFor(int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  const int64_t most = (n + std::max<int64_t>(grain, 1) - 1) / std::max<int64_t>(grain, 1);
  const int threads = static_cast<int>(std::min<int64_t>(most, KernelThreads()));
  if (threads <= 1 || InTeam()) {
    body(0, n);
    return;
  }
  RunTeam(threads, [&](int thread) {
    const int64_t begin = n * thread / threads;
    const int64_t end = n * (thread + 1) / threads;
    if (begin < end) body(begin, end);
  });
}

}  // namespace carillon
