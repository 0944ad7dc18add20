#include "runtime/trace.h"

#include <chrono>
#include <fstream>

#include "absl/strings/escaping.h"
#include "base/strings.h"
#include "base/throw.h"
#include "carillon/session.h"
#include "proto/step_stats.pb.h"

namespace carillon {

int64_t NowNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The JSON array form of the Trace Event Format: complete events, in microseconds from the first.
void RunMetadata::WriteTrace(const std::string& path) const {
  std::ofstream file(path);
  file << "[{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\""
       << absl::CEscape(device) << "\"}}";
  const int64_t origin = nodes.empty() ? 0 : nodes.front().start_ns;
  for (const NodeTiming& node : nodes) {
    file << ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"" << absl::CEscape(node.op)
         << "\",\"ts\":" << static_cast<double>(node.start_ns - origin) / 1e3
         << ",\"dur\":" << static_cast<double>(node.end_ns - node.start_ns) / 1e3
         << ",\"args\":{\"node\":\"" << absl::CEscape(node.node) << "\",\"kernel\":\""
         << absl::CEscape(node.kernel) << "\",\"output_bytes\":" << node.output_bytes << "}}";
  }
  file << "]\n";
  file.flush();
  if (!file) Throw(absl::UnavailableError(StrCat("the trace could not be written to ", path)));
}

std::string RunMetadata::SerializeStepStats() const {
  tensorflow::StepStats stats;
  tensorflow::DeviceStepStats* dev = stats.add_dev_stats();
  dev->set_device(device);
  for (const NodeTiming& node : nodes) {
    tensorflow::NodeExecStats* one = dev->add_node_stats();
    one->set_node_name(node.node);
    one->set_timeline_label(StrCat(node.node, " = ", node.op, "(", node.kernel, ")"));
    one->set_all_start_micros(node.start_ns / 1000);
    one->set_all_start_nanos(node.start_ns);
    one->set_op_end_rel_micros((node.end_ns - node.start_ns) / 1000);
    one->set_op_end_rel_nanos(node.end_ns - node.start_ns);
    one->set_all_end_rel_micros((node.end_ns - node.start_ns) / 1000);
    one->set_all_end_rel_nanos(node.end_ns - node.start_ns);
  }
  return stats.SerializeAsString();
}

}  // namespace carillon
