// Summaries: serialized messages that TensorBoard shows. Each function gives a string scalar.
#pragma once

#include <string>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

// One number for each tag; both of one shape.
Output ScalarSummary(const Input& tags, const Output& values);
// How the elements of `values` are distributed. NaN and infinity fail the step.
Output HistogramSummary(const Input& tag, const Output& values);
// The first `max_images` of a batch [n, height, width, 1, 3 or 4]: uint8 as they are, floats
// brought to 0 … 255.
Output ImageSummary(const Input& tag, const Output& images, int64_t max_images = 3);
// The first `max_outputs` of a batch [n, frames] or [n, frames, channels] of sounds in -1 … 1.
Output AudioSummaryV2(const Input& tag, const Output& sounds, const Input& sample_rate,
                      int64_t max_outputs = 3);
// A whole tensor; `metadata` is a serialized SummaryMetadata.
Output TensorSummaryV2(const Input& tag, const Output& tensor, const Input& metadata = "");
// All values of several summaries. A tag that comes twice fails the step.
Output MergeSummary(const std::vector<Output>& summaries);

}  // namespace carillon
