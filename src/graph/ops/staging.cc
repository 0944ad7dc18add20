// Specs of the ops for barriers, staging areas and values kept in the session.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {

void AddStagingOps(OpTable& ops) {
  ops.Add("Barrier() -> (handle: ref(string))",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("BarrierInsertMany(handle: ref(string), keys: string, values: T) -> ()",
          "T: type; component_index: int");
  ops.Add(
      "BarrierTakeMany(handle: ref(string), num_elements: int32) -> (indices: int64, keys: string, "
      "values: list(component_types))",
      "component_types: list(type) >= 1; allow_small_batch: bool = false; wait_for_incomplete: "
      "bool = false; timeout_ms: int = -1");
  ops.Add("BarrierClose(handle: ref(string)) -> ()", "cancel_pending_enqueues: bool = false");
  ops.Add("BarrierReadySize(handle: ref(string)) -> (size: int32)", "");
  ops.Add("BarrierIncompleteSize(handle: ref(string)) -> (size: int32)", "");
  ops.Add("Stage(values: list(dtypes)) -> ()",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("Unstage() -> (values: list(dtypes))",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("StagePeek(index: int32) -> (values: list(dtypes))",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("StageSize() -> (size: int32)",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: "
          "string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("StageClear() -> ()",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: "
          "string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("MapStage(key: int64, indices: int32, values: list(fake_dtypes)) -> ()",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); fake_dtypes: "
          "list(type) >= 1; container: string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("MapUnstage(key: int64, indices: int32) -> (values: list(dtypes))",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("MapUnstageNoKey(indices: int32) -> (key: int64, values: list(dtypes))",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("MapPeek(key: int64, indices: int32) -> (values: list(dtypes))",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type) >= 1; container: "
          "string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("MapSize() -> (size: int32)",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: "
          "string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("MapIncompleteSize() -> (size: int32)",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: "
          "string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("MapClear() -> ()",
          "capacity: int >= 0 = 0; memory_limit: int >= 0 = 0; dtypes: list(type); container: "
          "string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("GetSessionHandle(value: T) -> (handle: string)", "T: type", {stateful});
  ops.Add("GetSessionHandleV2(value: T) -> (handle: resource)", "T: type", {stateful});
  ops.Add("GetSessionTensor(handle: string) -> (value: dtype)", "dtype: type", {stateful});
  ops.Add("DeleteSessionTensor(handle: string) -> ()", "", {stateful});
}

}  // namespace carillon
