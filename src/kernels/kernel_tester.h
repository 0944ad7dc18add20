// Runs one op through the kernels of the CPU, outside of any session: for tests and measurements of
// kernels.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/throw.h"
#include "graph/node_graph.h"
#include "kernels/kernel.h"

namespace carillon {

// A tensor, and the layout that its elements lie in.
struct LaidOut {
  Tensor tensor;
  Layout layout;
  LaidOut() = default;
  LaidOut(Tensor plain) : tensor(std::move(plain)) {}  // NOLINT: row-major
  LaidOut(Tensor value, Layout in) : tensor(std::move(value)), layout(std::move(in)) {}
};

// Throws Error when something goes wrong.
class KernelTester {
 public:
  // Of the inputs only dtype, shape and layout count here; integer vectors (sizes, axes) are taken
  // as constants.
  KernelTester(const std::string& op, AttrMap attrs, const std::vector<LaidOut>& inputs,
               KernelOptions options = {})
      : options_(options) {
    NodeInit init{.name = "op", .op = op};
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& value = inputs[i].tensor;
      const bool constant = IsInteger(value.dtype()) && value.rank() <= 1;
      Node* node = ValueOrThrow(
          constant ? graph_.Add({.name = StrCat("in", i),
                                 .op = "Const",
                                 .attrs = {{"dtype", value.dtype()}, {"value", value}}})
                   : graph_.Add({.name = StrCat("in", i),
                                 .op = "Placeholder",
                                 .attrs = {{"dtype", value.dtype()},
                                           {"shape", PartialShape(value.shape())}}}));
      node->mutable_output(0).shape = value.shape();
      init.inputs.push_back({node, 0});
    }
    init.attrs = std::move(attrs);
    node_ = ValueOrThrow(graph_.Add(std::move(init)));
    std::vector<ValueInfo> ins, outs;
    for (size_t i = 0; i < inputs.size(); ++i)
      ins.push_back(
          {inputs[i].tensor.dtype(), inputs[i].tensor.shape(), inputs[i].layout, nullptr});
    for (int i = 0; i < node_->num_outputs(); ++i)
      outs.push_back({node_->output(i).dtype, node_->output(i).shape, nullptr, nullptr});
    const KernelRequest request{*node_, ins, outs, options_, nullptr};
    kernel_ = ValueOrThrow(CpuKernels().Make(request, &chosen_));
    scratch_ = Tensor(DType::kUint8, Shape{static_cast<int64_t>(kernel_->traits().scratch_bytes)});
  }

  // "ref", "cpu", …
  std::string_view chosen() const { return chosen_; }
  const Kernel& kernel() const { return *kernel_; }
  const Node& node() const { return *node_; }

  // Inputs are reordered first where the kernel wants them in another layout.
  std::vector<LaidOut> Run(const std::vector<LaidOut>& inputs) {
    std::vector<Tensor> ins;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Layout wanted =
          kernel_->traits().input_layouts.empty() ? nullptr : kernel_->traits().input_layouts[i];
      ins.push_back(Reordered(inputs[i], wanted, options_).tensor);
    }
    std::vector<Tensor> outs(static_cast<size_t>(node_->num_outputs()));
    RunOnce(&ins, &outs);
    std::vector<LaidOut> results;
    for (size_t i = 0; i < outs.size(); ++i) {
      results.emplace_back(std::move(outs[i]), kernel_->traits().output_layouts.empty()
                                                   ? nullptr
                                                   : kernel_->traits().output_layouts[i]);
    }
    return results;
  }
  // The same, all outputs row-major.
  std::vector<Tensor> RunPlain(const std::vector<LaidOut>& inputs) {
    std::vector<Tensor> results;
    for (const LaidOut& output : Run(inputs))
      results.push_back(Reordered(output, nullptr, options_).tensor);
    return results;
  }
  // Without any reorder: inputs lie as the kernel wants them. Outputs that hold a tensor are
  // written into it.
  void RunOnce(std::vector<Tensor>* inputs, std::vector<Tensor>* outputs) {
    std::vector<Tensor*> ins, outs;
    for (Tensor& tensor : *inputs) ins.push_back(&tensor);
    std::vector<PlannedMemory> planned;
    for (Tensor& tensor : *outputs) {
      planned.push_back(
          tensor.has_value()
              ? PlannedMemory{tensor.buffer(), tensor.mutable_raw_data(), tensor.num_bytes()}
              : PlannedMemory{});
      outs.push_back(&tensor);
    }
    const KernelContext::Frame frame{.node = node_,
                                     .traits = &kernel_->traits(),
                                     .inputs = ins.data(),
                                     .outputs = outs.data(),
                                     .planned = planned.data(),
                                     .scratch = scratch_.mutable_raw_data(),
                                     .num_inputs = static_cast<int>(ins.size()),
                                     .num_outputs = static_cast<int>(outs.size())};
    const StepServices services{.allocator = HostAllocator()};
    KernelContext context(services, frame);
    ThrowIfError(kernel_->Run(context));
  }

  static LaidOut Reordered(const LaidOut& from, const Layout& to, const KernelOptions& options) {
    if (SameLayout(from.layout, to)) return from;
    const ValueInfo info{from.tensor.dtype(), from.tensor.shape(), from.layout, nullptr};
    const std::unique_ptr<Kernel> reorder = ValueOrThrow(CpuKernels().reorder()(info, to, options));
    Tensor in = from.tensor, out;
    Tensor* in_pointer = &in;
    Tensor* out_pointer = &out;
    const KernelContext::Frame frame{.traits = &reorder->traits(),
                                     .inputs = &in_pointer,
                                     .outputs = &out_pointer,
                                     .num_inputs = 1,
                                     .num_outputs = 1};
    const StepServices services{.allocator = HostAllocator()};
    KernelContext context(services, frame);
    ThrowIfError(reorder->Run(context));
    return {out, to};
  }

 private:
  const KernelOptions options_;
  NodeGraph graph_;
  Node* node_ = nullptr;
  std::string_view chosen_;
  std::unique_ptr<Kernel> kernel_;
  Tensor scratch_;
};

}  // namespace carillon
