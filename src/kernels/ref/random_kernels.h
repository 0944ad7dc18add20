// What the files of the random kernels share.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "kernels/kernel.h"
#include "kernels/philox.h"

namespace carillon {

// Where a stateful random op stands in its sequence. One for each such node of a session, shared by
// all its executables, so that a run goes on where the last one ended whatever was fetched.
class GeneratorState final : public Resource {
 public:
  explicit GeneratorState(const Philox& start) : next_(start) {}
  // The place from which the caller may use `blocks` blocks that nobody else gets.
  Philox Reserve(uint64_t blocks);
  // What TensorFlow sets aside for `outputs` numbers, however many of them the distribution
  // rejects.
  Philox ReserveOutputs(int64_t outputs) { return Reserve(static_cast<uint64_t>(outputs) * 256); }
  std::string DebugString() const override { return "random generator"; }

 private:
  std::mutex mutex_;
  Philox next_;
};

// The generator of the node, started from its attributes seed and seed2; from entropy when both are
// 0.
StatusOr<std::shared_ptr<GeneratorState>> SessionGenerator(const KernelRequest& request);

// From the two elements of the input `seed` of a stateless op.
StatusOr<Philox> PhiloxFromSeedInput(const Tensor& seed);

void AddSamplingKernels(KernelTable& table);         // RandomShuffle, Multinomial
void AddTruncatedNormalKernels(KernelTable& table);  // ParameterizedTruncatedNormal

}  // namespace carillon
