#include "kernels/kernel.h"

#include "base/strings.h"
#include "kernels/families.h"

namespace carillon {
namespace {

class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(KernelFn fn, KernelTraits traits) : fn_(fn) { traits_ = std::move(traits); }
  Status Run(KernelContext& context) override { return fn_(context); }

 private:
  const KernelFn fn_;
};

}  // namespace

Status AsyncKernel::Run(KernelContext& context) {
  return Internal("node ", context.node().Describe(), " waits and was run as if it did not");
}

std::unique_ptr<Kernel> MakeFunctionKernel(KernelFn fn, KernelTraits traits) {
  return std::make_unique<FunctionKernel>(fn, std::move(traits));
}

void KernelTable::Add(std::initializer_list<KernelEntry> entries) {
  for (const KernelEntry& entry : entries) Add(entry);
}

void KernelTable::Add(const KernelEntry& entry) {
  entries_[std::string(entry.op)].push_back(entry);
}

KernelResult KernelTable::Make(const KernelRequest& request, std::string_view* chosen,
                               const std::function<void(const std::string&)>& log) const {
  const Node& node = request.node;
  const auto found = entries_.find(node.op());
  if (found == entries_.end())
    return Unimplemented("no kernel computes op ", node.op(), " on this device");
  std::string refusals;
  for (const KernelEntry& entry : found->second) {
    if (request.options.reference && entry.name != "ref") continue;
    KernelResult kernel = entry.make(request);
    if (kernel.ok()) {
      *chosen = entry.name;
      if (log != nullptr) log(StrCat(node.Describe(), ": ", entry.name, refusals));
      return kernel;
    }
    if (!absl::IsUnimplemented(kernel.status())) return kernel;
    StrAppend(&refusals, "; ", entry.name, " declined: ", kernel.status().message());
  }
  return Unimplemented("no kernel accepts op ", node.op(), refusals);
}

const KernelTable& CpuKernels() {
  static const KernelTable* const table = [] {
    auto* made = new KernelTable;
    AddMathCpuKernels(*made);
    AddNnCpuKernels(*made);
    AddArrayReferenceKernels(*made);
    AddMathReferenceKernels(*made);
    AddNnReferenceKernels(*made);
    AddRandomReferenceKernels(*made);
    AddStateReferenceKernels(*made);
    AddTrainingReferenceKernels(*made);
    AddControlFlowReferenceKernels(*made);
    AddTransferReferenceKernels(*made);
    AddQueueReferenceKernels(*made);
    AddAccumulatorReferenceKernels(*made);
    AddListReferenceKernels(*made);
    AddStagingReferenceKernels(*made);
    AddTableReferenceKernels(*made);
    AddStringReferenceKernels(*made);
    AddParsingReferenceKernels(*made);
    AddFileReferenceKernels(*made);
    AddImageReferenceKernels(*made);
    AddCheckpointReferenceKernels(*made);
    AddSummaryReferenceKernels(*made);
    AddFunctionReferenceKernels(*made);
    AddDatasetReferenceKernels(*made);
    return made;
  }();
  return *table;
}

}  // namespace carillon
