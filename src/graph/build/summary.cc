#include "carillon/ops/summary.h"

#include "carillon/op_builder.h"

namespace carillon {

Output ScalarSummary(const Input& tags, const Output& values) {
  return OpBuilder("ScalarSummary").Arg(tags).Arg(values);
}

Output HistogramSummary(const Input& tag, const Output& values) {
  return OpBuilder("HistogramSummary").Arg(tag).Arg(values);
}

Output ImageSummary(const Input& tag, const Output& images, int64_t max_images) {
  return OpBuilder("ImageSummary").Arg(tag).Arg(images).Attr("max_images", max_images);
}

Output AudioSummaryV2(const Input& tag, const Output& sounds, const Input& sample_rate,
                      int64_t max_outputs) {
  return OpBuilder("AudioSummaryV2")
      .Arg(tag)
      .Arg(sounds)
      .Arg(sample_rate)
      .Attr("max_outputs", max_outputs);
}

Output TensorSummaryV2(const Input& tag, const Output& tensor, const Input& metadata) {
  return OpBuilder("TensorSummaryV2").Arg(tag).Arg(tensor).Arg(metadata);
}

Output MergeSummary(const std::vector<Output>& summaries) {
  return OpBuilder("MergeSummary").Args(summaries);
}

}  // namespace carillon
