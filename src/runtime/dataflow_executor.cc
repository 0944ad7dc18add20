#include "runtime/executor.h"

namespace carillon {
namespace {

class DataflowExecutor final : public Executor {
 public:
  Status Run(const StepArgs&, std::vector<Tensor>*) override { return Unimplemented("control flow"); }
};

}  // namespace

std::unique_ptr<Executor> MakeDataflowExecutor(const Program&, const Device&) {
  return std::make_unique<DataflowExecutor>();
}

}  // namespace carillon
