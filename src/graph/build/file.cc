#include "carillon/ops/file.h"

#include "carillon/op_builder.h"

namespace carillon {
namespace {

OpBuilder ReaderBuilder(Graph& graph, const char* op, const ReaderOptions& options) {
  OpBuilder builder(graph, op);
  builder.Name(options.name)
      .Attr("container", options.container)
      .Attr("shared_name", options.shared_name);
  return builder;
}

ReaderRecords Records(const Operation& op) { return {op.output(0), op.output(1)}; }

}  // namespace

Output ReadFile(Graph& graph, const Input& filename) {
  return OpBuilder(graph, "ReadFile").Arg(filename);
}

Operation WriteFile(Graph& graph, const Input& filename, const Input& contents) {
  return OpBuilder(graph, "WriteFile").Arg(filename).Arg(contents).Build();
}

Output MatchingFiles(Graph& graph, const Input& pattern) {
  return OpBuilder(graph, "MatchingFiles").Arg(pattern);
}

Output WholeFileReader(Graph& graph, const ReaderOptions& options) {
  return ReaderBuilder(graph, "WholeFileReaderV2", options);
}

Output TextLineReader(Graph& graph, int64_t skip_header_lines, const ReaderOptions& options) {
  return ReaderBuilder(graph, "TextLineReaderV2", options)
      .Attr("skip_header_lines", skip_header_lines);
}

Output TFRecordReader(Graph& graph, const std::string& compression_type,
                      const ReaderOptions& options) {
  return ReaderBuilder(graph, "TFRecordReaderV2", options)
      .Attr("compression_type", compression_type);
}

Output FixedLengthRecordReader(Graph& graph, int64_t record_bytes,
                               const FixedLengthRecordReaderOptions& options) {
  return ReaderBuilder(graph, "FixedLengthRecordReaderV2", options.reader)
      .Attr("record_bytes", record_bytes)
      .Attr("header_bytes", options.header_bytes)
      .Attr("footer_bytes", options.footer_bytes)
      .Attr("hop_bytes", options.hop_bytes)
      .Attr("encoding", options.encoding);
}

Output IdentityReader(Graph& graph, const ReaderOptions& options) {
  return ReaderBuilder(graph, "IdentityReaderV2", options);
}

ReaderRecords ReaderRead(const Input& reader, const Input& queue) {
  return Records(OpBuilder("ReaderReadV2").Arg(reader).Arg(queue).Build());
}

ReaderRecords ReaderReadUpTo(const Input& reader, const Input& queue, const Input& num_records) {
  return Records(OpBuilder("ReaderReadUpToV2").Arg(reader).Arg(queue).Arg(num_records).Build());
}

Output ReaderNumRecordsProduced(const Input& reader) {
  return OpBuilder("ReaderNumRecordsProducedV2").Arg(reader);
}

Output ReaderNumWorkUnitsCompleted(const Input& reader) {
  return OpBuilder("ReaderNumWorkUnitsCompletedV2").Arg(reader);
}

Output ReaderSerializeState(const Input& reader) {
  return OpBuilder("ReaderSerializeStateV2").Arg(reader);
}

Operation ReaderRestoreState(const Input& reader, const Input& state) {
  return OpBuilder("ReaderRestoreStateV2").Arg(reader).Arg(state).Build();
}

Operation ReaderReset(const Input& reader) {
  return OpBuilder("ReaderResetV2").Arg(reader).Build();
}

}  // namespace carillon
