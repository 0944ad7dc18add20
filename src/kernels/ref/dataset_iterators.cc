// Iterators as resources, and the ops that make, fill and read them.
#include "base/foreign_memory.h"
#include "base/strings.h"
#include "base/throw.h"
#include "base/work_scope.h"
#include "kernels/named_resource.h"
#include "kernels/optional_value.h"
#include "kernels/ref/blocking.h"
#include "kernels/ref/dataset_kernels.h"
#include "proto/tensor.pb.h"
#include "tensor/parsed_bytes.h"
#include "tensor/shared_allocator.h"

namespace carillon {
namespace {

// InvalidArgument unless what one side says of the elements fits what the other says.
Status CheckCompatible(const ElementSpec& wanted, const ElementSpec& given) {
  if (wanted.dtypes.size() != given.dtypes.size())
    return InvalidArgument("elements of ", wanted.dtypes.size(),
                           " components are wanted, but these have ", given.dtypes.size());
  for (size_t i = 0; i < wanted.dtypes.size(); ++i) {
    if (wanted.dtypes[i] != given.dtypes[i])
      return InvalidArgument("component ", i, " should be ", DTypeName(wanted.dtypes[i]),
                             " but is ", DTypeName(given.dtypes[i]));
    if (i < wanted.shapes.size() && i < given.shapes.size() &&
        !wanted.shapes[i].IsCompatibleWith(given.shapes[i]))
      return InvalidArgument("component ", i, " should have shape ", wanted.shapes[i].ToString(),
                             " but has ", given.shapes[i].ToString());
  }
  return absl::OkStatus();
}

// An iterator that steps of several sessions may share, and that can be pointed at another data
// set.
//
// Invariants, under mutex_: current_ is what the next GetNext walks; busy_ is set while one does,
// making_ while somebody's function makes the first data set, both outside of the lock. A walk
// keeps its iterator alive when another data set takes its place.
class IteratorResource final : public Resource {
 public:
  explicit IteratorResource(ElementSpec spec) : spec_(std::move(spec)) {}
  ~IteratorResource() override {
    const WorkPause pause;
    const Variant ends(std::move(current_));  // after the iterator that has kept this one, if any
  }
  const ElementSpec& spec() const { return spec_; }

  // From now on elements come from `dataset`, in memory of the step's allocator.
  Status SetDataset(const GraphDataset& dataset, const StepServices& services) {
    CARILLON_RETURN_IF_ERROR(CheckCompatible(spec_, dataset.spec()));
    auto walk = std::make_shared<Walk>(services.allocator, dataset.extent().depth);
    CARILLON_RETURN_IF_ERROR(walk->charge.Add(dataset.extent().count * kIteratorBytes));
    CARILLON_ASSIGN_OR_RETURN(walk->iterator,
                              dataset.MakeIterator(walk->Context(services.cancellation)));
    std::lock_guard lock(mutex_);
    current_.swap(walk);
    return absl::OkStatus();
  }

  // The same with what `make` gives, unless there is a data set already. `make` runs once at a
  // time; it may be a client's function, and take any time.
  Status SetDatasetOnce(const StepServices& services,
                        absl::FunctionRef<StatusOr<DatasetPtr>()> make) {
    {
      std::unique_lock lock(mutex_);
      CARILLON_RETURN_IF_ERROR(
          WaitUnlessCancelled(lock, changed_, services.cancellation, [this] { return !making_; }));
      if (current_ != nullptr) return absl::OkStatus();
      making_ = true;
    }
    Status status;
    const Status thrown = CatchAsStatus([&] {
      const StatusOr<DatasetPtr> dataset = make();
      status = dataset.ok() ? SetDataset(**dataset, services) : dataset.status();
    });
    std::lock_guard lock(mutex_);
    making_ = false;
    changed_.notify_all();
    return thrown.ok() ? status : thrown;
  }

  // Blocks.
  Status GetNext(Cancellation* cancellation, Element* element, bool* end) {
    std::unique_lock lock(mutex_);
    CARILLON_RETURN_IF_ERROR(
        WaitUnlessCancelled(lock, changed_, cancellation, [this] { return !busy_; }));
    std::shared_ptr<Walk> walk = current_;
    if (walk == nullptr)
      return FailedPrecondition(
          "GetNext() failed because the iterator has not been initialized. Run its initializer "
          "before getting the next element.");
    busy_ = true;
    lock.unlock();
    Status status;
    const Status thrown = CatchAsStatus(
        [&] { status = walk->iterator->GetNext(walk->Context(cancellation), element, end); });
    walk.reset();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
    return thrown.ok() ? status : thrown;
  }

  std::string DebugString() const override { return "iterator"; }

