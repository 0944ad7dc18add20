#include "runtime/executable.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/logging.h"
#include "base/strings.h"
#include "base/work_scope.h"
#include "graph/graphviz.h"
#include "kernels/work.h"
#include "runtime/function_instantiator.h"
#include "runtime/placer.h"
#include "tensor/text_memory.h"

namespace carillon {

// Writes the graph after each pass into a folder: 00-signature.txt, 01-prune.txt, 01-prune.dot, …
class GraphDump {
 public:
  explicit GraphDump(std::string folder) : folder_(std::move(folder)) {}

  void Write(std::string_view pass, const NodeGraph& graph) {
    const WorkPause pause;  // for protobuf
    if (folder_.empty()) return;
    WriteFile(pass, ".dot", ToGraphviz(graph));
    Write(pass, carillon::ToText(graph));
  }
  void Write(std::string_view pass, const std::string& text) {
    if (folder_.empty()) return;
    WriteFile(pass, ".txt", text);
    ++number_;
  }

 private:
  void WriteFile(std::string_view pass, std::string_view ending, const std::string& text) {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    const std::string path =
        StrCat(folder_, "/", number_ < 10 ? "0" : "", number_, "-", pass, ending);
    std::ofstream file(path);
    if (!(file << text)) LogWarning("the graph could not be written to ", path);
  }

  const std::string folder_;
  int number_ = 0;
};

namespace {

// One line each: "feed x:0 [100,784]", "fetch loss:0", "target train".
std::string ToText(const Signature& signature) {
  std::string text;
  for (size_t i = 0; i < signature.feeds.size(); ++i) {
    const Endpoint& feed = signature.feeds[i];
    StrAppend(&text, "feed ", feed.node->name(), ":", feed.index, " ",
              signature.feed_shapes[i].ToString(), "\n");
  }
  for (const Endpoint& fetch : signature.fetches)
    StrAppend(&text, "fetch ", fetch.node->name(), ":", fetch.index, "\n");
  for (const Node* target : signature.targets) StrAppend(&text, "target ", target->name(), "\n");
  return text;
}

// What is behind a handle may be of any size and locked for any time, so may what a stateful op
// keeps; strings may be of any length. Of the rest the sizes are known, and the time that a kernel
// takes for other values (a series that converges slowly) is bounded where there are few of them.
bool HasFixedWork(const Program& program) {
  constexpr int64_t kFewBytes = 16 << 10;  // of all values together
  if (!program.straight_line) return false;
  int64_t left = kFewBytes;
  for (const Slot& slot : program.slots) {
    Shape shape;
    if (!IsPlainData(slot.dtype) || !slot.shape.AsShape(&shape)) return false;
    // No product of the two: a graph may ask for any shape.
    const auto size = static_cast<int64_t>(DTypeSize(slot.dtype));
    if (shape.num_elements() > left / size) return false;
    left -= shape.num_elements() * size;
  }
  return std::ranges::none_of(program.instructions, [](const Instruction& instruction) {
    return instruction.node->spec().is_stateful;
  });
}

struct NamedPass {
  const char* name;
  Status (*run)(NodeGraph* graph);
};
constexpr NamedPass kFusions[] = {{"use-bias-ops", UseBiasOps},
                                  {"fuse-batch-norm", FuseBatchNorm},
                                  {"fuse-relu-pool-grad", FuseReluPoolGrad},
                                  {"fuse-bias", FuseBias},
                                  {"fuse-filter-bias-grad", FuseFilterBiasGrad}};

// For folding: what takes longer is left to the step, where whoever waits for it can end it.
class Patience final : public Cancellation {
 public:
  bool IsCancelled() const override { return std::chrono::steady_clock::now() > end_; }
  bool Register(uint64_t*, std::function<void()>) override { return true; }
  bool Deregister(uint64_t) override { return true; }

