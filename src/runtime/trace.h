// What a traced step records: when each kernel ran.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace carillon {

struct KernelTiming {
  std::string_view node;  // borrowed from the program
  std::string_view op;
  std::string_view kernel;
  int64_t start_ns = 0;  // since the epoch
  int64_t end_ns = 0;
  int64_t output_bytes = 0;
  int thread = 0;
};

// Filled by one step at a time.
struct StepTrace {
  std::vector<KernelTiming> kernels;
};

int64_t NowNanoseconds();

}  // namespace carillon
