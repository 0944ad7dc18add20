// The ops on tensors that a session keeps between steps.
#include <string>

#include "kernels/ref/staging_kernels.h"
#include "kernels/session_tensors.h"

namespace carillon {
namespace {

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
    CARILLON_ASSIGN_OR_RETURN(
        const std::string handle,
        tensors().Keep(context.node().name(), context.Keep(0), context.services().allocator));
    context.set_output(0, Tensor::Scalar(handle));
    return absl::OkStatus();
  }
};

// The same as a resource handle, which says where the tensor is and does not keep it.
class GetHandleV2Kernel final : public SessionTensorKernel {
 public:
  using SessionTensorKernel::SessionTensorKernel;
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(
        std::string handle,
        tensors().Keep(context.node().name(), context.Keep(0), context.services().allocator));
    context.set_output(
        0, Tensor::Scalar(ResourceHandle{nullptr, SessionTensors::kContainer, std::move(handle)}));
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
  CARILLON_ASSIGN_OR_RETURN(auto tensors, SessionTensors::Of(*request.session_state));
  return std::make_unique<K>(std::move(tensors));
}

}  // namespace

void AddSessionTensorKernels(KernelTable& table) {
  table.Add({
      {"GetSessionHandle", "ref", InSession<GetHandleKernel>},
      {"GetSessionHandleV2", "ref", InSession<GetHandleV2Kernel>},
      {"GetSessionTensor", "ref", InSession<GetTensorKernel>},
      {"DeleteSessionTensor", "ref", InSession<DeleteTensorKernel>},
  });
}

}  // namespace carillon
