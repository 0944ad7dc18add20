// Specs of the ops for files and readers.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

Status ReadFileShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 0).status());
  return ShapeScalar(c);
}

Status WriteFileShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 0).status());
  return c.WithRank(1, 0).status();
}

Status MatchingFilesShape(ShapeContext& c) {
  if (c.input(0).has_rank() && c.input(0).rank() > 1) {
    return InvalidArgument("pattern should be a scalar or a vector but has shape ",
                           c.input(0).ToString());
  }
  c.set_output(0, PartialShape{-1});
  return absl::OkStatus();
}

}  // namespace

void AddFileOps(OpTable& ops) {
  ops.Add("ReadFile(filename: string) -> (contents: string)", "", ReadFileShape);
  ops.Add("WriteFile(filename: string, contents: string) -> ()", "", {stateful}, WriteFileShape);
  ops.Add("MatchingFiles(pattern: string) -> (filenames: string)", "", MatchingFilesShape);
  ops.Add("WholeFileReader() -> (reader_handle: ref(string))",
          "container: string = ''; shared_name: string = ''", {stateful});
  ops.Add("WholeFileReaderV2() -> (reader_handle: resource)",
          "container: string = ''; shared_name: string = ''", {stateful});
  ops.Add("TextLineReader() -> (reader_handle: ref(string))",
          "skip_header_lines: int = 0; container: string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("TextLineReaderV2() -> (reader_handle: resource)",
          "skip_header_lines: int = 0; container: string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("TFRecordReader() -> (reader_handle: ref(string))",
          "container: string = ''; shared_name: string = ''; compression_type: string = ''",
          {stateful});
  ops.Add("TFRecordReaderV2() -> (reader_handle: resource)",
          "container: string = ''; shared_name: string = ''; compression_type: string = ''",
          {stateful});
  ops.Add("FixedLengthRecordReader() -> (reader_handle: ref(string))",
          "header_bytes: int = 0; record_bytes: int; footer_bytes: int = 0; hop_bytes: int = 0; "
          "container: string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("FixedLengthRecordReaderV2() -> (reader_handle: resource)",
          "header_bytes: int = 0; record_bytes: int; footer_bytes: int = 0; hop_bytes: int = 0; "
          "container: string = ''; shared_name: string = ''; encoding: string = ''",
          {stateful});
  ops.Add("IdentityReader() -> (reader_handle: ref(string))",
          "container: string = ''; shared_name: string = ''", {stateful});
  ops.Add("IdentityReaderV2() -> (reader_handle: resource)",
          "container: string = ''; shared_name: string = ''", {stateful});
  ops.Add(
      "ReaderRead(reader_handle: ref(string), queue_handle: ref(string)) -> (key: string, value: "
      "string)",
      "");
  ops.Add(
      "ReaderReadV2(reader_handle: resource, queue_handle: resource) -> (key: string, value: "
      "string)",
      "", {stateful});
  ops.Add(
      "ReaderReadUpTo(reader_handle: ref(string), queue_handle: ref(string), num_records: int64) "
      "-> (keys: string, values: string)",
      "");
  ops.Add(
      "ReaderReadUpToV2(reader_handle: resource, queue_handle: resource, num_records: int64) -> "
      "(keys: string, values: string)",
      "", {stateful});
  ops.Add("ReaderNumRecordsProduced(reader_handle: ref(string)) -> (records_produced: int64)", "");
  ops.Add("ReaderNumRecordsProducedV2(reader_handle: resource) -> (records_produced: int64)", "",
          {stateful});
  ops.Add("ReaderNumWorkUnitsCompleted(reader_handle: ref(string)) -> (units_completed: int64)",
          "");
  ops.Add("ReaderNumWorkUnitsCompletedV2(reader_handle: resource) -> (units_completed: int64)", "",
          {stateful});
  ops.Add("ReaderReset(reader_handle: ref(string)) -> ()", "");
  ops.Add("ReaderResetV2(reader_handle: resource) -> ()", "", {stateful});
}

}  // namespace carillon
