// Data-parallel loops inside a kernel. They share their threads with oneDNN (OpenMP), so that one
// heavy kernel at a time has all the cores and nothing is oversubscribed.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace carillon {

// How many threads ParallelFor and oneDNN use when called from this thread.
void SetKernelThreads(int threads);
int KernelThreads();

// Calls body(begin, end) for ranges that cover [0, n) exactly once, on up to KernelThreads()
// threads, and returns when all are done. A range has at least `grain` items (but for the last of a
// thread), so a small loop runs inline. Each thread begins with a part of its own, the same one in
// every loop of that size, and helps the others when it is done: a core that is slow for a while
// holds nobody up. Which ranges there are and who takes them is therefore left to chance: results
// must not depend on it. `body` must not throw.
void ParallelFor(int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> body);

// Likewise, and tells `body` the number of its thread: below KernelThreads(), and no two calls with
// the same number run at once.
void ParallelForWithThread(int64_t n, int64_t grain,
                           absl::FunctionRef<void(int thread, int64_t, int64_t)> body);

}  // namespace carillon