 private:
  // The iterator, and what it uses as long as it lives, which may be longer than the session that
  // made it. A data set may keep iterators, whose data sets may keep others: so it ends as variants
  // do.
  struct Walk final : VariantValue {
    Walk(Allocator* step_allocator, int depth)
        : allocator(KeepAllocator(step_allocator)), charge(step_allocator), depth(depth) {}
    IteratorContext Context(Cancellation* cancellation) {
      return {allocator.get(), cancellation, &functions, depth};
    }
    std::string DebugString() const override { return "walk through a dataset"; }

    const std::shared_ptr<Allocator> allocator;
    MemoryCharge charge;  // of the iterators
    const int depth;
    IteratorFunctions functions;
    std::unique_ptr<DatasetIterator> iterator;
  };
  const ElementSpec spec_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Walk> current_;
  bool busy_ = false, making_ = false;
};

using IteratorPtr = std::shared_ptr<IteratorResource>;

StatusOr<IteratorPtr> MakeIteratorResource(Allocator* allocator, std::string_view name,
                                           const ElementSpec& spec) {
  return MakeOnAccount(allocator, name, [&]() -> StatusOr<IteratorPtr> {
    return std::make_shared<IteratorResource>(spec);
  });
}

// The iterator of an op, which is made when there is none.
StatusOr<Tensor> FindOrMakeIterator(const ResourcePlace& place, const StepServices& services,
                                    const ElementSpec& spec, IteratorPtr* iterator) {
  CARILLON_ASSIGN_OR_RETURN(*iterator, FindOrMakeResource<IteratorResource>(
                                           place.store(services), place.container, place.name,
                                           [&]() -> StatusOr<std::shared_ptr<Resource>> {
                                             return MakeIteratorResource(services.allocator,
                                                                         place.name, spec);
                                           }));
  CARILLON_RETURN_IF_ERROR(Annotate(CheckCompatible(spec, (*iterator)->spec()),
                                    StrCat("iterator '", place.name, "' exists and differs: ")));
  return Tensor::Scalar(ResourceHandle{*iterator, place.container, place.name});
}

// Iterator, IteratorV2.
class IteratorKernel final : public Kernel {
 public:
  explicit IteratorKernel(const KernelRequest& request)
      : place_(ResourcePlace::Of(request)), spec_(OutputSpec(request.node)) {}
  Status Run(KernelContext& context) override {
    IteratorPtr iterator;
    CARILLON_ASSIGN_OR_RETURN(Tensor handle,
                              FindOrMakeIterator(place_, context.services(), spec_, &iterator));
    context.set_output(0, std::move(handle));
    return absl::OkStatus();
  }

 private:
  const ResourcePlace place_;
  const ElementSpec spec_;
};

// Its data set is what a function without arguments gives.
class OneShotIteratorKernel final : public BlockingKernel {
 public:
  OneShotIteratorKernel(const KernelRequest& request, std::shared_ptr<CallableFunction> factory)
      : place_(ResourcePlace::Of(request)),
        spec_(OutputSpec(request.node)),
        factory_(std::move(factory)) {}

  static KernelResult Make(const KernelRequest& request) {
    const auto& factory = request.attr<FunctionRef>("dataset_factory");
    if (request.functions == nullptr)
      return NotFound("the graph has no library to find function '", factory.name, "' in");
    CARILLON_ASSIGN_OR_RETURN(auto function, request.functions->Instantiate(factory));
    return std::make_unique<OneShotIteratorKernel>(request, std::move(function));
  }

 private:
  Status Work(KernelContext& context) const override {
    IteratorPtr iterator;
    CARILLON_ASSIGN_OR_RETURN(Tensor handle,
                              FindOrMakeIterator(place_, context.services(), spec_, &iterator));
    CARILLON_RETURN_IF_ERROR(iterator->SetDatasetOnce(
        context.services(), [&] { return CallFactory(context.services().cancellation); }));
    context.set_output(0, std::move(handle));
    return absl::OkStatus();
  }

  StatusOr<DatasetPtr> CallFactory(Cancellation* cancellation) const {
    std::vector<Tensor> results;
    CARILLON_RETURN_IF_ERROR(factory_->Call({}, cancellation, &results));
    if (results.size() != 1)
      return InvalidArgument("dataset_factory should give one dataset, not ", results.size(),
                             " tensors");
    return DatasetOf(results[0]);
  }

  const ResourcePlace place_;
  const ElementSpec spec_;
  const std::shared_ptr<CallableFunction> factory_;
};

// AnonymousIterator, V2 and V3: an iterator that lives in its handles.
Status RunAnonymousIterator(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(
      IteratorPtr iterator,
      MakeIteratorResource(context.services().allocator, "", OutputSpec(context.node())));
  SetAnonymousResource(context, std::move(iterator));
  return absl::OkStatus();
}

Status RunMakeIterator(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const DatasetPtr dataset, DatasetInput(context, 0));
  CARILLON_ASSIGN_OR_RETURN(const IteratorPtr iterator, context.Resource<IteratorResource>(1));
  return iterator->SetDataset(*dataset, context.services());
}

// IteratorGetNext, IteratorGetNextSync, IteratorGetNextAsOptional.
class GetNextKernel final : public BlockingKernel {
 public:
  explicit GetNextKernel(const KernelRequest& request)
      : spec_(OutputSpec(request.node)),
        as_optional_(request.node.op() == "IteratorGetNextAsOptional") {}

