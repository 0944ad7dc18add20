// Specs of the ops for queues.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {

void AddQueueOps(OpTable& ops) {
  ops.Add("FIFOQueue() -> (handle: ref(string))",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("FIFOQueueV2() -> (handle: resource)",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("RandomShuffleQueue() -> (handle: ref(string))",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "min_after_dequeue: int = 0; seed: int = 0; seed2: int = 0; container: string = ''; "
          "shared_name: string = ''",
          {stateful});
  ops.Add("RandomShuffleQueueV2() -> (handle: resource)",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "min_after_dequeue: int = 0; seed: int = 0; seed2: int = 0; container: string = ''; "
          "shared_name: string = ''",
          {stateful});
  ops.Add("PaddingFIFOQueue() -> (handle: ref(string))",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("PaddingFIFOQueueV2() -> (handle: resource)",
          "component_types: list(type) >= 1; shapes: list(shape) >= 0 = []; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("PriorityQueue() -> (handle: ref(string))",
          "component_types: list(type) >= 0 = []; shapes: list(shape) >= 0; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("PriorityQueueV2() -> (handle: resource)",
          "component_types: list(type) >= 0 = []; shapes: list(shape) >= 0; capacity: int = -1; "
          "container: string = ''; shared_name: string = ''",
          {stateful});
  ops.Add("QueueEnqueue(handle: ref(string), components: list(Tcomponents)) -> ()",
          "Tcomponents: list(type) >= 1; timeout_ms: int = -1");
  ops.Add("QueueEnqueueV2(handle: resource, components: list(Tcomponents)) -> ()",
          "Tcomponents: list(type) >= 1; timeout_ms: int = -1", {stateful});
  ops.Add("QueueEnqueueMany(handle: ref(string), components: list(Tcomponents)) -> ()",
          "Tcomponents: list(type) >= 1; timeout_ms: int = -1");
  ops.Add("QueueEnqueueManyV2(handle: resource, components: list(Tcomponents)) -> ()",
          "Tcomponents: list(type) >= 1; timeout_ms: int = -1", {stateful});
  ops.Add("QueueDequeue(handle: ref(string)) -> (components: list(component_types))",
          "component_types: list(type) >= 1; timeout_ms: int = -1");
  ops.Add("QueueDequeueV2(handle: resource) -> (components: list(component_types))",
          "component_types: list(type) >= 1; timeout_ms: int = -1", {stateful});
  ops.Add("QueueDequeueMany(handle: ref(string), n: int32) -> (components: list(component_types))",
          "component_types: list(type) >= 1; timeout_ms: int = -1");
  ops.Add("QueueDequeueManyV2(handle: resource, n: int32) -> (components: list(component_types))",
          "component_types: list(type) >= 1; timeout_ms: int = -1", {stateful});
  ops.Add("QueueDequeueUpTo(handle: ref(string), n: int32) -> (components: list(component_types))",
          "component_types: list(type) >= 1; timeout_ms: int = -1");
  ops.Add("QueueDequeueUpToV2(handle: resource, n: int32) -> (components: list(component_types))",
          "component_types: list(type) >= 1; timeout_ms: int = -1", {stateful});
  ops.Add("QueueClose(handle: ref(string)) -> ()", "cancel_pending_enqueues: bool = false");
  ops.Add("QueueCloseV2(handle: resource) -> ()", "cancel_pending_enqueues: bool = false",
          {stateful});
  ops.Add("QueueIsClosed(handle: ref(string)) -> (is_closed: bool)", "");
  ops.Add("QueueIsClosedV2(handle: resource) -> (is_closed: bool)", "", {stateful});
  ops.Add("QueueSize(handle: ref(string)) -> (size: int32)", "");
  ops.Add("QueueSizeV2(handle: resource) -> (size: int32)", "", {stateful});
}

}  // namespace carillon
