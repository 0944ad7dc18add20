// Which of the two kinds of variable an output stands for.
#pragma once

#include "carillon/graph.h"

namespace carillon {

// True for a reference, false for a resource handle. Throws Error(InvalidArgument) for a value.
bool IsReference(const Output& variable);
// What the variable holds. Throws Error(InvalidArgument) when that is not known.
DType VariableDType(const Output& variable);

}  // namespace carillon
