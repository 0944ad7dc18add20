// Kernels of the ops for queues.
#include "kernels/queue.h"

#include <string>
#include <vector>

#include "kernels/families.h"
#include "kernels/named_resource.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/queue_batch.h"
#include "kernels/ref/rows.h"
#include "kernels/work.h"
#include "tensor/text_memory.h"

namespace carillon {
namespace {

// FIFOQueue, …, with an old or a new handle.
class QueueKernel final : public NamedResourceKernel<Queue> {
 public:
  template <QueueKind kind>
  static KernelResult Make(const KernelRequest& request) {
    ResourcePlace place = ResourcePlace::Of(request);
    QueueOptions options{.kind = kind,
                         .name = place.name,
                         .types = request.attr<std::vector<DType>>("component_types"),
                         .shapes = request.attr<std::vector<PartialShape>>("shapes"),
                         .capacity = std::max<int64_t>(-1, request.attr<int64_t>("capacity"))};
    // An unknown shape stands for a scalar's, except where it may be unknown.
    if (kind != QueueKind::kPaddingFifo) {
      for (PartialShape& shape : options.shapes) {
        if (!shape.has_rank()) shape = Shape{};
      }
    }
    if (kind == QueueKind::kRandomShuffle) {
      options.min_after_dequeue = request.attr<int64_t>("min_after_dequeue");
      options.seed = static_cast<uint64_t>(request.attr<int64_t>("seed"));
      options.seed2 = static_cast<uint64_t>(request.attr<int64_t>("seed2"));
      if (options.capacity == 0) {
        return InvalidArgument("min_after_dequeue ", options.min_after_dequeue,
                               " must be < capacity 0");
      }
    }
    if (kind == QueueKind::kPriority) {
      if (options.shapes.size() != options.types.size() || options.types.empty()) {
        return InvalidArgument("a PriorityQueue needs components, and a shape for each: it has ",
                               options.types.size(), " types and ", options.shapes.size(),
                               " shapes");
      }
      options.types.insert(options.types.begin(), DType::kInt64);
      options.shapes.insert(options.shapes.begin(), Shape{});
    }
    CARILLON_RETURN_IF_ERROR(options.Check());
    return std::make_unique<QueueKernel>(std::move(place), std::move(options));
  }
  QueueKernel(ResourcePlace place, QueueOptions options)
      : NamedResourceKernel(std::move(place)), options_(std::move(options)) {}

 private:
  StatusOr<std::shared_ptr<Queue>> Create(KernelContext& context) const override {
    return std::make_shared<Queue>(options_, context.services().allocator);
  }
  Status Check(const Queue& existing) const override {
    return options_.CheckSameAs(existing.options());
  }
  const QueueOptions options_;
};

// A kernel that waits on a queue.
class QueueOpKernel : public AsyncKernel {
 public:
  void RunAsync(KernelContext& context, Done done) final {
    StatusOr<std::shared_ptr<Queue>> queue = context.Resource<Queue>(0);
    if (!queue.ok()) return done(queue.status());
    Start(context, std::move(*queue), std::move(done));
  }
  virtual void Start(KernelContext& context, std::shared_ptr<Queue> queue, Done done) = 0;
};

Status CheckTimeout(const KernelRequest& request) {
  if (request.attr<int64_t>("timeout_ms") == -1) return absl::OkStatus();
  return InvalidArgument("Timeout not supported yet.");
}

template <typename K>
KernelResult WithoutTimeout(const KernelRequest& request) {
  CARILLON_RETURN_IF_ERROR(CheckTimeout(request));
  return std::make_unique<K>();
}

class EnqueueKernel final : public QueueOpKernel {
 public:
  void Start(KernelContext& context, std::shared_ptr<Queue> queue, Done done) override {
    std::vector<QueueTuple> tuples(1);
    tuples[0].reserve(static_cast<size_t>(context.num_inputs() - 1));
    for (int i = 1; i < context.num_inputs(); ++i) tuples[0].push_back(context.Keep(i));
    const Status status = queue->CheckTuple(tuples[0], /*many=*/false);
    if (!status.ok()) return done(status);
    queue->Enqueue(std::move(tuples), context.services().cancellation, std::move(done));
  }
};

class EnqueueManyKernel final : public QueueOpKernel {
 public:
  void Start(KernelContext& context, std::shared_ptr<Queue> queue, Done done) override {
    StatusOr<std::vector<QueueTuple>> tuples = SplitOnAccount(context, *queue);
    if (!tuples.ok()) return done(tuples.status());
    queue->Enqueue(std::move(*tuples), context.services().cancellation, std::move(done));
  }

