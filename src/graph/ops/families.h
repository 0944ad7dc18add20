// The families of ops: one function each, in ops/FAMILY.cc.
#pragma once

namespace carillon {

class OpTable;

void AddArrayOps(OpTable& ops);
void AddMathOps(OpTable& ops);
void AddNnOps(OpTable& ops);
void AddRandomOps(OpTable& ops);
void AddStateOps(OpTable& ops);
void AddTrainingOps(OpTable& ops);
void AddControlFlowOps(OpTable& ops);
void AddQueueOps(OpTable& ops);
void AddAccumulatorOps(OpTable& ops);
void AddListOps(OpTable& ops);
void AddStagingOps(OpTable& ops);
void AddTableOps(OpTable& ops);
void AddStringOps(OpTable& ops);
void AddParsingOps(OpTable& ops);
void AddFileOps(OpTable& ops);
void AddImageOps(OpTable& ops);
void AddCheckpointOps(OpTable& ops);
void AddSummaryOps(OpTable& ops);
void AddFunctionOps(OpTable& ops);
void AddDatasetOps(OpTable& ops);
void AddInternalOps(OpTable& ops);  // names start with '_': made by passes, never by users

}  // namespace carillon
