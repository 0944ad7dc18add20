// CIFAR's binary files.
#include "data/formats.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carillon;
  if (size == 0) return 0;
  MemoryEnv env;
  PutFile(env, "/f", ViewOf(data + 1, size - 1));
  Dataset dataset;
  (void)ReadCifar(env, {"/f"}, data[0] % 2 + 1, 10, &dataset);
  return 0;
}
