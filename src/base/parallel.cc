#include "base/parallel.h"

#include <algorithm>
#include <omp.h>

// libgomp's barriers are invisible to ThreadSanitizer: tell it what they order. The hidden
// structure in which the compiler passes variables to the threads is read before they can be told,
// so the function that starts them is not looked at; what it calls is.
#if defined(__SANITIZE_THREAD__)
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#define CARILLON_TSAN_ACQUIRE(address) __tsan_acquire(address)
#define CARILLON_TSAN_RELEASE(address) __tsan_release(address)
#define CARILLON_NO_TSAN __attribute__((no_sanitize("thread")))
#else
#define CARILLON_TSAN_ACQUIRE(address) (void)(address)
#define CARILLON_TSAN_RELEASE(address) (void)(address)
#define CARILLON_NO_TSAN
#endif

namespace carillon {
namespace {

CARILLON_NO_TSAN void RunTeam(int threads, int64_t n,
                              absl::FunctionRef<void(int64_t, int64_t)> body) {
  char fence = 0;  // its address names this loop for ThreadSanitizer
  CARILLON_TSAN_RELEASE(&fence);
#pragma omp parallel num_threads(threads)
  {
    CARILLON_TSAN_ACQUIRE(&fence);
    const int64_t team = omp_get_num_threads();
    const int64_t me = omp_get_thread_num();
    const int64_t begin = n * me / team;
    const int64_t end = n * (me + 1) / team;
    if (begin < end) body(begin, end);
    CARILLON_TSAN_RELEASE(&fence);
  }
  CARILLON_TSAN_ACQUIRE(&fence);
}

}  // namespace

void SetKernelThreads(int threads) { omp_set_num_threads(std::max(1, threads)); }

int KernelThreads() { return omp_get_max_threads(); }

void ParallelFor(int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  const int64_t most = (n + std::max<int64_t>(grain, 1) - 1) / std::max<int64_t>(grain, 1);
  const int threads = static_cast<int>(std::min<int64_t>(most, KernelThreads()));
  if (threads <= 1) {
    body(0, n);
    return;
  }
  RunTeam(threads, n, body);
}

}  // namespace carillon
