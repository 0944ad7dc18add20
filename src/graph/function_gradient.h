// Gradients of functions.
#pragma once

#include <memory>

#include "graph/function_library.h"

namespace carillon {

// What SymbolicGradient of `function` calls: a function of its arguments and of the gradients of
// its results that gives the gradients of its arguments (zeros where there is none; a number for
// the handle of a resource).
StatusOr<std::unique_ptr<FunctionBody>> InstantiateGradient(const FunctionLibrary& library,
                                                            const FunctionRef& function);

}  // namespace carillon
