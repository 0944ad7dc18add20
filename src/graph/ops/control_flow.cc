// Specs of the ops for conditionals, loops, assertions.
#include "graph/op_spec.h"
#include "graph/shape_context.h"

namespace carillon {

void AddControlFlowOps(OpTable& ops) {
  ops.Add("NoOp() -> ()", "");
  ops.Add("Switch(data: T, pred: bool) -> (output_false: T, output_true: T)", "T: type");
  ops.Add("RefSwitch(data: ref(T), pred: bool) -> (output_false: ref(T), output_true: ref(T))",
          "T: type", {uninitialized_ok});
  ops.Add("Merge(inputs: N * T) -> (output: T, value_index: int32)", "T: type; N: int >= 1");
  ops.Add("RefMerge(inputs: N * ref(T)) -> (output: ref(T), value_index: int32)",
          "T: type; N: int >= 1");
  ops.Add("Enter(data: T) -> (output: T)",
          "T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10");
  ops.Add("RefEnter(data: ref(T)) -> (output: ref(T))",
          "T: type; frame_name: string; is_constant: bool = false; parallel_iterations: int = 10");
  ops.Add("Exit(data: T) -> (output: T)", "T: type");
  ops.Add("RefExit(data: ref(T)) -> (output: ref(T))", "T: type");
  ops.Add("NextIteration(data: T) -> (output: T)", "T: type");
  ops.Add("RefNextIteration(data: ref(T)) -> (output: ref(T))", "T: type");
  ops.Add("LoopCond(input: bool) -> (output: bool)", "");
  ops.Add("ControlTrigger() -> ()", "");
  ops.Add("Abort() -> ()", "error_msg: string = ''; exit_without_error: bool = false");
  ops.Add("Assert(condition: bool, data: list(T)) -> ()", "T: list(type) >= 1; summarize: int = 3",
          {stateful});
  ops.Add(
      "Print(input: T, data: list(U)) -> (output: T)",
      "T: type; U: list(type) >= 0; message: string = ''; first_n: int = -1; summarize: int = 3",
      {stateful});
  ops.Add("PrintV2(input: string) -> ()", "output_stream: string = 'stderr'; end: string = '\n'",
          {stateful});
  ops.Add("StringFormat(inputs: list(T)) -> (output: string)",
          "T: list(type) >= 0; template: string = '%s'; placeholder: string = '%s'; summarize: int "
          "= 3");
}

}  // namespace carillon