 private:
  static StatusOr<std::vector<QueueTuple>> SplitOnAccount(KernelContext& context,
                                                          const Queue& queue) {
    std::vector<QueueTuple> tuples;
    CARILLON_RETURN_IF_ERROR(
        RunOnAccount(context.services(), [&] { return Split(context, queue, &tuples); }));
    for (const QueueTuple& tuple : tuples) {
      for (const Tensor& part : tuple) CARILLON_RETURN_IF_ERROR(ChargeText(part));
    }
    return tuples;
  }

  // Rows get memory of their own, so that one that stays long does not keep the others. Those
  // without elements may be any number.
  static Status Split(KernelContext& context, const Queue& queue, std::vector<QueueTuple>* tuples) {
    QueueTuple batch;
    for (int i = 1; i < context.num_inputs(); ++i) batch.push_back(context.input(i));
    CARILLON_RETURN_IF_ERROR(queue.CheckTuple(batch, /*many=*/true));
    CARILLON_RETURN_IF_ERROR(
        CheckRoomOutside(context.services().allocator, batch[0].dim(0),
                         static_cast<int64_t>(sizeof(QueueTuple) + sizeof(Tensor) * batch.size())));
    tuples->resize(static_cast<size_t>(batch[0].dim(0)));
    for (size_t row = 0; row < tuples->size(); ++row) {
      QueueTuple& tuple = (*tuples)[row];
      tuple.reserve(batch.size());
      for (const Tensor& component : batch) {
        CARILLON_ASSIGN_OR_RETURN(Tensor part,
                                  CopyRow(context, component, static_cast<int64_t>(row)));
        tuple.push_back(std::move(part));
      }
    }
    return absl::OkStatus();
  }
};

Status CheckComponents(const KernelContext& context, const Queue& queue) {
  const std::vector<DType>& types = queue.options().types;
  bool same = static_cast<int>(types.size()) == context.num_outputs();
  for (size_t i = 0; same && i < types.size(); ++i)
    same = types[i] == context.output_dtype(static_cast<int>(i));
  if (same) return absl::OkStatus();
  return InvalidArgument("the components wanted are not those of queue '", queue.options().name,
                         "': number or types differ");
}

class DequeueKernel final : public QueueOpKernel {
 public:
  void Start(KernelContext& context, std::shared_ptr<Queue> queue, Done done) override {
    const Status status = CheckComponents(context, *queue);
    if (!status.ok()) return done(status);
    queue->Dequeue(
        1, false, context.services().cancellation,
        [&context, done = std::move(done)](const Status& status, std::vector<QueueTuple> tuples) {
          for (size_t i = 0; status.ok() && i < tuples[0].size(); ++i)
            context.set_output(static_cast<int>(i), std::move(tuples[0][i]));
          done(status);
        });
  }
};

Status SetBatches(KernelContext& context, const Queue& queue,
                  const std::vector<QueueTuple>& tuples) {
  for (int i = 0; i < context.num_outputs(); ++i) {
    CARILLON_RETURN_IF_ERROR(SetBatch(context, i, tuples, static_cast<size_t>(i),
                                      queue.options().shapes[static_cast<size_t>(i)]));
  }
  return absl::OkStatus();
}

template <bool allow_fewer>
class DequeueManyKernel final : public QueueOpKernel {
 public:
  void Start(KernelContext& context, std::shared_ptr<Queue> queue, Done done) override {
    const StatusOr<int64_t> n = Count(context, *queue);
    if (!n.ok()) return done(n.status());
    if (*n == 0) return done(SetBatches(context, *queue, {}));
    Queue* const from = queue.get();
    from->Dequeue(*n, allow_fewer, context.services().cancellation,
                  [&context, queue = std::move(queue), done = std::move(done)](
                      const Status& status, const std::vector<QueueTuple>& tuples) {
                    done(status.ok()
                             ? RunOnAccount(context.services(),
                                            [&] { return SetBatches(context, *queue, tuples); })
                             : status);
                  });
  }

