// KernelContext: what one run of one kernel sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "carillon/tensor.h"
#include "graph/node_graph.h"
#include "kernels/services.h"

namespace carillon {

struct KernelTraits;

// Memory that the plan set aside for one output; null data: allocate.
struct PlannedMemory {
  Buffer* buffer = nullptr;
  void* data = nullptr;
  size_t bytes = 0;
};

// Where in the step's loops a kernel runs: null outside of all of them.
struct LoopPosition {
  const LoopPosition* outer = nullptr;
  int64_t iteration = 0;
};

// Made by the executor. Not thread-safe; of async kernels it lives until done.
class KernelContext {
 public:
  // The executor's side: everything, the frame itself too, is borrowed for the time of the run.
  struct Frame {
    const Node* node = nullptr;
    const KernelTraits* traits = nullptr;
    Tensor* const* inputs = nullptr;  // null pointer where the input is dead (Merge)
    Tensor* const* outputs = nullptr;
    const PlannedMemory* planned = nullptr;  // one for each output; null: nothing is planned
    const bool* input_dies =
        nullptr;  // one for each input: this run is its last use; null: unknown
    void* scratch = nullptr;
    const LoopPosition* position = nullptr;
    int num_inputs = 0;
    int num_outputs = 0;
  };
  KernelContext(const StepServices& services, const Frame& frame)
      : services_(services), frame_(frame) {}

  const Node& node() const { return *frame_.node; }
  int num_inputs() const { return frame_.num_inputs; }
  int num_outputs() const { return frame_.num_outputs; }
  const Tensor& input(int i) const { return *frame_.inputs[i]; }
  bool has_input(int i) const {
    return frame_.inputs[i] != nullptr && frame_.inputs[i]->has_value();
  }
  DType output_dtype(int i) const { return node().output(i).dtype; }

  // A tensor of the output's dtype to write into: planned memory when there is some of that size,
  // else from the step's allocator. ResourceExhausted when it cannot be had.
  StatusOr<Tensor*> AllocateOutput(int i, const Shape& shape);
  // The same for kernels that stand for no node of their own (reorders), whose outputs no spec
  // describes.
  StatusOr<Tensor*> AllocateOutput(int i, DType dtype, const Shape& shape);
  // The same, but over the memory of one of `inputs` when this run is its last use, nobody else
  // holds it, and size and dtype agree.
  StatusOr<Tensor*> ReuseOrAllocateOutput(int i, std::initializer_list<int> inputs,
                                          const Shape& shape);
  // Output i is `value`. When `value` shares an input's memory the kernel's traits must list that
  // alias, else step memory is copied here. Throws ResourceExhausted when there is no memory for a
  // copy, as Keep and Take do.
  void set_output(int i, Tensor value);
  // Output i is one string, in the memory of the step. Throws as set_output does.
  void set_text(int i, std::string text);
  bool has_output(int i) const { return frame_.outputs[i]->has_value(); }
  // An output left unset is dead: nothing that depends on it runs (Switch).

  StatusOr<Tensor> AllocateTemporary(DType dtype, const Shape& shape);
  // traits().scratch_bytes bytes, aligned for tensors.
  void* scratch() const { return frame_.scratch; }

  // Input i in a form that may be kept after the step: in variables, queues, stacks.
  Tensor Keep(int i) const { return input(i).IsTransient() ? Copy(input(i)) : input(i); }
  // The same when the caller is about to own it alone: moves instead of sharing when this run is
  // the last use.
  Tensor Take(int i);

  const StepServices& services() const { return services_; }
  const LoopPosition* position() const { return frame_.position; }
  // The resource behind a handle (or reference) input. InvalidArgument when it is of another kind.
  template <typename T>
  StatusOr<std::shared_ptr<T>> Resource(int i) const;

 private:
  // In the memory of the step's allocator.
  Tensor Copy(const Tensor& tensor) const;

  const StepServices& services_;
  const Frame& frame_;
};

template <typename T>
StatusOr<std::shared_ptr<T>> KernelContext::Resource(int i) const {
  const Tensor& handle = input(i);
  if (handle.dtype() != DType::kResource || handle.num_elements() != 1) {
    return InvalidArgument("input ", i, " should be one resource handle but is ",
                           handle.ToString());
  }
  const ResourceHandle& element = handle.data<ResourceHandle>()[0];
  std::shared_ptr<T> typed = std::dynamic_pointer_cast<T>(element.resource);
  if (typed == nullptr) {
    return InvalidArgument("resource ", element.container, "/", element.name,
                           element.resource == nullptr ? " is gone" : " is of another kind");
  }
  return typed;
}

}  // namespace carillon
