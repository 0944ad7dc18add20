// Event files, which TensorBoard reads: one Event a record, in TFRecord framing.
#pragma once

#include <string>

#include "base/env.h"
#include "checkpoint/record.h"

namespace tensorflow {
class Event;
}

namespace carillon {

// Not thread-safe. Events are on disk after Flush() or Close().
class EventFileWriter {
 public:
  // Makes the directory, and in it a new file events.out.tfevents.TIME.HOST followed by `suffix`.
  // Two files of one directory and second must have different suffixes.
  static StatusOr<EventFileWriter> Open(Env& env, const std::string& directory,
                                        const std::string& suffix = "");

  const std::string& path() const { return path_; }
  // An event without wall_time gets the current time.
  Status Write(const tensorflow::Event& event);
  Status Flush() { return records_.Flush(); }
  Status Close() { return records_.Close(); }

 private:
  EventFileWriter(std::string path, RecordWriter records)
      : path_(std::move(path)), records_(std::move(records)) {}
  std::string path_;
  RecordWriter records_;
};

}  // namespace carillon
