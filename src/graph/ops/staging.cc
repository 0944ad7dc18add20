// Specs of the ops for barriers, staging areas and values kept in the session.
#include <vector>

#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

Status InsertShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape keys, c.WithRank(1, 1));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape values, c.WithRankAtLeast(2, 1));
  return values.has_rank() ? MergeDim(keys.dim(0), values.dim(0)).status() : absl::OkStatus();
}

// Of what the barrier behind input 0 says when its node is right there.
Status TakeShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(1, 0).status());
  c.set_output(0, {-1});
  c.set_output(1, {-1});
  const Node* barrier = c.node().input(0).node;
  std::vector<PartialShape> shapes;
  if (barrier != nullptr && barrier->op() == "Barrier")
    shapes = barrier->attr<std::vector<PartialShape>>("shapes");
  for (int i = 2; i < c.num_outputs(); ++i) {
    PartialShape batch;
    if (shapes.size() == static_cast<size_t>(c.num_outputs() - 2)) {
      const PartialShape& element = shapes[static_cast<size_t>(i - 2)];
      std::vector<int64_t> dims = {-1};
      dims.insert(dims.end(), element.dims().begin(), element.dims().end());
      if (element.has_rank()) PartialShape::TryMake(dims, &batch);
    }
    c.set_output(i, batch);
  }
  return absl::OkStatus();
}

Status HandleShape(ShapeContext& c) { return c.WithRank(0, 0).status(); }

Status SessionTensorShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(HandleShape(c));
  return ShapeUnknown(c);
}

}  // namespace

void AddStagingOps(OpTable& ops) {
  ops.Add("Barrier() -> (handle: ref(string))",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("BarrierInsertMany(handle: ref(string), keys: string, values: T) -> ()",
          "T: type; component_index: int", InsertShape);
  ops.Add(
      "BarrierTakeMany(handle: ref(string), num_elements: int32) -> (indices: int64, keys: string, "
      "values: list(component_types))",
      "component_types: list(type) >= 1; allow_small_batch: bool = false; wait_for_incomplete: "
      "bool = false; timeout_ms: int = -1",
      TakeShape);
  ops.Add("BarrierClose(handle: ref(string)) -> ()", "cancel_pending_enqueues: bool = false",
          ShapeNothing);
  ops.Add("BarrierReadySize(handle: ref(string)) -> (size: int32)", "", ShapeScalar);
  ops.Add("BarrierIncompleteSize(handle: ref(string)) -> (size: int32)", "", ShapeScalar);
  ops.Add("Stage(values: list(dtypes)) -> ()",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("Unstage() -> (values: list(dtypes))",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("StagePeek(index: int32) -> (values: list(dtypes))",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("StageSize() -> (size: int32)",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("StageClear() -> ()",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("MapStage(key: int64, indices: int32, values: list(fake_dtypes)) -> ()",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); fake_dtypes: "
          "list(type) >= 1; container: string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("MapUnstage(key: int64, indices: int32) -> (values: list(dtypes))",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("MapUnstageNoKey(indices: int32) -> (key: int64, values: list(dtypes))",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("MapPeek(key: int64, indices: int32) -> (values: list(dtypes))",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("MapSize() -> (size: int32)",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("MapIncompleteSize() -> (size: int32)",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("MapClear() -> ()",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("OrderedMapStage(key: int64, indices: int32, values: list(fake_dtypes)) -> ()",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); fake_dtypes: "
          "list(type) >= 1; container: string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("OrderedMapUnstage(key: int64, indices: int32) -> (values: list(dtypes))",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("OrderedMapUnstageNoKey(indices: int32) -> (key: int64, values: list(dtypes))",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("OrderedMapPeek(key: int64, indices: int32) -> (values: list(dtypes))",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("OrderedMapSize() -> (size: int32)",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("OrderedMapIncompleteSize() -> (size: int32)",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("OrderedMapClear() -> ()",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: "
          "string = ''; shared_name: string = ''",
          {stateful}, ShapeUnknown);
  ops.Add("GetSessionHandle(value: T) -> (handle: string)", "T: type", {stateful}, ShapeScalar);
  ops.Add("GetSessionHandleV2(value: T) -> (handle: resource)", "T: type", {stateful}, ShapeScalar);
  ops.Add("GetSessionTensor(handle: string) -> (value: dtype)", "dtype: type", {stateful},
          SessionTensorShape);
  ops.Add("DeleteSessionTensor(handle: string) -> ()", "", {stateful}, HandleShape);
}

}  // namespace carillon
