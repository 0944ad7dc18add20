#include "kernels/context.h"

#include "base/throw.h"
#include "kernels/kernel.h"
#include "tensor/buffer.h"
#include "tensor/bytes_of_tensor.h"

namespace carillon {
namespace {

Status NoMemory(const Node& node, DType dtype, const Shape& shape) {
  return ResourceExhausted("no memory for the ", DTypeName(dtype), shape.ToString(),
                           " output of node ", node.Describe());
}

}  // namespace

StatusOr<Tensor*> KernelContext::AllocateOutput(int i, const Shape& shape) {
  return AllocateOutput(i, output_dtype(i), shape);
}

StatusOr<Tensor*> KernelContext::AllocateOutput(int i, DType dtype, const Shape& shape) {
  Tensor* output = frame_.outputs[i];
  if (frame_.planned != nullptr) {
    const PlannedMemory& planned = frame_.planned[i];
    if (planned.data != nullptr && planned.bytes >= BytesOfTensor(dtype, shape)) {
      *output = Tensor::View(dtype, shape, planned.buffer, planned.data);
      return output;
    }
  }
  *output = Tensor::TryAllocate(dtype, shape, services_.allocator);
  if (!output->has_value()) return NoMemory(node(), dtype, shape);
  return output;
}

StatusOr<Tensor*> KernelContext::ReuseOrAllocateOutput(int i, std::initializer_list<int> inputs,
                                                       const Shape& shape) {
  // Planned memory already overlaps the input where the plan allows it.
  if (frame_.planned == nullptr || frame_.planned[i].data == nullptr) {
    const DType dtype = output_dtype(i);
    for (const int candidate : inputs) {
      Tensor* input = frame_.inputs[candidate];
      if (frame_.input_dies == nullptr || !frame_.input_dies[candidate] ||
          input->dtype() != dtype || !input->IsUnshared() ||
          input->num_elements() != shape.num_elements()) {
        continue;
      }
      *frame_.outputs[i] = input->Reshaped(shape);
      return frame_.outputs[i];
    }
  }
  return AllocateOutput(i, shape);
}

void KernelContext::set_output(int i, Tensor value) {
  if (value.IsTransient()) {
    bool declared = false;
    for (const auto& [input, output] : frame_.traits->aliases) declared |= output == i;
    if (!declared) value = Copy(value);
  }
  *frame_.outputs[i] = std::move(value);
}

void KernelContext::set_text(int i, std::string text) {
  Tensor value = Tensor::TryAllocate(DType::kString, {}, services_.allocator);
  if (!value.has_value()) Throw(NoMemory(node(), DType::kString, {}));
  *value.mutable_data<std::string>() = std::move(text);
  *frame_.outputs[i] = std::move(value);
}

StatusOr<Tensor> KernelContext::AllocateTemporary(DType dtype, const Shape& shape) {
  Tensor tensor = Tensor::TryAllocate(dtype, shape, services_.allocator);
  if (!tensor.has_value()) return NoMemory(node(), dtype, shape);
  return tensor;
}

Tensor KernelContext::Copy(const Tensor& tensor) const {
  Tensor copy = tensor.TryClone(services_.allocator);
  if (!copy.has_value()) Throw(NoMemory(node(), tensor.dtype(), tensor.shape()));
  return copy;
}

Tensor KernelContext::Take(int i) {
  Tensor* input = frame_.inputs[i];
  if (input->IsTransient()) return Copy(*input);
  if (frame_.input_dies != nullptr && frame_.input_dies[i]) return std::move(*input);
  return *input;
}

}  // namespace carillon
