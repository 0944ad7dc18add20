#include "kernels/families.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/state_kernels.h"
#include "kernels/ref/training_kernel.h"

namespace carillon {
namespace {

bool FlagOr(const Node& node, std::string_view name, bool otherwise) {
  const AttrValue* attr = node.FindAttr(name);
  const bool* value = attr == nullptr ? nullptr : attr->get_if<bool>();
  return value == nullptr ? otherwise : *value;
}

const std::string& ArgumentName(const Node& node, int input) {
  return node.spec().inputs[static_cast<size_t>(input)].name;
}

}  // namespace

UpdateKernel::UpdateKernel(const KernelRequest& request) : dtype_(request.attr<DType>("T")) {
  const Node& node = request.node;
  traits_ = UpdateTraits(request);
  flags_.use_nesterov = FlagOr(node, "use_nesterov", false);
  flags_.update_slots = FlagOr(node, "update_slots", true);
  flags_.multiply_linear_by_lr = FlagOr(node, "multiply_linear_by_lr", false);
  for (int i = 0; i < node.num_inputs(); ++i) {
    const ArgSpec& argument = node.spec().inputs[static_cast<size_t>(i)];
    if (argument.is_ref || argument.dtype == DType::kResource) {
      variables_.push_back(i);
    } else if (argument.name == "grad" || argument.name == "delta") {
      gradient_ = i;
    } else if (argument.name == "indices") {
      indices_ = i;
    } else {
      hyperparameters_.push_back(i);
    }
  }
}

StatusOr<UpdateKernel::Variables> UpdateKernel::FindVariables(const KernelContext& context) const {
  Variables variables;
  for (const int input : variables_) {
    CARILLON_ASSIGN_OR_RETURN(auto variable, VariableInput(context, input, dtype_));
    variables.push_back(std::move(variable));
  }
  return variables;
}

StatusOr<Hyperparameters> UpdateKernel::ReadHyperparameters(const KernelContext& context) const {
  Hyperparameters values{};
  for (size_t i = 0; i < hyperparameters_.size(); ++i) {
    const Tensor& tensor = context.input(hyperparameters_[i]);
    if (tensor.rank() != 0) {
      return InvalidArgument(ArgumentName(context.node(), hyperparameters_[i]),
                             " is not a scalar: ", tensor.shape().ToString());
    }
    DispatchFloating(dtype_, [&]<typename T>() { values[i] = double{tensor.data<T>()[0]}; });
  }
  // As in TensorFlow, dense forms take any value.
  if (indices_ >= 0) CARILLON_RETURN_IF_ERROR(CheckHyperparameters(values));
  return values;
}

Status UpdateKernel::CheckShapes(const KernelContext& context, const VariableLock& lock,
                                 const Variables& variables) const {
  CARILLON_ASSIGN_OR_RETURN(const Tensor* value, lock.Readable(*variables[0]));
  for (size_t i = 1; i < variables.size(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(const Tensor* slot, lock.Readable(*variables[i]));
    if (slot->shape() != value->shape()) {
      return InvalidArgument(ArgumentName(context.node(), variables_[i]), " (variable ",
                             variables[i]->name(), ") of shape ", slot->shape().ToString(),
                             " does not fit variable ", variables[0]->name(), " of shape ",
                             value->shape().ToString());
    }
  }
  Shape wanted = value->shape();
  if (indices_ >= 0) {
    const Tensor& indices = context.input(indices_);
    if (indices.rank() != 1) {
      return InvalidArgument("indices must be a vector, not of shape ", indices.shape().ToString());
    }
    if (wanted.rank() < 1) {
      return InvalidArgument("variable ", variables[0]->name(), " is a scalar: it has no rows");
    }
    wanted.set_dim(0, indices.dim(0));
  }
  const Tensor& gradient = context.input(gradient_);
  if (gradient.shape() != wanted) {
    return InvalidArgument("a gradient of shape ", gradient.shape().ToString(),
                           " does not fit variable ", variables[0]->name(), " of shape ",
                           value->shape().ToString(), ": it should be ", wanted.ToString());
  }
  return absl::OkStatus();
}

Status UpdateKernel::Run(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const Variables variables, FindVariables(context));
  CARILLON_ASSIGN_OR_RETURN(const Hyperparameters values, ReadHyperparameters(context));
  absl::InlinedVector<VariableResource*, kMaxSlots + 1> resources;
  for (const auto& variable : variables) resources.push_back(variable.get());
  VariableLock lock(resources);
  CARILLON_RETURN_IF_ERROR(CheckShapes(context, lock, variables));

  Allocator* const allocator = context.services().allocator;
  UpdateMemory memory;
  memory.gradient = context.input(gradient_).raw_data();
  for (size_t i = 1; i < variables.size(); ++i) {
    CARILLON_ASSIGN_OR_RETURN(Tensor * slot, lock.Writable(*variables[i], allocator));
    memory.slots[i - 1] = slot->mutable_raw_data();
  }
  PassReference(context);
  if (indices_ < 0) {
    CARILLON_ASSIGN_OR_RETURN(const VariableLock::Rewrite rewrite,
                              lock.Rewritable(*variables[0], allocator));
    memory.from = rewrite.from.raw_data();
    memory.to = rewrite.to->mutable_raw_data();
    UpdateAll(values, memory, rewrite.from.num_elements());
    return absl::OkStatus();
  }
  CARILLON_ASSIGN_OR_RETURN(const Tensor indices, IndicesAsInt64(context, context.input(indices_)));
  const int64_t rows = lock.Value(*variables[0]).dim(0);
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    const int64_t index = indices.data<int64_t>()[i];
    if (index < 0 || index >= rows) {
      return IndexError("indices", indices.shape(), i, index, rows);
    }
  }
  if (indices.num_elements() == 0) return absl::OkStatus();
  CARILLON_ASSIGN_OR_RETURN(Tensor * value, lock.Writable(*variables[0], allocator));
  memory.from = memory.to = value->mutable_raw_data();
  UpdateRows(values, memory, indices.values<int64_t>(), value->num_elements() / rows);
  return absl::OkStatus();
}

void AddTrainingReferenceKernels(KernelTable& table) {
  AddSimpleUpdateKernels(table);
  AddAdaptiveUpdateKernels(table);
  AddFtrlUpdateKernels(table);
}

}  // namespace carillon
