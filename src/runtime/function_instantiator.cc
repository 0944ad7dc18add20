#include "runtime/function_instantiator.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/strings.h"
#include "base/work_scope.h"
#include "kernels/renewable_function.h"
#include "runtime/cancellation.h"
#include "runtime/program_memory.h"
#include "runtime/resource_store.h"
#include "tensor/memory_charge.h"

namespace carillon {
namespace {

// A function whose kernels call functions whose kernels …
constexpr int kMaxDepth = 16;
// More argument shapes than this, and one Executable serves all.
constexpr size_t kMaxSpecialisations = 4;

// Lets a call run under whatever kind of cancellation its caller has.
class CallCancellation {
 public:
  explicit CallCancellation(Cancellation* outer)
      : outer_(outer), source_(dynamic_cast<CancellationSource*>(outer)) {
    if (source_ != nullptr) return;
    source_ = &own_;
    if (outer_ == nullptr) return;
    const auto cancel = [this] { own_.Cancel(absl::CancelledError("the call was cancelled")); };
    registered_ = outer_->Register(&token_, cancel);
    if (!registered_) cancel();
  }
  ~CallCancellation() {
    if (registered_) outer_->Deregister(token_);
  }
  CallCancellation(const CallCancellation&) = delete;
  CallCancellation& operator=(const CallCancellation&) = delete;
  CancellationSource* source() { return source_; }

 private:
  Cancellation* const outer_;
  CancellationSource* source_;
  CancellationSource own_;
  uint64_t token_ = 0;
  bool registered_ = false;
};

// Invariant: executables_ only grows, under mutex_; the last one takes any shape once there are
// kMaxSpecialisations others.
class LibraryFunction final : public RenewableFunction,
                              public std::enable_shared_from_this<LibraryFunction> {
 public:
  LibraryFunction(std::shared_ptr<const FunctionBody> body, std::shared_ptr<Device> device,
                  SpecializeOptions options)
      : body_(std::move(body)), device_(std::move(device)), options_(std::move(options)) {}

  Status Call(std::span<const Tensor> args, Cancellation* cancellation,
              std::vector<Tensor>* results) override {
    CARILLON_RETURN_IF_ERROR(CheckArgs(args));
    CARILLON_ASSIGN_OR_RETURN(const std::shared_ptr<Executable> executable, Find(args));
    const WorkPause pause;  // of the kernel that calls: those of the function count for themselves
    CallCancellation call(cancellation);
    return executable->Run({.step_id = next_step_.fetch_add(1, std::memory_order_relaxed),
                            .threads = options_.lowering.kernels.threads,
                            .feeds = args,
                            .resources = options_.resources,
                            .cancellation = call.source()},
                           results);
  }

  std::shared_ptr<CallableFunction> WithFreshState() override {
    const auto& nodes = body_->graph.nodes().nodes();
    const bool has_state = std::ranges::any_of(nodes, [](const auto& node) {
      return node != nullptr && node->spec().is_stateful && node->op() != "_Arg";
    });
    if (!has_state) return shared_from_this();
    return std::make_shared<LibraryFunction>(body_, device_, options_);
  }

 private:
  struct Specialised {
    std::vector<Shape> shapes;
    bool any_shape = false;
    std::shared_ptr<Executable> executable;
  };

  Status CheckArgs(std::span<const Tensor> args) const {
    if (args.size() != body_->args.size())
      return InvalidArgument("function '", body_->name, "' takes ", body_->args.size(),
                             " arguments but is given ", args.size());
    for (size_t i = 0; i < args.size(); ++i) {
      const OutputInfo& wanted = body_->args[i]->output(0);
      if (args[i].dtype() != wanted.dtype || !wanted.shape.IsCompatibleWith(args[i].shape()))
        return InvalidArgument("argument ", i, " of function '", body_->name, "' is ",
                               DTypeName(wanted.dtype), wanted.shape.ToString(), ", not ",
                               DTypeName(args[i].dtype()), args[i].shape().ToString());
    }
    return absl::OkStatus();
  }

  StatusOr<std::shared_ptr<Executable>> Find(std::span<const Tensor> args) {
    std::lock_guard lock(mutex_);  // held while an Executable is made, so that it is made once
    for (const Specialised& entry : executables_) {
      if (entry.any_shape ||
          std::ranges::equal(entry.shapes, args, [](const Shape& shape, const Tensor& arg) {
            return shape == arg.shape();
          }))
        return entry.executable;
    }
    Specialised made{.any_shape = executables_.size() >= kMaxSpecialisations};
    Signature signature{.fetches = body_->results, .targets = body_->effects};
    for (size_t i = 0; i < body_->args.size(); ++i) {
      Node* arg = body_->args[i];
      signature.feeds.push_back({arg, 0});
      if (!made.any_shape) made.shapes.push_back(args[i].shape());
      signature.feed_shapes.push_back(made.any_shape ? arg->output(0).shape
                                                     : PartialShape(args[i].shape()));
    }
    CARILLON_ASSIGN_OR_RETURN(made.executable, Executable::Make(body_->graph.nodes(), signature,
                                                                device_, &state_, options_));
    // What it took to make it counted for the caller, but no longer than that works.
    CARILLON_RETURN_IF_ERROR(charge_.Add(EstimateProgram(*made.executable->program().graph)));
    executables_.push_back(std::move(made));
    return executables_.back().executable;
  }

  const std::shared_ptr<const FunctionBody> body_;
  const std::shared_ptr<Device> device_;
  const SpecializeOptions options_;
  MapResourceStore state_;  // what stateful kernels keep between calls
  std::atomic<int64_t> next_step_{1};
  std::mutex mutex_;
  MemoryCharge charge_{device_->allocator.get()};  // for executables_, under mutex_
  std::vector<Specialised> executables_;
};

// Each kernel that calls a function has a body of its own, and data sets keep it beyond the step.
struct BodyOnAccount {
  explicit BodyOnAccount(Allocator* allocator) : charge(allocator) {}
  MemoryCharge charge;
  std::unique_ptr<FunctionBody> body;
};

}  // namespace

StatusOr<std::shared_ptr<CallableFunction>> LibraryInstantiator::Instantiate(
    const FunctionRef& function) {
  if (options_.function_depth >= kMaxDepth)
    return InvalidArgument("function '", function.name, "' is used more than ", kMaxDepth,
                           " functions deep; does it use itself?");
  auto counted = std::make_shared<BodyOnAccount>(device_->allocator.get());
  CARILLON_ASSIGN_OR_RETURN(counted->body, library_->Instantiate(function));
  CARILLON_RETURN_IF_ERROR(counted->charge.Add(EstimateGraph(counted->body->graph.nodes())));
  std::shared_ptr<const FunctionBody> body(counted, counted->body.get());
  SpecializeOptions options = options_;
  options.in_parts = false;
  options.dump_folder.clear();
  ++options.function_depth;
  // Several calls run at once, beside the step: each has its own thread already.
  options.lowering.kernels.threads = 1;
  return std::make_shared<LibraryFunction>(std::move(body), device_, std::move(options));
}

}  // namespace carillon
