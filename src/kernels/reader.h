// Reader: the resource behind WholeFileReader, TextLineReader, FixedLengthRecordReader,
// TFRecordReader and IdentityReader. It takes the names of files from a queue and gives the records
// in them, one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernels/queue.h"
#include "kernels/record_file.h"
#include "kernels/services.h"
#include "tensor/object.h"

namespace carillon {

// Reads are served in the order in which they came; those that wait, for a file or for their turn,
// hold no thread. Files are read on background threads.
//
// Invariants: whoever holds the one token of turn_ is the read that is being served; all else is
// under mutex_, which is held while a file is being read, but not while a queue is waited for.
class Reader : public Resource, public std::enable_shared_from_this<Reader> {
 public:
  struct Record {
    std::string key, value;
  };
  using Done = std::function<void(const Status& status, std::vector<Record> records)>;

  // The next `most` records, at least one and all of one file. OutOfRange when there are none left
  // and `files`, from which further ones are taken, is closed and empty. `services` live until
  // `done`, which may be called before this returns.
  void Read(std::shared_ptr<Queue> files, int64_t most, const StepServices& services, Done done);

  // Each may wait for a file that is being read.
  int64_t records_produced() const;
  int64_t files_finished() const;
  // Forgets the file and the counts.
  void Reset();
  // What the counts are, for a reader that goes on in their place. Unimplemented for readers that
  // may be in the middle of a file.
  StatusOr<std::string> SerializeState() const;
  Status RestoreState(const std::string& state);

  std::string DebugString() const override { return "reader of files"; }

 protected:
  Reader();

 private:
  struct Reading;

  // Under mutex_. Begins with a file, of which what is kept counts in `allocator`; an error drops
  // it.
  virtual Status Start(const std::string& file, Allocator* allocator) = 0;
  // False when there was no record left. *at_end: there are none after it. An error leaves the file
  // in place, so that it is met again.
  virtual StatusOr<bool> Next(const std::string& file, Record* record, bool* at_end) = 0;
  virtual void Stop() = 0;
  // Whether the counts are all that there is to know between two files.
  virtual bool has_plain_state() const = 0;

  // Appends records of the file in progress, or of the one just taken; none when it has no more.
  Status ReadRecords(Reading& reading);
  void ForgetFile();

  const std::shared_ptr<Queue> turn_;
  mutable std::mutex mutex_;
  std::string file_;  // the last that was taken from a queue; empty when none could be
  std::optional<std::string> waiting_file_;  // was taken by a step that was stopped since
  int64_t started_ = 0, finished_ = 0;  // files; one is in progress while there are more started
  int64_t produced_ = 0;                // records
};

// Every file is one record: under its name its content, or the name itself.
class ItemReader final : public Reader {
 public:
  enum class Value { kContent, kName };
  explicit ItemReader(Value value) : value_(value) {}

 private:
  Status Start(const std::string&, Allocator*) override { return absl::OkStatus(); }
  StatusOr<bool> Next(const std::string& file, Record* record, bool* at_end) override;
  void Stop() override {}
  bool has_plain_state() const override { return true; }

  const Value value_;
};

// The records of a format, under "file:place".
class FormatReader final : public Reader {
 public:
  FormatReader(std::shared_ptr<const RecordFormat> format, ByteStream::Packing packing)
      : format_(std::move(format)), packing_(packing) {}

 private:
  Status Start(const std::string& file, Allocator* allocator) override;
  StatusOr<bool> Next(const std::string& file, Record* record, bool* at_end) override;
  void Stop() override;
  bool has_plain_state() const override { return false; }

  const std::shared_ptr<const RecordFormat> format_;
  const ByteStream::Packing packing_;
  std::optional<RecordFile> file_;
  Status error_;  // of the file in progress: what comes after is no record
};

}  // namespace carillon
