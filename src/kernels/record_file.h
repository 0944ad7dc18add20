// RecordFile: the records of one file, from the first to the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/env.h"
#include "base/status.h"
#include "kernels/record_format.h"
#include "tensor/memory_charge.h"

namespace carillon {

// Not thread-safe. Work may stop in the middle of a record: reading is Cancelled, or operator new
// throws, or there is no room for what must be kept of the file, which throws BudgetExceeded, too.
// Then nothing has happened, nothing is kept, and the next one to read gets that record.
class RecordFile {
 public:
  // `env` and `format` outlive it. What is kept between two records counts against the limit of
  // `allocator` (null: none). `file`: its number, for formats that treat files differently.
  static StatusOr<RecordFile> Open(Env& env, std::string path, ByteStream::Packing packing,
                                   const RecordFormat& format, Allocator* allocator,
                                   size_t file = 0);

  // False at the end of the file. `record` is empty.
  StatusOr<bool> Next(std::string* record);
  // What the record read last is known by, as the format says.
  uint64_t place() const { return cursor_.place; }

 private:
  // Behind the last record: where the bytes begin that are not used up.
  struct Position {
    uint64_t offset = 0, place = 0, next = 0;
  };

  RecordFile(Env& env, std::string path, ByteStream::Packing packing, const RecordFormat& format,
             Allocator* allocator, RecordCursor cursor);
  Position Here() const;
  // Counts what is kept; false when there is no room.
  bool CountAhead();
  void DropAhead();
  Status GoBack();

  Env* env_;
  std::string path_;
  ByteStream::Packing packing_;
  const RecordFormat* format_;
  std::unique_ptr<MemoryCharge> charge_;  // for cursor_.ahead
  RecordCursor cursor_;
  Position last_;
  bool is_inside_ = false;  // work has stopped there
};

}  // namespace carillon
