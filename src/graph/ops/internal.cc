// Specs of the ops that passes make. Their names start with '_'; no user writes them.
#include "graph/op_spec.h"
#include "graph/shape_context.h"

namespace carillon {

void AddInternalOps(OpTable& ops) {
  // The value of a reference variable, read when its control inputs have run.
  ops.Add("_ReadRef(ref: ref(T)) -> (value: T)", "T: type", {stateful}, ShapeOfInput);
}

}  // namespace carillon
