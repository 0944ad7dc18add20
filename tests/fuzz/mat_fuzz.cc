// MATLAB files: the scan that stands between a file and libmatio.
#include "data/mat_file.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carillon;
  MemoryEnv env;
  PutFile(env, "/f", ViewOf(data, size));
  const auto variables = ScanMatFile(env, "/f");
  if (!variables.ok()) return 0;
  for (const MatVariable& variable : *variables)
    Require(variable.offset < size, "variables lie in the file");
  return 0;
}
