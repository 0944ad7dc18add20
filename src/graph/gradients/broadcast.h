// What gradient functions of broadcasting and reducing ops share.
#pragma once

#include "carillon/graph.h"
#include "graph/gradient.h"

namespace carillon {

// The shape of `x`, as a constant when it is known: gradients then need not keep x, and inside a
// loop no stack of them. Hides the public ShapeOf, which always makes an op.
Output ShapeOf(const Output& x);

// `gradient` summed over the dimensions along which `x` was repeated to its shape.
Output SumToShapeOf(const Output& gradient, const Output& x);

// gx and gy have the shape that x and y broadcast to; what is set as the gradients of inputs 0 and
// 1 of the op is summed over the dimensions along which each was repeated. An invalid gx or gy is
// left out.
void SetBroadcastGradients(GradContext& context, const Output& gx, const Output& gy);

// The shape that `input` keeps when it is reduced over `axes` with keep_dims.
Output KeptShape(const Output& input, const Output& axes);

}  // namespace carillon
