#include "runtime/trace.h"

#include <chrono>
#include <fstream>
#include <iomanip>

#include "absl/strings/escaping.h"
#include "base/strings.h"
#include "base/throw.h"
#include "proto/step_stats.pb.h"

namespace carillon {

int64_t NowNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

NodeTiming ToNodeTiming(const KernelTiming& timing, const Program& program) {
  const Instruction& instruction = *timing.instruction;
  const auto shapes = [&](const std::vector<int>& slots) {
    std::vector<PartialShape> all;
    for (const int slot : slots) all.push_back(program.slots[static_cast<size_t>(slot)].shape);
    return all;
  };
  return {.node = instruction.node->name(),
          .op = instruction.node->op(),
          .kernel = std::string(instruction.kernel_name),
          .start_ns = timing.start_ns,
          .end_ns = timing.end_ns,
          .output_bytes = timing.output_bytes,
          .input_shapes = shapes(instruction.inputs),
          .output_shapes = shapes(instruction.outputs)};
}

namespace {

// "[100,784] [784,10]"
std::string ShapesText(const std::vector<PartialShape>& shapes) {
  std::string text;
  for (const PartialShape& shape : shapes)
    StrAppend(&text, text.empty() ? "" : " ", shape.ToString());
  return text;
}

}  // namespace

// The JSON array form of the Trace Event Format: complete events, in microseconds from the first.
void RunMetadata::WriteTrace(const std::string& path) const {
  std::ofstream file(path);
  file << std::fixed << std::setprecision(3);
  file << "[{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\""
       << absl::CEscape(device) << "\"}}";
  const int64_t origin = nodes.empty() ? 0 : nodes.front().start_ns;
  for (const NodeTiming& node : nodes) {
    file << ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"" << absl::CEscape(node.op)
         << "\",\"ts\":" << static_cast<double>(node.start_ns - origin) / 1e3
         << ",\"dur\":" << static_cast<double>(node.end_ns - node.start_ns) / 1e3
         << ",\"args\":{\"node\":\"" << absl::CEscape(node.node) << "\",\"kernel\":\""
         << absl::CEscape(node.kernel) << "\",\"inputs\":\"" << ShapesText(node.input_shapes)
         << "\",\"outputs\":\"" << ShapesText(node.output_shapes)
         << "\",\"output_bytes\":" << node.output_bytes << "}}";
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
