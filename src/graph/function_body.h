// From a FunctionDef to a graph.
#pragma once

#include "graph/function_library.h"

namespace carillon {

// The op that a function's signature describes. InvalidArgument when it is malformed.
StatusOr<OpSpec> SpecOfFunction(const tensorflow::FunctionDef& def);

// `spec` is the op that `def` describes, `args` what is known of the arguments (may be empty).
// `body` gets everything but its name; its graph is empty and has the library that `def` is of.
Status BuildFunctionBody(const tensorflow::FunctionDef& def, const OpSpec& spec,
                         const FunctionRef& function, const std::vector<OutputInfo>& args,
                         FunctionBody* body);

}  // namespace carillon
