// Kernels that tell or change the shape of a tensor and touch none of its elements.
#include <limits>

#include "graph/ops/array_rules.h"
#include "graph/shape_context.h"
#include "kernels/ref/array_kernels.h"

namespace carillon {
namespace {

// Writes `sizes` as the index dtype of output i.
Status SetSizes(KernelContext& context, int i, const Shape& shape, std::span<const int64_t> sizes) {
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, shape));
  if (output->dtype() == DType::kInt64) {
    std::copy(sizes.begin(), sizes.end(), output->mutable_data<int64_t>());
    return absl::OkStatus();
  }
  int32_t* data = output->mutable_data<int32_t>();
  for (size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] > std::numeric_limits<int32_t>::max()) {
      return InvalidArgument("size ", sizes[k],
                             " does not fit int32: set out_type to int64 for such tensors");
    }
    data[k] = static_cast<int32_t>(sizes[k]);
  }
  return absl::OkStatus();
}

Status RunShape(KernelContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) {
    const Shape& shape = context.input(i).shape();
    CARILLON_RETURN_IF_ERROR(SetSizes(context, i, Shape{shape.rank()}, shape.dims()));
  }
  return absl::OkStatus();
}

Status RunSize(KernelContext& context) {
  const int64_t size = context.input(0).num_elements();
  return SetSizes(context, 0, Shape{}, {&size, 1});
}

Status RunRank(KernelContext& context) {
  const int64_t rank = context.input(0).rank();
  return SetSizes(context, 0, Shape{}, {&rank, 1});
}

Status RunReshape(KernelContext& context) {
  const Tensor& input = context.input(0);
  const Tensor& wanted = context.input(1);
  if (wanted.rank() > 1) {
    return InvalidArgument("the new shape should be a vector but has shape ",
                           wanted.shape().ToString());
  }
  if (wanted.num_elements() > kMaxRank) {
    return InvalidArgument("the new shape has ", wanted.num_elements(),
                           " dimensions; tensors have at most ", kMaxRank);
  }
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, ResolveReshape(input.shape(), ReadInts(wanted)));
  context.set_output(0, input.Reshaped(shape));
  return absl::OkStatus();
}

Status RunExpandDims(KernelContext& context) {
  const Tensor& input = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(const int64_t dim, ReadOneInt(context.input(1), "dim"));
  if (input.rank() == kMaxRank) {
    return InvalidArgument("a tensor of ", kMaxRank, " dimensions cannot get another");
  }
  CARILLON_ASSIGN_OR_RETURN(const int at, ResolveAxis(dim, input.rank() + 1));
  Shape shape = input.shape();
  shape.InsertDim(at, 1);
  context.set_output(0, input.Reshaped(shape));
  return absl::OkStatus();
}

class SqueezeKernel final : public Kernel {
 public:
  explicit SqueezeKernel(const KernelRequest& request)
      : dims_(request.attr<std::vector<int64_t>>("squeeze_dims")) {
    traits_.aliases.push_back({0, 0});
  }
  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    bool wanted[kMaxRank] = {};
    for (const int64_t dim : dims_) {
      CARILLON_ASSIGN_OR_RETURN(const int axis, ResolveAxis(dim, input.rank()));
      wanted[axis] = true;
      if (input.dim(axis) != 1) {
        return InvalidArgument("dimension ", axis, " of shape ", input.shape().ToString(),
                               " cannot be squeezed: it is not 1");
      }
    }
    Ints kept;
    for (int i = 0; i < input.rank(); ++i) {
      if (dims_.empty() ? input.dim(i) != 1 : !wanted[i]) kept.push_back(input.dim(i));
    }
    context.set_output(0, input.Reshaped(Shape(std::span<const int64_t>(kept))));
    return absl::OkStatus();
  }

 private:
  const std::vector<int64_t> dims_;
};

// What two broadcast shapes give, in TensorFlow's terms: the sizes of the result, and the
// dimensions over which the gradients of either side are summed.
struct BroadcastPlan {
  Ints result;
  Ints sum_first;
  Ints sum_second;
};

// A vector of sizes. Its length is bounded only by the tensor, so no shape is made of it.
StatusOr<BroadcastPlan> PlanBroadcast(KernelContext& context) {
  for (int i = 0; i < 2; ++i) {
    if (context.input(i).rank() != 1) {
      return InvalidArgument("input ", i, " should be a vector of sizes but has shape ",
                             context.input(i).shape().ToString());
    }
  }
  const Ints a = ReadInts(context.input(0));
  const Ints b = ReadInts(context.input(1));
  BroadcastPlan plan;
  const size_t rank = std::max(a.size(), b.size());
  const bool same = a == b;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int64_t y = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (x != y && x != 1 && y != 1) {
      return InvalidArgument("sizes ", x, " and ", y, " of dimension ", i,
                             " cannot be broadcast together");
    }
    plan.result.push_back(x == 1 ? y : x);
    if (same) continue;
    if (x == 1) plan.sum_first.push_back(static_cast<int64_t>(i));
    if (y == 1) plan.sum_second.push_back(static_cast<int64_t>(i));
  }
  return plan;
}

Status RunBroadcastArgs(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const BroadcastPlan plan, PlanBroadcast(context));
  return SetSizes(context, 0, Shape{static_cast<int64_t>(plan.result.size())}, plan.result);
}

Status RunBroadcastGradientArgs(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const BroadcastPlan plan, PlanBroadcast(context));
  CARILLON_RETURN_IF_ERROR(
      SetSizes(context, 0, Shape{static_cast<int64_t>(plan.sum_first.size())}, plan.sum_first));
  return SetSizes(context, 1, Shape{static_cast<int64_t>(plan.sum_second.size())}, plan.sum_second);
}

}  // namespace

void AddArrayShapeKernels(KernelTable& table) {
  table.Add({
      {"Shape", "ref", FromFunction<RunShape>},
      {"ShapeN", "ref", FromFunction<RunShape>},
      {"Size", "ref", FromFunction<RunSize>},
      {"Rank", "ref", FromFunction<RunRank>},
      {"Reshape", "ref", FromAlias<RunReshape>},
      {"ExpandDims", "ref", FromAlias<RunExpandDims>},
      {"Squeeze", "ref", FromClass<SqueezeKernel>},
      {"BroadcastArgs", "ref", FromFunction<RunBroadcastArgs>},
      {"BroadcastGradientArgs", "ref", FromFunction<RunBroadcastGradientArgs>},
  });
}

}  // namespace carillon
