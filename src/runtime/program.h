// Program: a specialised graph, ready to run: kernels chosen, layouts settled, memory planned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/node_graph.h"
#include "kernels/kernel.h"

namespace carillon {

// A value of a step lives in a slot: a Tensor in an array that the step owns.
struct Slot {
  DType dtype = DType::kInvalid;
  PartialShape shape;
  Layout layout;
  std::string name;  // "conv1:0", for messages and traces
  // Planned memory: offset into the step's arena; kNotPlanned: allocated when the kernel runs, or
  // not made by a kernel.
  static constexpr int64_t kNotPlanned = -1;
  int64_t offset = kNotPlanned;
  size_t bytes = 0;
};

// One kernel run. Slots are indices into Program::slots.
struct Instruction {
  const Node* node = nullptr;  // of the program's graph; of a reorder: its consumer
  std::unique_ptr<Kernel>
      kernel;  // null: nothing to do (NoOp and the like, kept for its control edges)
  std::string_view kernel_name;  // "ref", "onednn", …
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::unique_ptr<bool[]>
      input_dies;  // for each input: no later instruction reads it (straight-line programs only)
  std::vector<int> release;  // slots to empty afterwards (straight-line programs only)
  int64_t scratch_offset = Slot::kNotPlanned;
  bool takes_long = false;  // as far as can be known: it reads or makes much, or who knows what
  bool makes_text = false;  // an output is of strings, whose memory is counted after the run
  // Positions of instructions that must run before this one though it reads nothing of theirs.
  std::vector<int> control_inputs;
};

struct Program {
  std::unique_ptr<NodeGraph> graph;  // what the nodes of the instructions belong to
  // Producers before consumers (edges out of NextIteration apart).
  std::vector<Instruction> instructions;
  std::vector<Slot> slots;
  std::vector<std::pair<int, Tensor>> constants;  // slots that hold the same tensor in every step
  std::vector<int> feeds;    // slot of each feed, by position; -1 when nothing reads it
  std::vector<int> fetches;  // slot of each fetch
  size_t arena_bytes = 0;
  // No control flow and nothing that waits: the instructions run in order, on one thread, with
  // planned memory. Otherwise the dataflow executor runs them as their inputs arrive.
  bool straight_line = true;

  // One line an instruction: what runs, which kernel, where its outputs lie.
  std::string ToString() const;
};

}  // namespace carillon
