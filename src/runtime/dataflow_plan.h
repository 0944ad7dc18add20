// What the dataflow executor knows of a program before a step runs: who waits for whom, in which
// frame.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/program.h"

namespace carillon {

struct DataflowPlan {
  enum class Kind : uint8_t {
    kKernel,       // runs a kernel
    kAsyncKernel,  // starts one that reports back
    kNothing,      // only orders others
    kSend,         // a kernel that runs even when its input is dead, and says so at the other end
    kReceive,      // a kernel that waits, and is dead when what it gets is
    kTrigger,      // the same, and alive even when what it waits for is dead
    kForward,      // hands its input on
    kSwitch,
    kMerge,
    kEnter,          // hands its input on into a new frame
    kConstantEnter,  // the same, into all iterations
    kExit,           // hands its input on out of its frame
    kNextIteration,  // hands its input on to the next iteration
  };

  // Somebody who waits for a node or a value.
  struct Consumer {
    int node;
    int input;  // -1: it only waits
  };

  struct Node {
    const Instruction* instruction = nullptr;
    Kind kind = Kind::kKernel;
    int frame = 0;             // that it runs in
    int local = 0;             // its place among the nodes of that frame
    int pointers = 0;          // its place in Iteration::pointers: inputs, then outputs
    int enters = -1;           // of an Enter: which of its frame's children
    int invariant = -1;        // of a constant Enter: which of the entered frame's invariants
    bool has_layouts = false;  // some outputs are not plain, so their size is not that of the shape
    std::vector<Consumer> control_consumers;  // in the frame that its outputs appear in
  };

  struct Value {
    int frame = 0;  // that it appears in
    int local = 0;  // its place among the values of that frame
    std::vector<Consumer> consumers;
  };

  // What a node waits for, in one iteration.
  struct Waiting {
    int32_t count = 0;        // of inputs and control inputs; of a Merge: of control inputs only
    int32_t dead_inputs = 0;  // that have arrived
    int32_t live_input = -1;  // of a Merge: the first that has arrived
    bool fired = false;       // of a Merge
  };

  struct FrameInfo {
    std::string name;
    int parent = -1;
    int parallel_iterations = 1;
    int num_enters = 0;
    int num_pointers = 0;
    int place_in_parent = 0;      // among its children
    std::vector<int> children;    // frames
    std::vector<int> nodes;       // by local place
    std::vector<int> invariants;  // the constant Enters into it
    // How every iteration starts: what each node waits for; how often each value is read
    // (kKeep: it stays).
    std::vector<Waiting> waiting;
    std::vector<int32_t> uses;
  };
  static constexpr int32_t kKeep = INT32_MAX;

  // InvalidArgument when loops are malformed or a fetch is inside one.
  static StatusOr<DataflowPlan> Make(const Program& program);

  std::vector<Node> nodes;    // one for each instruction
  std::vector<Value> values;  // one for each slot
  std::vector<FrameInfo> frames;
  std::vector<int> roots;  // nodes of frame 0 that wait for nothing
};

}  // namespace carillon
