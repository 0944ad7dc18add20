// The functions of OpenMP that oneDNN calls, under the names by which GCC's code calls them. They
// take the place of libgomp's in every program that Carillon is part of (see team.h). Where the
// caller is in none of our teams they ask libgomp, so that a program which uses OpenMP itself, in
// forms that are not here, finds what it expects.
#include <algorithm>
#include <dlfcn.h>

#include "base/cores.h"
#include "base/parallel.h"
#include "base/team.h"

namespace carillon {
namespace {

thread_local int kernel_threads = 0;  // 0: all cores

}  // namespace

void SetKernelThreads(int threads) { kernel_threads = std::max(1, threads); }

int KernelThreads() {
  if (kernel_threads == 0) kernel_threads = AvailableCores();
  return kernel_threads;
}

}  // namespace carillon

namespace {

template <typename Function>
Function* Libgomps(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned /*flags*/) {
  const int wanted = threads == 0 ? carillon::KernelThreads() : static_cast<int>(threads);
  carillon::RunTeam(wanted, [&](int) { body(data); });
}

void GOMP_barrier() { carillon::TeamBarrier(); }

int omp_get_num_threads() {
  if (carillon::InTeam()) return carillon::TeamSize();
  static int (*const theirs)() = Libgomps<int()>("omp_get_num_threads");
  return theirs == nullptr ? 1 : theirs();
}

int omp_get_thread_num() {
  if (carillon::InTeam()) return carillon::TeamThread();
  static int (*const theirs)() = Libgomps<int()>("omp_get_thread_num");
  return theirs == nullptr ? 0 : theirs();
}

int omp_in_parallel() {
  if (carillon::InTeam()) return carillon::InParallel();
  static int (*const theirs)() = Libgomps<int()>("omp_in_parallel");
  return theirs == nullptr ? 0 : theirs();
}

int omp_get_max_threads() { return carillon::KernelThreads(); }

}  // extern "C"
