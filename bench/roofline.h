// The roofline table: what the kernels of a training step do, how fast this machine could do it,
// and how fast it is done.
#pragma once

#include <string>
#include <vector>

#include "carillon/session.h"
#include "peak.h"

namespace bench {

// What a kernel must do at least: operations on numbers, and bytes from and to memory if each input
// is read and each output written once.
struct Work {
  double operations = 0;
  double bytes = 0;
};
Work WorkOf(const carillon::NodeTiming& node);

// All nodes of a step with the same op and kernel.
struct RooflineRow {
  std::string op, kernel;
  int64_t count = 0;
  Work work;
  double floor_seconds = 0;  // the sum of max(operations / peak, bytes / bandwidth)
  double seconds = 0;
};

// From traces of steps of one program: of each node the least time counts. Slowest rows first.
std::vector<RooflineRow> MakeRoofline(const std::vector<carillon::RunMetadata>& steps,
                                      const Peak& peak);

}  // namespace bench