 private:
  const std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(2);
};

// Computes a node outside of any step, with plain kernels.
StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node, const std::vector<Tensor>& inputs,
                                           const Device& device, Patience* patience) {
  std::vector<ValueInfo> input_infos, output_infos;
  for (const Tensor& input : inputs)
    input_infos.push_back({.dtype = input.dtype(), .shape = input.shape(), .constant = &input});
  for (int i = 0; i < node.num_outputs(); ++i)
    output_infos.push_back({.dtype = node.output(i).dtype, .shape = node.output(i).shape});
  const KernelOptions options{.reference = true};
  std::string_view chosen;
  const KernelRequest request{node, input_infos, output_infos, options, nullptr};
  CARILLON_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel,
                            device.kernels->Make(request, &chosen));
  if (kernel->traits().is_async) return Unimplemented("node ", node.Describe(), " may wait");
  if (patience->IsCancelled()) return absl::CancelledError("folding takes too long");
  std::vector<Tensor> ins = inputs, outs(static_cast<size_t>(node.num_outputs()));
  std::vector<Tensor*> in_pointers, out_pointers;
  for (Tensor& tensor : ins) in_pointers.push_back(&tensor);
  for (Tensor& tensor : outs) out_pointers.push_back(&tensor);
  // In the device's memory, results and all: what is folded counts against its limit.
  Tensor scratch;
  if (const auto bytes = static_cast<int64_t>(kernel->traits().scratch_bytes); bytes > 0) {
    scratch = Tensor::TryAllocate(DType::kUint8, Shape{bytes}, device.allocator.get());
    if (!scratch.has_value()) return ResourceExhausted("no memory to fold ", node.Describe());
  }
  const KernelContext::Frame frame{
      .node = &node,
      .traits = &kernel->traits(),
      .inputs = in_pointers.data(),
      .outputs = out_pointers.data(),
      .scratch = scratch.has_value() ? scratch.mutable_raw_data() : nullptr,
      .num_inputs = static_cast<int>(ins.size()),
      .num_outputs = static_cast<int>(outs.size())};
  const StepServices services{.allocator = device.allocator.get(), .cancellation = patience};
  KernelContext context(services, frame);
  CARILLON_RETURN_IF_ERROR(RunOnAccount(services, [&] { return kernel->Run(context); }));
  for (const Tensor& out : outs) CARILLON_RETURN_IF_ERROR(ChargeText(out));
  return outs;
}

StatusOr<std::unique_ptr<NodeGraph>> Specialize(const NodeGraph& graph, const Signature& signature,
                                                const std::vector<std::string>& devices,
                                                const SpecializeOptions& options, GraphDump& dump) {
  dump.Write("signature", ToText(signature));
  CARILLON_ASSIGN_OR_RETURN(std::unique_ptr<NodeGraph> work, PruneToSignature(graph, signature));
  if (options.in_parts) {
    CARILLON_RETURN_IF_ERROR(ExchangeInParts(work.get()));
    // Values come and go where the session is.
    for (const auto& node : work->nodes()) {
      if (node != nullptr && (node->op() == "_Recv" || node->op() == "_Send"))
        node->set_device(devices.front());
    }
  }
  dump.Write("prune", *work);
  CARILLON_RETURN_IF_ERROR(ExpandFunctions(work.get()));
  dump.Write("expand-functions", *work);
  CARILLON_RETURN_IF_ERROR(
      Place(work.get(), devices,
            {.allow_soft_placement = options.allow_soft_placement, .whole = &graph}));
  CARILLON_RETURN_IF_ERROR(ReadReferences(work.get()));
  CARILLON_RETURN_IF_ERROR(InferAllShapes(work.get()));
  dump.Write("infer-shapes", *work);
  return work;
}

// Less work, and less to send between devices.
Status Reduce(NodeGraph* work, const Device& device, GraphDump& dump) {
  Patience patience;
  CARILLON_RETURN_IF_ERROR(
      FoldConstants(work, [&](const Node& node, const std::vector<Tensor>& inputs) {
        return EvaluateNode(node, inputs, device, &patience);
      }));
  dump.Write("fold-constants", *work);
  CARILLON_RETURN_IF_ERROR(Simplify(work));
  dump.Write("simplify", *work);
  CARILLON_RETURN_IF_ERROR(DropUnusedValues(work));
  dump.Write("drop-unused-values", *work);
  CARILLON_RETURN_IF_ERROR(MergeCommonSubexpressions(work));
  dump.Write("common-subexpressions", *work);
  return absl::OkStatus();
}

}  // namespace

