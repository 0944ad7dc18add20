// Every op that users can name, as JSON, for comparison with TensorFlow's registry.
#pragma once

#include <string>

namespace carillon {

std::string DumpOps();

}  // namespace carillon
