// Files, by paths that steps compute.
#pragma once

#include <cstdint>
#include <string>

#include "carillon/graph.h"

namespace carillon {

// The content of a file, as a string scalar.
Output ReadFile(Graph& graph, const Input& filename);
// Replaces the file as a whole; makes the directories that are missing.
Operation WriteFile(Graph& graph, const Input& filename, const Input& contents);
// The paths that match `pattern`, or one of several, sorted: * ? [...] within a part of the path.
Output MatchingFiles(Graph& graph, const Input& pattern);

// Readers take the names of files from a queue of strings, and give the records in them. Steps that
// read share the reader, and each record goes to one of them.

struct ReaderOptions {
  std::string name;         // of the node
  std::string container;    // where the reader lives; empty: the default container
  std::string shared_name;  // nodes of equal container and shared name share one reader, in all
                            // sessions; empty: each session has its own
};

// Handles to readers. A file's content is one record, under its name.
Output WholeFileReader(Graph& graph, const ReaderOptions& options = {});
// Lines without their ends, under "file:number", of which the first is 1.
Output TextLineReader(Graph& graph, int64_t skip_header_lines = 0,
                      const ReaderOptions& options = {});
// Under "file:offset". `compression_type`: "", "ZLIB" or "GZIP".
Output TFRecordReader(Graph& graph, const std::string& compression_type = "",
                      const ReaderOptions& options = {});
// Under "file:number", of which the first is 0. What is left over at the end of a file is ignored.
struct FixedLengthRecordReaderOptions {
  ReaderOptions reader = {};
  int64_t header_bytes = 0;
  int64_t footer_bytes = 0;
  int64_t hop_bytes = 0;  // from the start of a record to the next; 0: record_bytes
  std::string encoding;   // "", "ZLIB" or "GZIP"
};
Output FixedLengthRecordReader(Graph& graph, int64_t record_bytes,
                               const FixedLengthRecordReaderOptions& options = {});
// The names themselves, as keys and values.
Output IdentityReader(Graph& graph, const ReaderOptions& options = {});

struct ReaderRecords {
  Output keys, values;
};
// The next record, as scalars. Waits for a file while the queue is empty; Error(OutOfRange) when it
// is closed as well.
ReaderRecords ReaderRead(const Input& reader, const Input& queue);
// Up to `num_records` records of one file, at least one, as vectors.
ReaderRecords ReaderReadUpTo(const Input& reader, const Input& queue, const Input& num_records);
// How many there were since the reader was made, or reset.
Output ReaderNumRecordsProduced(const Input& reader);
Output ReaderNumWorkUnitsCompleted(const Input& reader);  // files that were read to their ends
// The counts as a string, from which they can be restored. Only of readers that are never in the
// middle of a file, WholeFileReader and IdentityReader; Error(Unimplemented) for the others.
Output ReaderSerializeState(const Input& reader);
Operation ReaderRestoreState(const Input& reader, const Input& state);
// Back to how it was when it was made.
Operation ReaderReset(const Input& reader);

}  // namespace carillon
