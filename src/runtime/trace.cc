#include "runtime/trace.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iomanip>
#include <map>

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

NodeTiming ToNodeTiming(const KernelTiming& timing, const Program& program,
                        const std::string& device) {
  const Instruction& instruction = *timing.instruction;
  const auto shapes = [&](const std::vector<int>& slots) {
    std::vector<PartialShape> all;
    for (const int slot : slots) all.push_back(program.slots[static_cast<size_t>(slot)].shape);
    return all;
  };
  return {.node = instruction.node->name(),
          .op = instruction.node->op(),
          .kernel = std::string(instruction.kernel_name),
          .device = device,
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

// The nodes by the device on which they ran, in the order in which they began.
std::map<std::string, std::vector<const NodeTiming*>> ByDevice(const RunMetadata& metadata) {
  std::map<std::string, std::vector<const NodeTiming*>> devices;
  for (const NodeTiming& node : metadata.nodes)
    devices[node.device.empty() ? metadata.device : node.device].push_back(&node);
  for (auto& [device, nodes] : devices)
    std::ranges::stable_sort(nodes, {}, [](const NodeTiming* node) { return node->start_ns; });
  return devices;
}

// The first row that is free at a node's start, where `free_at` says until when each is taken.
size_t TakeRow(const NodeTiming& node, std::vector<int64_t>* free_at) {
  const auto found =
      std::ranges::find_if(*free_at, [&](int64_t time) { return time <= node.start_ns; });
  const auto row = static_cast<size_t>(found - free_at->begin());
  if (found == free_at->end()) free_at->push_back(0);
  (*free_at)[row] = node.end_ns;
  return row;
}

}  // namespace

// The JSON array form of the Trace Event Format: complete events, in microseconds from the first.
void RunMetadata::WriteTrace(const std::string& path) const {
  std::ofstream file(path);
  file << std::fixed << std::setprecision(3);
  const auto devices = ByDevice(*this);
  int64_t origin = INT64_MAX;
  for (const auto& [name, of_device] : devices)
    origin = std::min(origin, of_device.front()->start_ns);
  int pid = 0;
  const char* separator = "[";
  for (const auto& [name, of_device] : devices) {
    ++pid;
    file << separator << "{\"ph\":\"M\",\"pid\":" << pid
         << ",\"name\":\"process_name\",\"args\":{\"name\":\"" << absl::CEscape(name) << "\"}}";
    separator = ",\n";
    std::vector<int64_t> free_at;
    for (const NodeTiming* node : of_device) {
      file << separator << "{\"ph\":\"X\",\"pid\":" << pid
           << ",\"tid\":" << TakeRow(*node, &free_at) + 1 << ",\"name\":\""
           << absl::CEscape(node->op)
           << "\",\"ts\":" << static_cast<double>(node->start_ns - origin) / 1e3
           << ",\"dur\":" << static_cast<double>(node->end_ns - node->start_ns) / 1e3
           << ",\"args\":{\"node\":\"" << absl::CEscape(node->node) << "\",\"kernel\":\""
           << absl::CEscape(node->kernel) << "\",\"inputs\":\"" << ShapesText(node->input_shapes)
           << "\",\"outputs\":\"" << ShapesText(node->output_shapes)
           << "\",\"output_bytes\":" << node->output_bytes << "}}";
    }
  }
  file << (devices.empty() ? "[]\n" : "]\n");
  file.flush();
  if (!file) Throw(absl::UnavailableError(StrCat("the trace could not be written to ", path)));
}

std::string RunMetadata::SerializeStepStats() const {
  tensorflow::StepStats stats;
  for (const auto& [name, of_device] : ByDevice(*this)) {
    tensorflow::DeviceStepStats* dev = stats.add_dev_stats();
    dev->set_device(name);
    for (const NodeTiming* node : of_device) {
      const int64_t length = node->end_ns - node->start_ns;
      tensorflow::NodeExecStats* one = dev->add_node_stats();
      one->set_node_name(node->node);
      one->set_timeline_label(StrCat(node->node, " = ", node->op, "(", node->kernel, ")"));
      one->set_all_start_micros(node->start_ns / 1000);
      one->set_all_start_nanos(node->start_ns);
      one->set_op_end_rel_micros(length / 1000);
      one->set_op_end_rel_nanos(length);
      one->set_all_end_rel_micros(length / 1000);
      one->set_all_end_rel_nanos(length);
    }
  }
  return stats.SerializeAsString();
}

}  // namespace carillon
