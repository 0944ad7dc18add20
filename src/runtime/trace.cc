#include "runtime/trace.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iomanip>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "base/logging.h"
#include "base/strings.h"
#include "base/throw.h"
#include "proto/step_stats.pb.h"
#include "tensor/tensor_proto.h"

namespace carillon {

namespace {

int64_t BytesOf(const Instruction& instruction, const Program& program) {
  constexpr int64_t kTiming = 512, kOutput = 512;
  constexpr int64_t kInput = sizeof(std::string) + sizeof(PartialShape);
  auto bytes = kTiming + kOutput * static_cast<int64_t>(instruction.outputs.size()) +
               2 * static_cast<int64_t>(instruction.node->name().size());
  for (const int slot : instruction.inputs)
    bytes += kInput + static_cast<int64_t>(program.slots[static_cast<size_t>(slot)].name.size());
  return bytes;
}

}  // namespace

void StepTrace::Add(const KernelTiming& timing, const Program& program) {
  if (is_full) return;
  const int64_t more = BytesOf(*timing.instruction, program);
  is_full = kernels.size() == kMostKernels || more > kMostBytes - bytes;
  if (is_full) {
    LogWarning("the trace of a step ends after ", kernels.size(), " kernels");
    return;
  }
  kernels.push_back(timing);
  bytes += more;
}

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
  std::vector<std::string> inputs;
  for (const int slot : instruction.inputs) {
    const std::string& name = program.slots[static_cast<size_t>(slot)].name;
    inputs.push_back(name.ends_with(":0") ? name.substr(0, name.size() - 2) : name);
  }
  std::vector<DType> dtypes;
  for (const int slot : instruction.outputs)
    dtypes.push_back(program.slots[static_cast<size_t>(slot)].dtype);
  return {.node = instruction.node->name(),
          .op = instruction.node->op(),
          .kernel = std::string(instruction.kernel_name),
          .device = device,
          .start_ns = timing.start_ns,
          .end_ns = timing.end_ns,
          .output_bytes = timing.output_bytes,
          .input_shapes = shapes(instruction.inputs),
          .output_shapes = shapes(instruction.outputs),
          .inputs = std::move(inputs),
          .output_dtypes = std::move(dtypes)};
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

namespace {

constexpr char kAllocator[] = "cpu";

// A kernel's bytes by output: as its shape says, and the rest to the first whose shape does not.
std::vector<int64_t> BytesByOutput(const NodeTiming& node) {
  std::vector<int64_t> bytes(node.output_shapes.size(), 0);
  int64_t rest = node.output_bytes;
  size_t unknown = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    Shape shape;
    if (!node.output_shapes[i].AsShape(&shape)) {
      unknown = i;
      continue;
    }
    const auto element = static_cast<int64_t>(DTypeSize(node.output_dtypes[i]));
    bytes[i] = std::min(shape.num_elements() * element, rest);
    rest -= bytes[i];
  }
  if (!bytes.empty()) bytes[unknown] += rest;
  return bytes;
}

void AddOutputs(const NodeTiming& node, tensorflow::NodeExecStats* stats) {
  if (node.output_dtypes.size() != node.output_shapes.size()) return;
  const std::vector<int64_t> bytes = BytesByOutput(node);
  for (size_t i = 0; i < bytes.size(); ++i) {
    tensorflow::NodeOutput* output = stats->add_output();
    output->set_slot(static_cast<int>(i));
    tensorflow::TensorDescription* tensor = output->mutable_tensor_description();
    tensor->set_dtype(static_cast<tensorflow::DataType>(node.output_dtypes[i]));
    ShapeToProto(node.output_shapes[i], tensor->mutable_shape());
    tensorflow::AllocationDescription* allocation = tensor->mutable_allocation_description();
    allocation->set_requested_bytes(bytes[i]);
    allocation->set_allocated_bytes(bytes[i]);
    allocation->set_allocator_name(kAllocator);
  }
}

// What is known of it: the outputs.
void AddMemory(const NodeTiming& node, tensorflow::NodeExecStats* stats) {
  tensorflow::AllocatorMemoryUsed* memory = stats->add_memory();
  memory->set_allocator_name(kAllocator);
  memory->set_total_bytes(node.output_bytes);
  memory->set_peak_bytes(node.output_bytes);
  memory->set_live_bytes(node.output_bytes);
}

}  // namespace

std::string RunMetadata::SerializeStepStats() const {
  tensorflow::StepStats stats;
  for (const auto& [name, of_device] : ByDevice(*this)) {
    tensorflow::DeviceStepStats* dev = stats.add_dev_stats();
    dev->set_device(name);
    for (const NodeTiming* node : of_device) {
      const int64_t length = node->end_ns - node->start_ns;
      tensorflow::NodeExecStats* one = dev->add_node_stats();
      one->set_node_name(node->node);
      // TensorFlow's timeline reads the inputs between the brackets, and nothing behind them.
      one->set_timeline_label(StrCat(node->node, " = ", node->op, "(",
                                     absl::StrJoin(node->inputs, ", "), ") ", node->kernel));
      one->set_all_start_micros(node->start_ns / 1000);
      one->set_all_start_nanos(node->start_ns);
      one->set_op_end_rel_micros(length / 1000);
      one->set_op_end_rel_nanos(length);
      one->set_all_end_rel_micros(length / 1000);
      one->set_all_end_rel_nanos(length);
      AddOutputs(*node, one);
      AddMemory(*node, one);
    }
  }
  return stats.SerializeAsString();
}

}  // namespace carillon
