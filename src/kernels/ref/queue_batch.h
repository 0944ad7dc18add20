// Several elements of a queue as one tensor each component.
#pragma once

#include <vector>

#include "kernels/context.h"
#include "kernels/queue.h"

namespace carillon {

// Output i is the component of all the elements as one tensor, padded with zeros to the largest
// when they differ. `declared` is the shape of an element as far as it is known.
Status SetBatch(KernelContext& context, int i, const std::vector<QueueTuple>& tuples,
                size_t component, const PartialShape& declared);

}  // namespace carillon
