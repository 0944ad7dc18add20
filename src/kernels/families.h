// The families of kernels: one function each, in ref/FAMILY*.cc and cpu/FAMILY*.cc.
#pragma once

namespace carillon {

class KernelTable;

void AddArrayReferenceKernels(KernelTable& table);
void AddMathReferenceKernels(KernelTable& table);
void AddNnReferenceKernels(KernelTable& table);
void AddRandomReferenceKernels(KernelTable& table);
void AddStateReferenceKernels(KernelTable& table);
void AddTrainingReferenceKernels(KernelTable& table);
void AddControlFlowReferenceKernels(KernelTable& table);
void AddTransferReferenceKernels(KernelTable& table);
void AddQueueReferenceKernels(KernelTable& table);
void AddAccumulatorReferenceKernels(KernelTable& table);
void AddListReferenceKernels(KernelTable& table);
void AddStagingReferenceKernels(KernelTable& table);
void AddTableReferenceKernels(KernelTable& table);
void AddStringReferenceKernels(KernelTable& table);
void AddParsingReferenceKernels(KernelTable& table);
void AddFileReferenceKernels(KernelTable& table);
void AddImageReferenceKernels(KernelTable& table);
void AddCheckpointReferenceKernels(KernelTable& table);
void AddSummaryReferenceKernels(KernelTable& table);
void AddFunctionReferenceKernels(KernelTable& table);
void AddDatasetReferenceKernels(KernelTable& table);
void AddMathCpuKernels(KernelTable& table);
void AddNnCpuKernels(KernelTable& table);

}  // namespace carillon
