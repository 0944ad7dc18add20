// A checkpoint: its index, then its data. Two bytes in front say how long the index is.
#include "checkpoint/bundle.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carillon;
  const TwoParts parts = Split(ViewOf(data, size));
  MemoryEnv env;
  PutFile(env, "/c.index", parts.first);
  PutFile(env, "/c.data-00000-of-00001", parts.second);
  const auto reader = BundleReader::Open(env, "/c");
  if (!reader.ok()) return 0;
  for (const std::string& name : (*reader)->names()) {
    const auto info = (*reader)->Describe(name);
    if (!info.ok() || info->shape.num_elements() > 1 << 20) continue;
    Tensor tensor(info->dtype, info->shape);
    (void)(*reader)->Read(name, &tensor);
  }
  return 0;
}
