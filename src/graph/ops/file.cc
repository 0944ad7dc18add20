// Specs of the ops for files.
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

Status ReadUpToShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(2, 0).status());
  c.set_output(0, PartialShape{-1});
  c.set_output(1, PartialShape{-1});
  return absl::OkStatus();
}

Status RestoreStateShape(ShapeContext& c) { return c.WithRank(1, 0).status(); }

}  // namespace

void AddFileOps(OpTable& ops) {
  ops.Add("ReadFile(filename: string) -> (contents: string)", "", ReadFileShape);
  ops.Add("WriteFile(filename: string, contents: string) -> ()", "", {stateful}, WriteFileShape);
  ops.Add("MatchingFiles(pattern: string) -> (filenames: string)", "", MatchingFilesShape);
  ops.Add("WholeFileReader() -> (reader_handle: ref(string))",
          "container: string = ''; shared_name: string = ''", {stateful}, ShapeScalar);
  ops.Add("WholeFileReaderV2() -> (reader_handle: resource)",
          "container: string = ''; shared_name: string = ''", {stateful}, ShapeScalar);
  ops.Add("TextLineReader() -> (reader_handle: ref(string))",
          "skip_header_lines: int = 0; container: string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("TextLineReaderV2() -> (reader_handle: resource)",
          "skip_header_lines: int = 0; container: string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("FixedLengthRecordReader() -> (reader_handle: ref(string))",
          "header_bytes: int = 0; record_bytes: int; footer_bytes: int = 0; hop_bytes: int = 0; "
          "container: string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("FixedLengthRecordReaderV2() -> (reader_handle: resource)",
          "header_bytes: int = 0; record_bytes: int; footer_bytes: int = 0; hop_bytes: int = 0; "
          "container: string = ''; shared_name: string = ''; encoding: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("TFRecordReader() -> (reader_handle: ref(string))",
          "container: string = ''; shared_name: string = ''; compression_type: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("TFRecordReaderV2() -> (reader_handle: resource)",
          "container: string = ''; shared_name: string = ''; compression_type: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("IdentityReader() -> (reader_handle: ref(string))",
          "container: string = ''; shared_name: string = ''", {stateful}, ShapeScalar);
  ops.Add("IdentityReaderV2() -> (reader_handle: resource)",
          "container: string = ''; shared_name: string = ''", {stateful}, ShapeScalar);
  ops.Add(
      "ReaderRead(reader_handle: ref(string), queue_handle: ref(string)) -> (key: string, value: "
      "string)",
      "", ShapeScalar);
  ops.Add(
      "ReaderReadV2(reader_handle: resource, queue_handle: resource) -> (key: string, value: "
      "string)",
      "", {stateful}, ShapeScalar);
  ops.Add(
      "ReaderReadUpTo(reader_handle: ref(string), queue_handle: ref(string), num_records: int64) "
      "-> (keys: string, values: string)",
      "", ReadUpToShape);
  ops.Add(
      "ReaderReadUpToV2(reader_handle: resource, queue_handle: resource, num_records: int64) -> "
      "(keys: string, values: string)",
      "", {stateful}, ReadUpToShape);
  ops.Add("ReaderNumRecordsProduced(reader_handle: ref(string)) -> (records_produced: int64)", "",
          ShapeScalar);
  ops.Add("ReaderNumRecordsProducedV2(reader_handle: resource) -> (records_produced: int64)", "",
          {stateful}, ShapeScalar);
  ops.Add("ReaderNumWorkUnitsCompleted(reader_handle: ref(string)) -> (units_completed: int64)", "",
          ShapeScalar);
  ops.Add("ReaderNumWorkUnitsCompletedV2(reader_handle: resource) -> (units_completed: int64)", "",
          {stateful}, ShapeScalar);
  ops.Add("ReaderSerializeState(reader_handle: ref(string)) -> (state: string)", "", ShapeScalar);
  ops.Add("ReaderSerializeStateV2(reader_handle: resource) -> (state: string)", "", {stateful},
          ShapeScalar);
  ops.Add("ReaderRestoreState(reader_handle: ref(string), state: string) -> ()", "",
          RestoreStateShape);
  ops.Add("ReaderRestoreStateV2(reader_handle: resource, state: string) -> ()", "", {stateful},
          RestoreStateShape);
  ops.Add("ReaderReset(reader_handle: ref(string)) -> ()", "", ShapeNothing);
  ops.Add("ReaderResetV2(reader_handle: resource) -> ()", "", {stateful}, ShapeNothing);
}

}  // namespace carillon
