// Lays the values of a straight-line program out in one arena.
#pragma once

#include "runtime/program.h"

namespace carillon {

// Fills in Slot::offset/bytes, Instruction::scratch_offset, input_dies, release, and
// Program::arena_bytes. A slot is planned when its size is known, its elements are plain data, a
// kernel makes it, and it does not leave the step. Values that share memory (traits().aliases) live
// as long as the longest of them; an output takes over a dying input's place where the kernel says
// that it may (traits().reuses).
void PlanMemory(Program* program);

}  // namespace carillon
