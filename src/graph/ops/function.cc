// Specs of the ops for calls of functions.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {

void AddFunctionOps(OpTable& ops) {
  ops.Add("PartitionedCall(args: list(Tin)) -> (output: list(Tout))",
          "Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; config: string = ''; "
          "config_proto: string = ''; executor_type: string = ''");
  ops.Add("StatefulPartitionedCall(args: list(Tin)) -> (output: list(Tout))",
          "Tin: list(type) >= 0; Tout: list(type) >= 0; f: func; config: string = ''; "
          "config_proto: string = ''; executor_type: string = ''",
          {stateful});
  ops.Add("If(cond: Tcond, input: list(Tin)) -> (output: list(Tout))",
          "Tcond: type; Tin: list(type) >= 0; Tout: list(type) >= 0; then_branch: func; "
          "else_branch: func; output_shapes: list(shape) = []",
          {stateful});
  ops.Add("StatelessIf(cond: Tcond, input: list(Tin)) -> (output: list(Tout))",
          "Tcond: type; Tin: list(type) >= 0; Tout: list(type) >= 0; then_branch: func; "
          "else_branch: func; output_shapes: list(shape) = []");
  ops.Add("While(input: list(T)) -> (output: list(T))",
          "T: list(type) >= 0; cond: func; body: func; output_shapes: list(shape) = []; "
          "parallel_iterations: int = 10",
          {stateful});
  ops.Add("StatelessWhile(input: list(T)) -> (output: list(T))",
          "T: list(type) >= 0; cond: func; body: func; output_shapes: list(shape) = []; "
          "parallel_iterations: int = 10");
  ops.Add("Case(branch_index: int32, input: list(Tin)) -> (output: list(Tout))",
          "Tin: list(type) >= 0; Tout: list(type) >= 0; branches: list(func) >= 1; output_shapes: "
          "list(shape) = []",
          {stateful});
  ops.Add("StatelessCase(branch_index: int32, input: list(Tin)) -> (output: list(Tout))",
          "Tin: list(type) >= 0; Tout: list(type) >= 0; branches: list(func) >= 1; output_shapes: "
          "list(shape) = []");
  ops.Add("For(start: int32, limit: int32, delta: int32, input: list(T)) -> (output: list(T))",
          "T: list(type) >= 0; body: func");
  ops.Add("RemoteCall(target: string, args: list(Tin)) -> (output: list(Tout))",
          "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func", {stateful});
  ops.Add("SymbolicGradient(input: list(Tin)) -> (output: list(Tout))",
          "Tin: list(type) >= 1; Tout: list(type) >= 1; f: func");
  ops.Add("FakeParam() -> (output: dtype)", "dtype: type; shape: shape");
  ops.Add("DeviceIndex() -> (index: int32)", "device_names: list(string)", {stateful});
}

}  // namespace carillon
