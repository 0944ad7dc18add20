// Shape functions of ops that call functions.
#pragma once

#include "base/status.h"

namespace carillon {

class ShapeContext;

// Calls: what the function says of its results.
Status FunctionCallShape(ShapeContext& c);
// If, Case, While: the attribute output_shapes, when it is given.
Status FunctionOutputShapes(ShapeContext& c);

}  // namespace carillon
