// Teams of threads for the loops inside kernels, ours and oneDNN's.
//
// oneDNN runs its loops through OpenMP. libgomp's threads spin for a millisecond at each barrier,
// which is fast while a process has the machine to itself and ruinous as soon as it does not: two
// processes, or several steps in one, slow each other by an order of magnitude. So the few
// functions of OpenMP that oneDNN calls are ours (openmp.cc) and end up here: a waiting thread
// spins for some microseconds, then sleeps.
#pragma once

#include "absl/functional/function_ref.h"

namespace carillon {

// Calls body(0) … body(threads - 1), all at once, the first on this thread; returns when all have
// returned. All of them really run at the same time: they may wait for each other. Inside of a team
// there are no further teams: body(0) of one alone is called, once. `body` must not throw;
// what it takes from the heap counts in no WorkScope.
void RunTeam(int threads, absl::FunctionRef<void(int thread)> body);

// Of the team that the calling thread runs in; outside of teams 1, 0 and false.
int TeamSize();
int TeamThread();
bool InTeam();
// Whether any team around the calling thread has more than one thread.
bool InParallel();
// Waits until all threads of the team are here.
void TeamBarrier();

}  // namespace carillon
