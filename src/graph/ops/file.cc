// Specs of the ops for files.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

Status ReadFileShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 0).status());
  return ShapeScalar(c);
}

Status WriteFileShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 0).status());
  return c.WithRank(1, 0).status();
}

Status MatchingFilesShape(ShapeContext& c) {
  if (c.input(0).has_rank() && c.input(0).rank() > 1) {
    return InvalidArgument("pattern should be a scalar or a vector but has shape ",
                           c.input(0).ToString());
  }
  c.set_output(0, PartialShape{-1});
  return absl::OkStatus();
}

}  // namespace

void AddFileOps(OpTable& ops) {
  ops.Add("ReadFile(filename: string) -> (contents: string)", "", ReadFileShape);
  ops.Add("WriteFile(filename: string, contents: string) -> ()", "", {stateful}, WriteFileShape);
  ops.Add("MatchingFiles(pattern: string) -> (filenames: string)", "", MatchingFilesShape);
}

}  // namespace carillon
