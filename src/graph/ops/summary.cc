// Specs of the ops for summaries.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {

void AddSummaryOps(OpTable& ops) {
  ops.Add("ScalarSummary(tags: string, values: T) -> (summary: string)", "T: {number}",
          ShapeScalar);
  ops.Add("HistogramSummary(tag: string, values: T) -> (summary: string)", "T: {number} = float",
          ShapeScalar);
  ops.Add("ImageSummary(tag: string, tensor: T) -> (summary: string)",
          "max_images: int >= 1 = 3; T: {uint8, float, half, double} = float; bad_color: tensor = "
          "[255, 0, 0, 255]",
          ShapeScalar);
  ops.Add("AudioSummaryV2(tag: string, tensor: float, sample_rate: float) -> (summary: string)",
          "max_outputs: int >= 1 = 3", ShapeScalar);
  ops.Add("TensorSummary(tensor: T) -> (summary: string)",
          "T: type; description: string = ''; labels: list(string) = []; display_name: string = ''",
          ShapeScalar);
  ops.Add(
      "TensorSummaryV2(tag: string, tensor: T, serialized_summary_metadata: string) -> (summary: "
      "string)",
      "T: type", ShapeScalar);
  ops.Add("MergeSummary(inputs: N * string) -> (summary: string)", "N: int >= 1", ShapeScalar);
}

}  // namespace carillon