 private:
  static StatusOr<int64_t> Count(const KernelContext& context, const Queue& queue) {
    CARILLON_RETURN_IF_ERROR(CheckComponents(context, queue));
    CARILLON_ASSIGN_OR_RETURN(const int64_t n, ReadOneInt(context.input(1), "n"));
    if (n < 0) return InvalidArgument("DequeueManyOp requested ", n, " < 0 elements");
    if (queue.options().shapes.empty()) {
      return InvalidArgument(
          queue.options().KindName(),
          "'s DequeueMany and DequeueUpTo require the components to have specified shapes.");
    }
    return n;
  }
};

class CloseKernel final : public QueueOpKernel {
 public:
  explicit CloseKernel(const KernelRequest& request)
      : cancel_pending_(request.attr<bool>("cancel_pending_enqueues")) {}
  void Start(KernelContext& context, std::shared_ptr<Queue> queue, Done done) override {
    queue->Close(cancel_pending_, context.services().cancellation, std::move(done));
  }

 private:
  const bool cancel_pending_;
};

Status RunIsClosed(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto queue, context.Resource<Queue>(0));
  context.set_output(0, Tensor::Scalar(queue->IsClosed()));
  return absl::OkStatus();
}

Status RunSize(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto queue, context.Resource<Queue>(0));
  context.set_output(0, Tensor::Scalar(static_cast<int32_t>(queue->Size())));
  return absl::OkStatus();
}

}  // namespace

void AddQueueReferenceKernels(KernelTable& table) {
  using enum QueueKind;
  table.Add({
      {"FIFOQueue", "ref", QueueKernel::Make<kFifo>},
      {"FIFOQueueV2", "ref", QueueKernel::Make<kFifo>},
      {"RandomShuffleQueue", "ref", QueueKernel::Make<kRandomShuffle>},
      {"RandomShuffleQueueV2", "ref", QueueKernel::Make<kRandomShuffle>},
      {"PaddingFIFOQueue", "ref", QueueKernel::Make<kPaddingFifo>},
      {"PaddingFIFOQueueV2", "ref", QueueKernel::Make<kPaddingFifo>},
      {"PriorityQueue", "ref", QueueKernel::Make<kPriority>},
      {"PriorityQueueV2", "ref", QueueKernel::Make<kPriority>},
      {"QueueEnqueue", "ref", WithoutTimeout<EnqueueKernel>},
      {"QueueEnqueueV2", "ref", WithoutTimeout<EnqueueKernel>},
      {"QueueEnqueueMany", "ref", WithoutTimeout<EnqueueManyKernel>},
      {"QueueEnqueueManyV2", "ref", WithoutTimeout<EnqueueManyKernel>},
      {"QueueDequeue", "ref", WithoutTimeout<DequeueKernel>},
      {"QueueDequeueV2", "ref", WithoutTimeout<DequeueKernel>},
      {"QueueDequeueMany", "ref", WithoutTimeout<DequeueManyKernel<false>>},
      {"QueueDequeueManyV2", "ref", WithoutTimeout<DequeueManyKernel<false>>},
      {"QueueDequeueUpTo", "ref", WithoutTimeout<DequeueManyKernel<true>>},
      {"QueueDequeueUpToV2", "ref", WithoutTimeout<DequeueManyKernel<true>>},
      {"QueueClose", "ref", FromClass<CloseKernel>},
      {"QueueCloseV2", "ref", FromClass<CloseKernel>},
      {"QueueIsClosed", "ref", FromFunction<RunIsClosed>},
      {"QueueIsClosedV2", "ref", FromFunction<RunIsClosed>},
      {"QueueSize", "ref", FromFunction<RunSize>},
      {"QueueSizeV2", "ref", FromFunction<RunSize>},
  });
}

}  // namespace carillon
