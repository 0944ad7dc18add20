// _Send and _Recv: the ends of an edge that was cut, between the parts of a step.
#include <memory>
#include <string>
#include <utility>

#include "kernels/families.h"
#include "kernels/kernel.h"

namespace carillon {
namespace {

// The key of the edge in this very iteration: the same at both ends.
std::string KeyAt(const std::string& edge, const LoopPosition* position) {
  std::string key = edge;
  for (; position != nullptr; position = position->outer)
    key += ';' + std::to_string(position->iteration);
  return key;
}

// Runs even when its input is dead: the other end has to know.
class SendKernel final : public Kernel {
 public:
  explicit SendKernel(const KernelRequest& request) : key_(request.attr<std::string>("key")) {}
  Status Run(KernelContext& context) override {
    if (context.services().rendezvous == nullptr) return Internal("the step has nobody to send to");
    const bool is_dead = !context.has_input(0);
    Tensor value = is_dead ? Tensor() : context.Keep(0);
    const WorkPause pause;  // links and those who wait at the other end are not this step's alone
    return context.services().rendezvous->Send(KeyAt(key_, context.position()), std::move(value),
                                               is_dead);
  }

 private:
  const std::string key_;
};

class ReceiveKernel final : public AsyncKernel {
 public:
  explicit ReceiveKernel(const KernelRequest& request)
      : key_(request.attr<std::string>("key")), dtype_(request.output_dtype(0)) {}
  void RunAsync(KernelContext& context, Done done) override {
    if (context.services().rendezvous == nullptr)
      return done(Internal("the step has nobody to receive from"));
    context.services().rendezvous->ReceiveAsync(
        KeyAt(key_, context.position()),
        [this, &context, done = std::move(done)](const Status& status, Tensor value, bool is_dead) {
          if (!status.ok() || is_dead) return done(status);
          if (value.dtype() != dtype_) {
            return done(InvalidArgument("a ", DTypeName(value.dtype()), " was sent where a ",
                                        DTypeName(dtype_), " is received"));
          }
          context.set_output(0, std::move(value));
          done(status);
        });
  }

 private:
  const std::string key_;
  const DType dtype_;
};

}  // namespace

void AddTransferReferenceKernels(KernelTable& table) {
  table.Add({{"_Send", "ref", FromClass<SendKernel>}, {"_Recv", "ref", FromClass<ReceiveKernel>}});
}

}  // namespace carillon