StatusOr<PartitionedGraph> SpecializeInParts(const NodeGraph& graph, const Signature& signature,
                                             const std::vector<std::string>& devices,
                                             const Device& host, const SpecializeOptions& options) {
  GraphDump dump(options.dump_folder);
  CARILLON_ASSIGN_OR_RETURN(std::unique_ptr<NodeGraph> work,
                            Specialize(graph, signature, devices, options, dump));
  if (options.optimize) CARILLON_RETURN_IF_ERROR(Reduce(work.get(), host, dump));
  std::string device;
  const bool is_whole = std::ranges::all_of(work->nodes(), [&](const auto& node) {
    if (node == nullptr) return true;
    if (device.empty()) device = node->device();
    return node->device() == device;
  });
  if (!is_whole) return Partition(std::move(work));
  Part whole{.device = device.empty() ? devices.front() : device, .graph = std::move(work)};
  for (size_t i = 0; i < signature.feeds.size(); ++i) whole.feeds.push_back(static_cast<int>(i));
  for (size_t i = 0; i < signature.fetches.size(); ++i)
    whole.fetches.push_back(static_cast<int>(i));
  PartitionedGraph result;
  result.parts.push_back(std::move(whole));
  return result;
}

StatusOr<std::unique_ptr<Executable>> Executable::Make(const NodeGraph& graph,
                                                       const Signature& signature,
                                                       std::shared_ptr<Device> device,
                                                       ResourceStore* session_state,
                                                       const SpecializeOptions& options) {
  GraphDump dump(options.dump_folder);
  CARILLON_ASSIGN_OR_RETURN(std::unique_ptr<NodeGraph> work,
                            Specialize(graph, signature, {device->name}, options, dump));
  return Compile(std::move(work), std::move(device), session_state, options, dump);
}

StatusOr<std::unique_ptr<Executable>> Executable::FromPart(std::unique_ptr<NodeGraph> part,
                                                           std::shared_ptr<Device> device,
                                                           ResourceStore* session_state,
                                                           const SpecializeOptions& options) {
  GraphDump dump(options.dump_folder);
  CARILLON_RETURN_IF_ERROR(InferAllShapes(part.get()));
  return Compile(std::move(part), std::move(device), session_state, options, dump);
}

StatusOr<std::unique_ptr<Executable>> Executable::Compile(std::unique_ptr<NodeGraph> work,
                                                          std::shared_ptr<Device> device,
                                                          ResourceStore* session_state,
                                                          const SpecializeOptions& options,
                                                          GraphDump& dump) {
  if (options.optimize) {
    CARILLON_RETURN_IF_ERROR(Reduce(work.get(), *device, dump));
    for (const auto& [name, fuse] : kFusions) {
      CARILLON_RETURN_IF_ERROR(fuse(work.get()));
      dump.Write(name, *work);
    }
  }
  std::unique_ptr<Executable> executable(new Executable);
  executable->device_ = std::move(device);
  LibraryInstantiator functions(work->functions(), executable->device_, options);
  LoweringOptions lowering = options.lowering;
  if (work->functions() != nullptr) lowering.functions = &functions;
  CARILLON_ASSIGN_OR_RETURN(executable->program_,
                            Lower(std::move(work), *executable->device_, session_state, lowering));
  dump.Write("program", executable->program_->ToString());
  executable->has_fixed_work_ = HasFixedWork(*executable->program_);
  if (executable->program_->straight_line) {
    executable->executor_ = MakeStraightLineExecutor(*executable->program_, *executable->device_);
  } else {
    CARILLON_ASSIGN_OR_RETURN(executable->executor_,
                              MakeDataflowExecutor(*executable->program_, *executable->device_));
  }
  return executable;
}

}  // namespace carillon
