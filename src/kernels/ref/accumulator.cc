// Kernels of the ops for accumulators of gradients.
#include "kernels/accumulator.h"

#include "kernels/families.h"
#include "kernels/named_resource.h"
#include "kernels/ref/array_kernels.h"

namespace carillon {
namespace {

// ConditionalAccumulator, SparseConditionalAccumulator, ResourceConditionalAccumulator.
template <bool sparse>
class AccumulatorKernel final : public NamedResourceKernel<Accumulator> {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const DType dtype = request.attr<DType>("dtype");
    if (!IsFloating(dtype)) return Unimplemented("gradients of type ", DTypeName(dtype));
    return std::make_unique<AccumulatorKernel>(request);
  }
  explicit AccumulatorKernel(const KernelRequest& request)
      : NamedResourceKernel(ResourcePlace::Of(request)),
        options_{.name = place().name,
                 .dtype = request.attr<DType>("dtype"),
                 .shape = request.attr<PartialShape>("shape"),
                 .mean = request.attr<std::string>("reduction_type") == "MEAN",
                 .sparse = sparse} {}

 private:
  StatusOr<std::shared_ptr<Accumulator>> Create(KernelContext& context) const override {
    return sparse ? MakeSparseAccumulator(options_, context.services().allocator)
                  : MakeDenseAccumulator(options_);
  }
  Status Check(const Accumulator& existing) const override {
    const AccumulatorOptions& other = existing.options();
    if (other.dtype == options_.dtype && other.sparse == sparse && other.shape == options_.shape)
      return absl::OkStatus();
    return InvalidArgument("accumulator ", options_.name, " exists and is a ",
                           existing.DebugString(), other.shape.ToString(), ", not one of ",
                           DTypeName(options_.dtype), options_.shape.ToString());
  }
  const AccumulatorOptions options_;
};

// The accumulator behind input 0, of that kind.
StatusOr<std::shared_ptr<Accumulator>> AccumulatorInput(const KernelContext& context, bool sparse,
                                                        DType dtype) {
  CARILLON_ASSIGN_OR_RETURN(auto accumulator, context.Resource<Accumulator>(0));
  const AccumulatorOptions& options = accumulator->options();
  if (options.dtype == dtype && options.sparse == sparse) return accumulator;
  return InvalidArgument("accumulator ", options.name, " is a ", accumulator->DebugString(),
                         ", not a ", sparse ? "sparse one of " : "dense one of ", DTypeName(dtype));
}

Status RunApply(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto accumulator,
                            AccumulatorInput(context, false, context.input(2).dtype()));
  CARILLON_ASSIGN_OR_RETURN(const int64_t step, ReadScalarInt(context.input(1), "local_step"));
  return accumulator->Apply(step, {.values = context.Take(2)}, context.services().allocator);
}

class SparseApplyKernel final : public Kernel {
 public:
  explicit SparseApplyKernel(const KernelRequest& request)
      : has_known_shape_(request.attr<bool>("has_known_shape")) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const auto accumulator,
                              AccumulatorInput(context, true, context.input(3).dtype()));
    CARILLON_ASSIGN_OR_RETURN(const int64_t step, ReadScalarInt(context.input(1), "local_step"));
    return accumulator->Apply(step,
                              {.values = context.Take(3),
                               .indices = context.input(2),
                               .shape = has_known_shape_ ? context.input(4) : Tensor()},
                              context.services().allocator);
  }

 private:
  const bool has_known_shape_;
};

template <bool sparse>
class TakeKernel final : public AsyncKernel {
 public:
  explicit TakeKernel(const KernelRequest&) {}
  void RunAsync(KernelContext& context, Done done) override {
    const auto accumulator =
        AccumulatorInput(context, sparse, context.output_dtype(sparse ? 1 : 0));
    if (!accumulator.ok()) return done(accumulator.status());
    const StatusOr<int64_t> required = ReadScalarInt(context.input(1), "num_required");
    if (!required.ok()) return done(required.status());
    if (*required <= 0) {
      return done(InvalidArgument("Argument num_required must be positive, but was ", *required));
    }
    const StepServices& services = context.services();
    (*accumulator)
        ->Take(
            *required, services.allocator, services.cancellation,
            [&context, done = std::move(done)](const Status& status, AccumulatedGradient gradient) {
              if (status.ok()) SetOutputs(context, std::move(gradient));
              done(status);
            });
  }

 private:
  static void SetOutputs(KernelContext& context, AccumulatedGradient gradient) {
    if (sparse) {
      context.set_output(0, std::move(gradient.indices));
      context.set_output(1, std::move(gradient.values));
      context.set_output(2, std::move(gradient.shape));
    } else {
      context.set_output(0, std::move(gradient.values));
    }
  }
};

Status RunNumAccumulated(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto accumulator, context.Resource<Accumulator>(0));
  context.set_output(0, Tensor::Scalar(static_cast<int32_t>(accumulator->NumAccumulated())));
  return absl::OkStatus();
}

Status RunSetGlobalStep(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto accumulator, context.Resource<Accumulator>(0));
  CARILLON_ASSIGN_OR_RETURN(const int64_t step, ReadScalarInt(context.input(1), "new_global_step"));
  accumulator->SetGlobalStep(step);
  return absl::OkStatus();
}

}  // namespace

void AddAccumulatorReferenceKernels(KernelTable& table) {
  table.Add({
      {"ConditionalAccumulator", "ref", FromClass<AccumulatorKernel<false>>},
      {"ResourceConditionalAccumulator", "ref", FromClass<AccumulatorKernel<false>>},
      {"SparseConditionalAccumulator", "ref", FromClass<AccumulatorKernel<true>>},
      {"AccumulatorApplyGradient", "ref", FromFunction<RunApply>},
      {"ResourceAccumulatorApplyGradient", "ref", FromFunction<RunApply>},
      {"SparseAccumulatorApplyGradient", "ref", FromClass<SparseApplyKernel>},
      {"AccumulatorTakeGradient", "ref", FromClass<TakeKernel<false>>},
      {"ResourceAccumulatorTakeGradient", "ref", FromClass<TakeKernel<false>>},
      {"SparseAccumulatorTakeGradient", "ref", FromClass<TakeKernel<true>>},
      {"AccumulatorNumAccumulated", "ref", FromFunction<RunNumAccumulated>},
      {"ResourceAccumulatorNumAccumulated", "ref", FromFunction<RunNumAccumulated>},
      {"AccumulatorSetGlobalStep", "ref", FromFunction<RunSetGlobalStep>},
      {"ResourceAccumulatorSetGlobalStep", "ref", FromFunction<RunSetGlobalStep>},
  });
}

}  // namespace carillon
