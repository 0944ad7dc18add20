// Which algorithm computes a convolution the fastest on this machine.
#pragma once

#include <span>

#include "kernels/cpu/conv_algorithm.h"
#include "kernels/kernel.h"

namespace carillon {

// All of them, in the order in which a tie or the rule prefers them.
std::span<const ConvCandidate> ConvCandidates();

// With options.measure the candidates are timed on scratch memory, together with the reorders that
// their layouts would need; the winner's name is remembered for the life of the process by problem,
// number of threads and exactness (pure memoisation: it changes when a choice is made, never what
// is computed beyond rounding). Without, a rule decides. Unimplemented when no candidate accepts.
ConvAlgorithmResult ChooseConvAlgorithm(const ConvProblem& problem, const KernelOptions& options);

}  // namespace carillon
