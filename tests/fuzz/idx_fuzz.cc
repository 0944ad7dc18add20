// MNIST's idx files, packed with gzip or not.
#include "data/formats.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carillon;
  MemoryEnv env;
  PutFile(env, "/f", ViewOf(data, size));
  (void)ReadIdxImages(env, "/f");
  const StatusOr<Tensor> labels = ReadIdxLabels(env, "/f", 10);
  if (labels.ok()) {
    for (const int64_t label : labels->values<int64_t>())
      Require(label >= 0 && label < 10, "labels are below the number of classes");
  }
  return 0;
}
