// How a progress line looks, apart from clocks and streams.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "carillon/report.h"

namespace carillon {

struct ProgressState {
  int64_t step = 0;
  int64_t total_steps = 0;         // 0 when unknown
  double steps_per_second = 0;     // 0 when unknown
  double examples_per_second = 0;  // 0 when unknown
  std::optional<double> loss;
  double seconds = 0;
  bool finished = false;
};

// For redrawing: a bar and what fits beside it in style.width columns. No line end.
std::string ProgressBar(const ProgressState& state, const TextStyle& style);
// For logs: the same facts, greppable. No line end.
std::string ProgressLine(const ProgressState& state);

}  // namespace carillon