 private:
  Status Work(KernelContext& context) const override {
    CARILLON_ASSIGN_OR_RETURN(const IteratorPtr iterator, context.Resource<IteratorResource>(0));
    Element element;
    bool end = false;
    CARILLON_RETURN_IF_ERROR(iterator->GetNext(context.services().cancellation, &element, &end));
    if (!end) CARILLON_RETURN_IF_ERROR(CheckGiven(element));
    if (as_optional_) {
      return SetOptional(context, end ? std::make_shared<OptionalValue>()
                                      : std::make_shared<OptionalValue>(std::move(element)));
    }
    if (end) return OutOfRange("End of sequence");
    for (size_t i = 0; i < element.size(); ++i)
      context.set_output(static_cast<int>(i), std::move(element[i]));
    return absl::OkStatus();
  }

  Status CheckGiven(const Element& element) const {
    ElementSpec given;
    for (const Tensor& component : element) {
      given.dtypes.push_back(component.dtype());
      given.shapes.push_back(component.shape());
    }
    return CheckCompatible(spec_, given);
  }

  const ElementSpec spec_;
  const bool as_optional_;
};

// A handle as text is where the store keeps the iterator.
Status RunToStringHandle(KernelContext& context) {
  CARILLON_RETURN_IF_ERROR(context.Resource<IteratorResource>(0).status());
  const ResourceHandle& handle = context.input(0).data<ResourceHandle>()[0];
  if (handle.name.empty())
    return Unimplemented("an anonymous iterator has no name by which it could be found again");
  const WorkPause pause;  // for protobuf
  tensorflow::ResourceHandleProto proto;
  proto.set_container(handle.container);
  proto.set_name(handle.name);
  context.set_text(0, proto.SerializeAsString());
  return absl::OkStatus();
}

class FromStringHandleKernel final : public Kernel {
 public:
  explicit FromStringHandleKernel(const KernelRequest& request)
      : session_state_(request.session_state), spec_(OutputSpec(request.node)) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const std::string text, StringInput(context, 0, "string_handle"));
    const ForeignWork work(MostParsedBytes<tensorflow::ResourceHandleProto>(text));
    tensorflow::ResourceHandleProto proto;
    if (!proto.ParseFromString(text) || proto.name().empty())
      return InvalidArgument("the string is no handle of an iterator");
    std::shared_ptr<Resource> found;
    if (session_state_ != nullptr) found = session_state_->Find(proto.container(), proto.name());
    if (found == nullptr)
      found = context.services().resources->Find(proto.container(), proto.name());
    if (found == nullptr)
      return NotFound("there is no iterator '", proto.name(), "' in container '", proto.container(),
                      "'");
    IteratorPtr iterator = std::dynamic_pointer_cast<IteratorResource>(found);
    if (iterator == nullptr)
      return InvalidArgument("'", proto.name(), "' is a ", found->DebugString(),
                             ", not an iterator");
    if (!spec_.dtypes.empty()) CARILLON_RETURN_IF_ERROR(CheckCompatible(spec_, iterator->spec()));
    context.set_output(
        0, Tensor::Scalar(ResourceHandle{std::move(iterator), proto.container(), proto.name()}));
    return absl::OkStatus();
  }

 private:
  ResourceStore* const session_state_;  // of iterators that are not shared; may be null
  const ElementSpec spec_;
};

}  // namespace

void AddIteratorKernels(KernelTable& table) {
  table.Add({
      {"Iterator", "ref", FromClass<IteratorKernel>},
      {"IteratorV2", "ref", FromClass<IteratorKernel>},
      {"OneShotIterator", "ref", FromClass<OneShotIteratorKernel>},
      {"AnonymousIterator", "ref", FromFunction<RunAnonymousIterator>},
      {"AnonymousIteratorV2", "ref", FromFunction<RunAnonymousIterator>},
      {"AnonymousIteratorV3", "ref", FromFunction<RunAnonymousIterator>},
      {"DeleteIterator", "ref", FromFunction<RunNothing>},
      {"MakeIterator", "ref", FromBlockingFunction<RunMakeIterator>},
      {"IteratorGetNext", "ref", FromClass<GetNextKernel>},
      {"IteratorGetNextSync", "ref", FromClass<GetNextKernel>},
      {"IteratorGetNextAsOptional", "ref", FromClass<GetNextKernel>},
      {"IteratorToStringHandle", "ref", FromFunction<RunToStringHandle>},
      {"IteratorFromStringHandle", "ref", FromClass<FromStringHandleKernel>},
      {"IteratorFromStringHandleV2", "ref", FromClass<FromStringHandleKernel>},
  });
}

}  // namespace carillon
