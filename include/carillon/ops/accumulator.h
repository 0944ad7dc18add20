// Accumulators of gradients: workers add to them, and whoever takes waits until enough are in. What
// synchronous training is made of.
//
// A gradient comes with the step at which it was computed; one that is older than the accumulator's
// own step is dropped silently.
#pragma once

#include <cstdint>
#include <string>

#include "carillon/gradients.h"
#include "carillon/graph.h"

namespace carillon {

struct AccumulatorOpOptions {
  bool sum = false;         // hand out the sum; the mean otherwise
  std::string name;         // of the node
  std::string container;    // where the accumulator lives; empty: the default container
  std::string shared_name;  // nodes of equal container and shared name share one accumulator, in
                            // all sessions; empty: each session has its own
};

// Handles to accumulators of gradients of `dtype` and `shape`, of which dimensions, or all, may be
// unknown. The sparse one takes rows (IndexedSlices): a row's mean is over those that touched it.
Output ConditionalAccumulator(Graph& g, DType dtype, const PartialShape& shape,
                              const AccumulatorOpOptions& options = {});
Output SparseConditionalAccumulator(Graph& g, DType dtype, const PartialShape& shape,
                                    const AccumulatorOpOptions& options = {});

// Adds a gradient. Error(InvalidArgument) when its shape is not that of the others.
Operation AccumulatorApplyGradient(const Output& accumulator, const Input& local_step,
                                   const Input& gradient);
Operation SparseAccumulatorApplyGradient(const Output& accumulator, const Input& local_step,
                                         const IndexedSlices& gradient);

// Waits until `num_required` gradients are in, then takes what was accumulated, counts the
// accumulator's step up by one, and begins anew.
Output AccumulatorTakeGradient(const Output& accumulator, const Input& num_required);
IndexedSlices SparseAccumulatorTakeGradient(const Output& accumulator, const Input& num_required);

// How many gradients are in.
Output AccumulatorNumAccumulated(const Output& accumulator);
Operation AccumulatorSetGlobalStep(const Output& accumulator, const Input& new_global_step);

}  // namespace carillon
