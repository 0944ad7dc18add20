// What a traced step records: when each kernel ran.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carillon/session.h"
#include "runtime/program.h"

namespace carillon {

struct KernelTiming {
  const Instruction* instruction = nullptr;  // of the program, which must outlive this
  int64_t start_ns = 0;                      // since the epoch
  int64_t end_ns = 0;
  int64_t output_bytes = 0;
};

// Filled by one step at a time.
struct StepTrace {
  // The first ones of a step, since a loop may have any number, and a node any number of inputs;
  // the log says so.
  static constexpr size_t kMostKernels = 1 << 17;
  static constexpr int64_t kMostBytes = 128 << 20;
  std::vector<KernelTiming> kernels;
  int64_t bytes = 0;  // about what they take as NodeTiming, or as a message
  bool is_full = false;
  void Add(const KernelTiming& timing, const Program& program);
  // Of a step that runs on several tasks: a serialized StepStats from each.
  std::vector<std::string> step_stats;
};

int64_t NowNanoseconds();

// The same, in a form that outlives the program, which ran on `device`.
NodeTiming ToNodeTiming(const KernelTiming& timing, const Program& program,
                        const std::string& device);

}  // namespace carillon
