// Tensors that a session keeps between steps, under handles that the program holds.
#include <map>
#include <mutex>
#include <string>

#include "base/strings.h"
#include "kernels/ref/staging_kernels.h"

namespace carillon {
namespace {

// Thread-safe. One for each session.
class SessionTensors final : public Resource {
 public:
  // The handle: unique in the session, with the node in it, for messages.
  std::string Keep(const std::string& node, Tensor value) {
    std::lock_guard lock(mutex_);
    std::string handle = StrCat(node, ";", next_++, ";", "CPU:0");
    values_.emplace(handle, std::move(value));
    return handle;
  }
  StatusOr<Tensor> Find(const std::string& handle) const {
    std::lock_guard lock(mutex_);
    const auto found = values_.find(handle);
    if (found == values_.end()) return Missing(handle);
    return found->second;
  }
  Status Remove(const std::string& handle) {
    std::lock_guard lock(mutex_);
    return values_.erase(handle) > 0 ? absl::OkStatus() : Missing(handle);
  }
  std::string DebugString() const override { return "session tensors"; }

 private:
  static Status Missing(const std::string& handle) {
    return InvalidArgument("The tensor with handle '", handle, "' is not in the session store.");
  }
  mutable std::mutex mutex_;
  std::map<std::string, Tensor> values_;
  int64_t next_ = 0;
};

// A tensor as a resource of its own: what GetSessionHandleV2 gives.
class KeptTensor final : public Resource {
 public:
  explicit KeptTensor(Tensor value) : value_(std::move(value)) {}
  std::string DebugString() const override { return "a tensor that the session keeps"; }

 private:
  const Tensor value_;
};

class SessionTensorKernel : public Kernel {
 public:
  explicit SessionTensorKernel(std::shared_ptr<SessionTensors> tensors)
      : tensors_(std::move(tensors)) {}

 protected:
  SessionTensors& tensors() const { return *tensors_; }
  static StatusOr<std::string> Handle(const KernelContext& context) {
    if (context.input(0).num_elements() != 1)
      return InvalidArgument("one handle is needed, not ", context.input(0).ToString());
    return context.input(0).data<std::string>()[0];
  }

 private:
  const std::shared_ptr<SessionTensors> tensors_;
};

class GetHandleKernel final : public SessionTensorKernel {
 public:
  using SessionTensorKernel::SessionTensorKernel;
  Status Run(KernelContext& context) override {
    context.set_output(0, Tensor::Scalar(tensors().Keep(context.node().name(), context.Keep(0))));
    return absl::OkStatus();
  }
};

class GetTensorKernel final : public SessionTensorKernel {
 public:
  using SessionTensorKernel::SessionTensorKernel;
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const std::string handle, Handle(context));
    CARILLON_ASSIGN_OR_RETURN(Tensor value, tensors().Find(handle));
    if (value.dtype() != context.output_dtype(0)) {
      return InvalidArgument("the tensor with handle '", handle, "' is ", DTypeName(value.dtype()),
                             ", not ", DTypeName(context.output_dtype(0)));
    }
    context.set_output(0, std::move(value));
    return absl::OkStatus();
  }
};

class DeleteTensorKernel final : public SessionTensorKernel {
 public:
  using SessionTensorKernel::SessionTensorKernel;
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const std::string handle, Handle(context));
    return tensors().Remove(handle);
  }
};

template <typename K>
KernelResult InSession(const KernelRequest& request) {
  if (request.session_state == nullptr)
    return Unimplemented("there is no session that could keep tensors");
  CARILLON_ASSIGN_OR_RETURN(
      auto tensors, FindOrMakeResource<SessionTensors>(*request.session_state, "session", "tensors",
                                                       []() -> StatusOr<std::shared_ptr<Resource>> {
                                                         return std::make_shared<SessionTensors>();
                                                       }));
  return std::make_unique<K>(std::move(tensors));
}

Status RunGetHandleV2(KernelContext& context) {
  auto kept = std::make_shared<KeptTensor>(context.Keep(0));
  context.set_output(
      0, Tensor::Scalar(ResourceHandle{std::move(kept), "session", context.node().name()}));
  return absl::OkStatus();
}

}  // namespace

void AddSessionTensorKernels(KernelTable& table) {
  table.Add({
      {"GetSessionHandle", "ref", InSession<GetHandleKernel>},
      {"GetSessionHandleV2", "ref", FromFunction<RunGetHandleV2>},
      {"GetSessionTensor", "ref", InSession<GetTensorKernel>},
      {"DeleteSessionTensor", "ref", InSession<DeleteTensorKernel>},
  });
}

}  // namespace carillon
