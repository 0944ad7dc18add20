// Kernels of barriers.
#include "kernels/barrier.h"
#include "kernels/named_resource.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/queue_batch.h"
#include "kernels/ref/rows.h"
#include "kernels/ref/staging_kernels.h"
#include "kernels/work.h"
#include "tensor/text_memory.h"

namespace carillon {
namespace {

class BarrierKernel final : public NamedResourceKernel<Barrier> {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const auto& types = request.attr<std::vector<DType>>("component_types");
    const auto& shapes = request.attr<std::vector<PartialShape>>("shapes");
    if (request.attr<int64_t>("capacity") != -1) {
      return InvalidArgument(
          "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier "
          "through a queue to enforce a limited capacity.");
    }
    if (shapes.size() != types.size())
      return InvalidArgument("All of the component shapes must be specified");
    for (const PartialShape& shape : shapes) {
      if (!shape.IsFullyKnown())
        return InvalidArgument("Shape ", shape.ToString(), " is not fully defined");
    }
    return std::make_unique<BarrierKernel>(ResourcePlace::Of(request), types, shapes);
  }
  BarrierKernel(ResourcePlace place, std::vector<DType> types, std::vector<PartialShape> shapes)
      : NamedResourceKernel(std::move(place)),
        types_(std::move(types)),
        shapes_(std::move(shapes)) {}

 private:
  StatusOr<std::shared_ptr<Barrier>> Create(KernelContext& context) const override {
    return std::make_shared<Barrier>(place().name, types_, shapes_, context.services().allocator);
  }
  Status Check(const Barrier& existing) const override {
    if (existing.types() == types_ && existing.shapes() == shapes_) return absl::OkStatus();
    return InvalidArgument("barrier ", place().name, " exists and has other components");
  }
  const std::vector<DType> types_;
  const std::vector<PartialShape> shapes_;
};

class InsertManyKernel final : public Kernel {
 public:
  explicit InsertManyKernel(const KernelRequest& request)
      : component_(request.attr<int64_t>("component_index")) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const auto barrier, context.Resource<Barrier>(0));
    const Tensor &keys = context.input(1), &values = context.input(2);
    if (component_ < 0 || component_ >= static_cast<int64_t>(barrier->types().size())) {
      return InvalidArgument("The component ID is out of range ", component_,
                             " > num_components (= ", barrier->types().size(), ")");
    }
    const auto at = static_cast<size_t>(component_);
    if (values.dtype() != barrier->types()[at]) {
      return InvalidArgument("component ", component_, " of barrier ", barrier->name(), " is ",
                             DTypeName(barrier->types()[at]), ", not ", DTypeName(values.dtype()));
    }
    if (keys.rank() != 1 || values.rank() == 0 || values.dim(0) != keys.dim(0) ||
        !barrier->shapes()[at].IsCompatibleWith(RowShape(values.shape()))) {
      return InvalidArgument("Shape mismatch in component ", component_, ": keys of shape ",
                             keys.shape().ToString(), ", values of shape ",
                             values.shape().ToString(), ", one value should have shape ",
                             barrier->shapes()[at].ToString());
    }
    std::vector<Tensor> rows;
    for (int64_t i = 0; i < keys.dim(0); ++i) {
      CARILLON_ASSIGN_OR_RETURN(Tensor row, CopyRow(context, values, i));
      CARILLON_RETURN_IF_ERROR(ChargeText(row));
      rows.push_back(std::move(row));
    }
    const auto names = keys.values<std::string>();
    return barrier->Insert({names.begin(), names.end()}, std::move(rows), component_);
  }

 private:
  const int64_t component_;
};

Status SetTaken(KernelContext& context, const Barrier& barrier,
                const std::vector<QueueTuple>& tuples) {
  for (int i = 0; i < context.num_outputs(); ++i) {
    const auto at = static_cast<size_t>(i);
    CARILLON_RETURN_IF_ERROR(
        SetBatch(context, i, tuples, at, i < 2 ? PartialShape(Shape{}) : barrier.shapes()[at - 2]));
  }
  return absl::OkStatus();
}

class TakeManyKernel final : public AsyncKernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    if (request.attr<int64_t>("timeout_ms") != -1)
      return InvalidArgument("Timeout not supported yet.");
    return std::make_unique<TakeManyKernel>(request.attr<bool>("allow_small_batch"));
  }
  explicit TakeManyKernel(bool allow_fewer) : allow_fewer_(allow_fewer) {}

  void RunAsync(KernelContext& context, Done done) override {
    StatusOr<std::shared_ptr<Barrier>> barrier = context.Resource<Barrier>(0);
    if (!barrier.ok()) return done(barrier.status());
    const StatusOr<int64_t> n = ReadScalarInt(context.input(1), "num_elements");
    if (!n.ok()) return done(n.status());
    if (*n <= 0) return done(InvalidArgument("num_elements must be positive, not ", *n));
    std::vector<DType> wanted;
    for (int i = 2; i < context.num_outputs(); ++i) wanted.push_back(context.output_dtype(i));
    if (wanted != (*barrier)->types()) {
      return done(
          InvalidArgument("the components wanted are not those of barrier ", (*barrier)->name()));
    }
    Barrier* const from = barrier->get();
    from->Take(*n, allow_fewer_, context.services().cancellation,
               [&context, barrier = std::move(*barrier), done = std::move(done)](
                   const Status& status, const std::vector<QueueTuple>& tuples) {
                 done(status.ok()
                          ? RunOnAccount(context.services(),
                                         [&] { return SetTaken(context, *barrier, tuples); })
                          : status);
               });
  }

 private:
  const bool allow_fewer_;
};

class CloseKernel final : public Kernel {
 public:
  explicit CloseKernel(const KernelRequest& request)
      : cancel_pending_(request.attr<bool>("cancel_pending_enqueues")) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const auto barrier, context.Resource<Barrier>(0));
    return barrier->Close(cancel_pending_);
  }

 private:
  const bool cancel_pending_;
};

template <int64_t (Barrier::*size)() const>
Status RunSize(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto barrier, context.Resource<Barrier>(0));
  context.set_output(0, Tensor::Scalar(static_cast<int32_t>((barrier.get()->*size)())));
  return absl::OkStatus();
}

}  // namespace

void AddBarrierKernels(KernelTable& table) {
  table.Add({
      {"Barrier", "ref", FromClass<BarrierKernel>},
      {"BarrierInsertMany", "ref", FromClass<InsertManyKernel>},
      {"BarrierTakeMany", "ref", FromClass<TakeManyKernel>},
      {"BarrierClose", "ref", FromClass<CloseKernel>},
      {"BarrierReadySize", "ref", FromFunction<RunSize<&Barrier::ReadySize>>},
      {"BarrierIncompleteSize", "ref", FromFunction<RunSize<&Barrier::IncompleteSize>>},
  });
}

}  // namespace carillon
