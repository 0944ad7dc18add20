// Optionals: an element, or nothing.
#include "base/strings.h"
#include "kernels/optional_value.h"
#include "kernels/ref/dataset_kernels.h"

namespace carillon {
namespace {

StatusOr<std::shared_ptr<const OptionalValue>> OptionalInput(const KernelContext& context, int i) {
  const Tensor& value = context.input(i);
  std::shared_ptr<const OptionalValue> optional;
  if (value.rank() == 0)
    optional = std::dynamic_pointer_cast<const OptionalValue>(value.data<Variant>()[0].value);
  if (optional == nullptr)
    return InvalidArgument("an optional is wanted, but there is ", value.ToString());
  return optional;
}

Status RunFromValue(KernelContext& context) {
  std::vector<Tensor> components;
  for (int i = 0; i < context.num_inputs(); ++i) components.push_back(context.Keep(i));
  return SetOptional(context, std::make_shared<OptionalValue>(std::move(components)));
}

Status RunNone(KernelContext& context) {
  return SetOptional(context, std::make_shared<OptionalValue>());
}

Status RunHasValue(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto optional, OptionalInput(context, 0));
  context.set_output(0, Tensor::Scalar(optional->has_value()));
  return absl::OkStatus();
}

Status RunGetValue(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto optional, OptionalInput(context, 0));
  if (!optional->has_value()) return InvalidArgument("the optional holds nothing");
  const std::vector<Tensor>& components = optional->components();
  const auto& shapes = context.node().attr<std::vector<PartialShape>>("output_shapes");
  const size_t n = static_cast<size_t>(context.num_outputs());
  if (components.size() != n || shapes.size() != n)
    return InvalidArgument("the optional has ", components.size(), " components, not ", n);
  for (size_t i = 0; i < n; ++i) {
    const DType dtype = context.output_dtype(static_cast<int>(i));
    if (components[i].dtype() != dtype || !shapes[i].IsCompatibleWith(components[i].shape()))
      return InvalidArgument("component ", i, " of the optional is ",
                             DTypeName(components[i].dtype()), components[i].shape().ToString(),
                             ", not ", DTypeName(dtype), shapes[i].ToString());
    context.set_output(static_cast<int>(i), components[i]);
  }
  return absl::OkStatus();
}

}  // namespace

Status SetOptional(KernelContext& context, const OptionalPtr& optional) {
  CARILLON_ASSIGN_OR_RETURN(OptionalPtr counted,
                            MakeOnAccount(context.services().allocator, "",
                                          [&]() -> StatusOr<OptionalPtr> { return optional; }));
  context.set_output(0, Tensor::Scalar(Variant{std::move(counted)}));
  return absl::OkStatus();
}

void AddOptionalKernels(KernelTable& table) {
  table.Add({
      {"OptionalFromValue", "ref", FromFunction<RunFromValue>},
      {"OptionalNone", "ref", FromFunction<RunNone>},
      {"OptionalHasValue", "ref", FromFunction<RunHasValue>},
      {"OptionalGetValue", "ref", FromFunction<RunGetValue>},
  });
}

}  // namespace carillon
