// The structure of MATLAB files (version 5), checked from end to end before libmatio, which trusts
// its input, gets to see it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/env.h"

namespace carillon {

struct MatVariable {
  std::string name;
  std::vector<int64_t> dims;
  uint64_t offset = 0;  // of its element in the file
};

// The variables of the file, all real arrays of numbers. Sound is: whole elements up to the end of
// the file, compressed ones unpack with a right checksum, and the elements that the dimensions
// promise are there. Anything else is DataLoss, or Unimplemented for what the format has beyond
// that (structures, sparse arrays, other versions, big-endian files).
StatusOr<std::vector<MatVariable>> ScanMatFile(Env& env, const std::string& path);

}  // namespace carillon
