// SummaryWriter: event files, which TensorBoard shows.
//
//   const Output summary = MergeSummary({ScalarSummary("loss", loss), HistogramSummary("w", w)});
//   SummaryWriter writer("logs/first");
//   writer.AddGraph(g);
//   for (…) writer.Add(session.Run(summary), step);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "carillon/graph.h"
#include "carillon/tensor.h"

namespace carillon {

// Thread-safe. What was added is in the file after Flush() or Close(). All throw Error when the
// file cannot be written.
class SummaryWriter {
 public:
  // Makes the directory, and a new file in it whose name ends with `suffix`. Two writers that begin
  // within a second in one directory need different ones.
  explicit SummaryWriter(const std::string& directory, const std::string& suffix = "");
  ~SummaryWriter();  // closes the file; what fails then is logged
  SummaryWriter(const SummaryWriter&) = delete;
  SummaryWriter& operator=(const SummaryWriter&) = delete;

  // What an op of carillon/ops/summary.h gave. Throws Error(InvalidArgument) when it is no summary.
  void Add(const Tensor& summary, int64_t step);
  void AddScalar(std::string_view tag, float value, int64_t step);
  void AddGraph(const Graph& graph);

  void Flush();
  // Afterwards nothing can be added: Error(FailedPrecondition).
  void Close();
  const std::string& path() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace carillon
