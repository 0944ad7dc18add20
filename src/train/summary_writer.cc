#include "carillon/summary_writer.h"

#include <mutex>
#include <optional>

#include "base/logging.h"
#include "base/throw.h"
#include "checkpoint/event_file.h"
#include "graph/graph_def.h"
#include "proto/event.pb.h"

namespace carillon {

// `writer` is guarded by `mutex`, and gone once it is closed.
struct SummaryWriter::State {
  explicit State(EventFileWriter opened) : path(opened.path()), writer(std::move(opened)) {}

  Status Write(const tensorflow::Event& event) {
    std::lock_guard lock(mutex);
    if (!writer.has_value()) return FailedPrecondition(path, " has been closed");
    return writer->Write(event);
  }
  Status Close() {
    std::lock_guard lock(mutex);
    if (!writer.has_value()) return absl::OkStatus();
    const Status status = writer->Close();
    writer.reset();
    return status;
  }

  const std::string path;
  std::mutex mutex;
  std::optional<EventFileWriter> writer;
};

SummaryWriter::SummaryWriter(const std::string& directory, const std::string& suffix)
    : state_(std::make_unique<State>(
          ValueOrThrow(EventFileWriter::Open(PosixEnv(), directory, suffix)))) {}

SummaryWriter::~SummaryWriter() {
  if (const Status status = state_->Close(); !status.ok())
    LogWarning("an event file may be incomplete: ", status.message());
}

void SummaryWriter::Add(const Tensor& summary, int64_t step) {
  tensorflow::Event event;
  event.set_step(step);
  if (summary.dtype() != DType::kString || summary.num_elements() != 1 ||
      !event.mutable_summary()->ParseFromString(summary.data<std::string>()[0])) {
    Throw(InvalidArgument("this is no summary: ", summary.ToString()));
  }
  ThrowIfError(state_->Write(event));
}

void SummaryWriter::AddScalar(std::string_view tag, float value, int64_t step) {
  tensorflow::Event event;
  event.set_step(step);
  tensorflow::Summary::Value* entry = event.mutable_summary()->add_value();
  entry->set_tag(std::string(tag));
  entry->set_simple_value(value);
  ThrowIfError(state_->Write(event));
}

void SummaryWriter::AddGraph(const Graph& graph) {
  tensorflow::Event event;
  event.set_graph_def(ExportGraphDefBinary(graph.nodes()));
  ThrowIfError(state_->Write(event));
}

void SummaryWriter::Flush() {
  std::lock_guard lock(state_->mutex);
  if (state_->writer.has_value()) ThrowIfError(state_->writer->Flush());
}

void SummaryWriter::Close() { ThrowIfError(state_->Close()); }

const std::string& SummaryWriter::path() const { return state_->path; }

}  // namespace carillon
