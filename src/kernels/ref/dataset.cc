// Data sets and iterators: what their kernels share, and the list of all.
#include "base/strings.h"
#include "kernels/families.h"
#include "kernels/ref/dataset_kernels.h"

namespace carillon {
namespace {

template <typename T>
StatusOr<T> ScalarInput(const KernelContext& context, int i, std::string_view name) {
  const Tensor& value = context.input(i);
  if (value.rank() != 0)
    return InvalidArgument(name, " must be a scalar, not of shape ", value.shape().ToString());
  return value.data<T>()[0];
}

class NoResource final : public Resource {
 public:
  std::string DebugString() const override { return "nothing"; }
};

class Deleter final : public VariantValue {
 public:
  std::string DebugString() const override { return "deleter"; }
};

}  // namespace

void SetAnonymousResource(KernelContext& context, std::shared_ptr<Resource> resource) {
  context.set_output(0, Tensor::Scalar(ResourceHandle{std::move(resource), "", ""}));
  if (context.num_outputs() > 1)
    context.set_output(1, Tensor::Scalar(Variant{std::make_shared<Deleter>()}));
}

Status RunNoResource(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(auto resource,
                            MakeOnAccount(context.services().allocator, "",
                                          []() -> StatusOr<std::shared_ptr<NoResource>> {
                                            return std::make_shared<NoResource>();
                                          }));
  SetAnonymousResource(context, std::move(resource));
  return absl::OkStatus();
}

Status RunNothing(KernelContext&) { return absl::OkStatus(); }

ElementSpec OutputSpec(const Node& node) {
  const bool renamed = node.FindAttr("output_types") == nullptr;
  return {node.attr<std::vector<DType>>(renamed ? "Toutput_types" : "output_types"),
          node.attr<std::vector<PartialShape>>("output_shapes")};
}

StatusOr<DatasetPtr> DatasetOf(const Tensor& value) {
  DatasetPtr dataset;
  if (value.dtype() == DType::kVariant && value.rank() == 0)
    dataset = std::dynamic_pointer_cast<const GraphDataset>(value.data<Variant>()[0].value);
  if (dataset == nullptr)
    return InvalidArgument("a dataset is wanted, but there is ", value.ToString());
  return dataset;
}

StatusOr<DatasetPtr> DatasetInput(const KernelContext& context, int i) {
  return DatasetOf(context.input(i));
}

StatusOr<int64_t> Int64Input(const KernelContext& context, int i, std::string_view name) {
  return ScalarInput<int64_t>(context, i, name);
}
StatusOr<bool> BoolInput(const KernelContext& context, int i, std::string_view name) {
  return ScalarInput<bool>(context, i, name);
}
StatusOr<std::string> StringInput(const KernelContext& context, int i, std::string_view name) {
  return ScalarInput<std::string>(context, i, name);
}

Status CapturedFunction::Call::Run(const IteratorContext& context, Element args,
                                   Element* results) const {
  args.insert(args.end(), captured_.begin(), captured_.end());
  return function_->Call(args, context.cancellation, results);
}

Status FunctionDatasetKernel::Init(const KernelRequest& request, std::string_view attr) {
  if (request.functions == nullptr)
    return NotFound("the graph has no library to find function '",
                    request.attr<FunctionRef>(attr).name, "' in");
  spec_ = OutputSpec(request.node);
  CARILLON_ASSIGN_OR_RETURN(function_,
                            request.functions->Instantiate(request.attr<FunctionRef>(attr)));
  std::tie(captures_begin_, captures_end_) = request.node.InputRange("other_arguments");
  return absl::OkStatus();
}

Status FunctionDatasetKernel::Run(KernelContext& context) {
  std::vector<Tensor> captured;
  for (int i = captures_begin_; i < captures_end_; ++i) captured.push_back(context.Keep(i));
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr dataset,
                            Make(context, CapturedFunction(function_, std::move(captured))));
  return SetDataset(context, std::move(dataset));
}

Status SetDataset(KernelContext& context, DatasetPtr dataset) {
  constexpr int64_t kMostCount = 100'000;
  GraphDataset::Extent extent;
  for (int i = 0; i < context.num_inputs(); ++i) {
    const Tensor& input = context.input(i);
    if (input.dtype() != DType::kVariant || input.num_elements() != 1) continue;
    const auto* inner = dynamic_cast<const GraphDataset*>(input.data<Variant>()[0].value.get());
    if (inner == nullptr) continue;
    if (inner == dataset.get()) {  // passed on: others have it, too
      context.set_output(0, input);
      return absl::OkStatus();
    }
    extent.depth = std::max(extent.depth, inner->extent().depth + 1);
    extent.count += inner->extent().count;
  }
  if (extent.depth > kMostDatasetDepth || extent.count > kMostCount) {
    return InvalidArgument("a data set may be made of ", kMostCount, " others, ", kMostDatasetDepth,
                           " of them inside of each other; this one is made of ", extent.count,
                           ", ", extent.depth, " deep");
  }
  dataset->set_extent(extent);
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr counted,
                            MakeOnAccount(context.services().allocator, "",
                                          [&]() -> StatusOr<DatasetPtr> { return dataset; }));
  context.set_output(0, Tensor::Scalar(Variant{std::move(counted)}));
  return absl::OkStatus();
}

Status CheckElement(const ElementSpec& spec, const Element& element) {
  if (element.size() != spec.dtypes.size())
    return InvalidArgument("an element has ", element.size(), " components, not ",
                           spec.dtypes.size());
  for (size_t i = 0; i < element.size(); ++i) {
    if (element[i].dtype() != spec.dtypes[i])
      return InvalidArgument("component ", i, " is ", DTypeName(element[i].dtype()), ", not ",
                             DTypeName(spec.dtypes[i]));
  }
  return absl::OkStatus();
}

void AddDatasetReferenceKernels(KernelTable& table) {
  AddDatasetSourceKernels(table);
  AddDatasetTransformKernels(table);
  AddDatasetShuffleKernels(table);
  AddDatasetCacheKernels(table);
  AddDatasetBatchKernels(table);
  AddDatasetFunctionKernels(table);
  AddDatasetParallelKernels(table);
  AddDatasetRecordKernels(table);
  AddIteratorKernels(table);
  AddOptionalKernels(table);
}

}  // namespace carillon
