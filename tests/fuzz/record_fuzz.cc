// TFRecord files.
#include "checkpoint/record.h"
#include "fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carillon;
  MemoryEnv env;
  PutFile(env, "/f", ViewOf(data, size));
  StatusOr<RecordReader> reader = RecordReader::Open(env, "/f");
  if (!reader.ok()) return 0;
  std::string record;
  for (;;) {
    const StatusOr<bool> more = reader->Next(&record);
    if (!more.ok() || !*more) return 0;
    Require(record.size() <= size, "a record is no longer than its file");
  }
}
