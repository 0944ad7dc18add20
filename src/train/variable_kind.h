// The two kinds of variables.
#pragma once

#include "carillon/variable.h"

namespace carillon {

// A resource variable, not a reference variable.
inline bool IsResource(const Variable& variable) {
  return variable.handle().dtype() == DType::kResource;
}

}  // namespace carillon
