#include "runtime/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "tensor/allocator.h"
#include "tensor/bytes_of_tensor.h"

namespace carillon {
namespace {

// What is larger than any memory. Values and arenas of that size are only asked for, and refused.
constexpr size_t kTooLarge = size_t{1} << 60;

size_t RoundUp(size_t bytes) {
  if (bytes >= kTooLarge) return kTooLarge;
  return (std::max<size_t>(bytes, 1) + kTensorAlignment - 1) & ~(kTensorAlignment - 1);
}

// A simulated heap: best fit, neighbours merged, grown at the end. Once it is too large, it stays
// so, and its offsets mean nothing.
class Arena {
 public:
  int64_t Allocate(size_t bytes) {
    if (bytes >= kTooLarge - size_) size_ = kTooLarge;
    if (size_ == kTooLarge) return 0;
    auto best = free_.end();
    for (auto block = free_.begin(); block != free_.end(); ++block) {
      if (block->second >= bytes && (best == free_.end() || block->second < best->second))
        best = block;
    }
    if (best == free_.end()) {
      // Grow; a free block at the very end is part of the new one.
      int64_t offset = static_cast<int64_t>(size_);
      if (!free_.empty()) {
        const auto last = std::prev(free_.end());
        if (last->first + static_cast<int64_t>(last->second) == offset) {
          offset = last->first;
          free_.erase(last);
        }
      }
      size_ = static_cast<size_t>(offset) + bytes;
      return offset;
    }
    const int64_t offset = best->first;
    const size_t left = best->second - bytes;
    free_.erase(best);
    if (left > 0) free_.emplace(offset + static_cast<int64_t>(bytes), left);
    return offset;
  }

  void Free(int64_t offset, size_t bytes) {
    if (size_ == kTooLarge) return;
    auto block = free_.emplace(offset, bytes).first;
    if (const auto next = std::next(block);
        next != free_.end() && offset + static_cast<int64_t>(bytes) == next->first) {
      block->second += next->second;
      free_.erase(next);
    }
    if (block != free_.begin()) {
      const auto previous = std::prev(block);
      if (previous->first + static_cast<int64_t>(previous->second) == block->first) {
        previous->second += block->second;
        free_.erase(block);
      }
    }
  }

  size_t size() const { return size_; }

 private:
  std::map<int64_t, size_t> free_;  // offset → bytes
  size_t size_ = 0;
};

class Planner {
 public:
  explicit Planner(Program* program) : program_(*program), group_(program->slots.size()) {
    std::iota(group_.begin(), group_.end(), 0);
  }

  void Plan() {
    FindGroups();
    FindLifetimes();
    Place();
  }

 private:
  struct Group {
    int last_use = -1;      // instruction
    bool plannable = true;  // every member is
    size_t bytes = 0;
    std::optional<int64_t> offset;
  };

  int Root(int slot) {
    while (group_[Index(slot)] != slot)
      slot = group_[Index(slot)] = group_[Index(group_[Index(slot)])];
    return slot;
  }
  static size_t Index(int i) { return static_cast<size_t>(i); }

  void FindGroups() {
    for (const Instruction& instruction : program_.instructions) {
      if (instruction.kernel == nullptr) continue;
      for (const auto& [input, output] : instruction.kernel->traits().aliases) {
        group_[Index(Root(instruction.outputs[Index(output)]))] =
            Root(instruction.inputs[Index(input)]);
      }
    }
    groups_.resize(program_.slots.size());
    std::vector<bool> made(program_.slots.size(), false);
    for (const Instruction& instruction : program_.instructions) {
      for (const int slot : instruction.outputs) made[Index(slot)] = true;
    }
    // What is sent to another part of the step is kept until it is there: a copy of planned memory
    // would have to be made for it.
    for (const Instruction& instruction : program_.instructions) {
      if (instruction.node == nullptr || instruction.node->op() != "_Send") continue;
      for (const int slot : instruction.inputs) groups_[Index(Root(slot))].plannable = false;
    }
    for (size_t i = 0; i < program_.slots.size(); ++i) {
      Slot& slot = program_.slots[i];
      Group& group = groups_[Index(Root(static_cast<int>(i)))];
      Shape shape;
      if (!made[i] || !IsPlainData(slot.dtype) || !slot.shape.AsShape(&shape)) {
        group.plannable = false;
        continue;
      }
      slot.bytes = slot.layout != nullptr ? slot.layout->bytes() : BytesOfTensor(slot.dtype, shape);
      group.bytes = std::max(group.bytes, RoundUp(slot.bytes));
    }
    for (const int slot : program_.fetches) groups_[Index(Root(slot))].plannable = false;
  }

  void FindLifetimes() {
    for (int i = 0; i < static_cast<int>(program_.instructions.size()); ++i) {
      const Instruction& instruction = program_.instructions[Index(i)];
      for (const int slot : instruction.inputs) groups_[Index(Root(slot))].last_use = i;
      for (const int slot : instruction.outputs) {
        Group& group = groups_[Index(Root(slot))];
        group.last_use = std::max(group.last_use, i);
      }
    }
    for (const int slot : program_.fetches)
      groups_[Index(Root(slot))].last_use = static_cast<int>(program_.instructions.size());
    // A slot is emptied after its own last reader; an input "dies" when nothing reads its memory
    // again.
    std::vector<int> last_reader(program_.slots.size(), -1);
    for (int i = 0; i < static_cast<int>(program_.instructions.size()); ++i) {
      Instruction& instruction = program_.instructions[Index(i)];
      instruction.input_dies = std::make_unique<bool[]>(instruction.inputs.size());
      for (const int slot : instruction.inputs) last_reader[Index(slot)] = i;
      for (const int slot : instruction.outputs)
        last_reader[Index(slot)] = std::max(last_reader[Index(slot)], i);
    }
    for (const int slot : program_.fetches)
      last_reader[Index(slot)] = static_cast<int>(program_.instructions.size());
    for (const auto& [slot, value] : program_.constants)
      last_reader[Index(slot)] = static_cast<int>(program_.instructions.size());
    for (int slot = 0; slot < static_cast<int>(program_.slots.size()); ++slot) {
      const int last = last_reader[Index(slot)];
      if (last < 0 || last >= static_cast<int>(program_.instructions.size())) continue;
      Instruction& instruction = program_.instructions[Index(last)];
      if (!groups_[Index(Root(slot))].plannable) instruction.release.push_back(slot);
    }
    std::vector<int> uses(program_.slots.size(), 0);  // by one instruction
    for (int i = 0; i < static_cast<int>(program_.instructions.size()); ++i) {
      Instruction& instruction = program_.instructions[Index(i)];
      for (const int slot : instruction.inputs) ++uses[Index(slot)];
      for (size_t k = 0; k < instruction.inputs.size(); ++k) {
        const int slot = instruction.inputs[k];
        const bool twice = uses[Index(slot)] > 1;
        instruction.input_dies[k] =
            !twice && last_reader[Index(slot)] == i && groups_[Index(Root(slot))].last_use == i;
      }
      for (const int slot : instruction.inputs) uses[Index(slot)] = 0;
    }
  }

  void Place() {
    std::vector<std::vector<int>> dies(program_.instructions.size());
    for (int slot = 0; slot < static_cast<int>(groups_.size()); ++slot) {
      const Group& group = groups_[Index(slot)];
      if (Root(slot) == slot && group.plannable && group.last_use >= 0)
        dies[Index(group.last_use)].push_back(slot);
    }
    for (int i = 0; i < static_cast<int>(program_.instructions.size()); ++i) {
      Instruction& instruction = program_.instructions[Index(i)];
      for (int k = 0; k < static_cast<int>(instruction.outputs.size()); ++k) {
        Group& group = groups_[Index(Root(instruction.outputs[Index(k)]))];
        if (!group.plannable || group.offset.has_value()) continue;
        if (!TakeOver(instruction, i, k, &group)) group.offset = arena_.Allocate(group.bytes);
      }
      if (instruction.kernel != nullptr && instruction.kernel->traits().scratch_bytes > 0) {
        const size_t bytes = RoundUp(instruction.kernel->traits().scratch_bytes);
        instruction.scratch_offset = arena_.Allocate(bytes);
        arena_.Free(instruction.scratch_offset, bytes);
      }
      for (const int root : dies[Index(i)]) {
        Group& group = groups_[Index(root)];
        if (group.offset.has_value() && !taken_over_[root]) arena_.Free(*group.offset, group.bytes);
      }
    }
    for (int slot = 0; slot < static_cast<int>(program_.slots.size()); ++slot) {
      const Group& group = groups_[Index(Root(slot))];
      if (group.plannable && group.offset.has_value())
        program_.slots[Index(slot)].offset = *group.offset;
    }
    program_.arena_bytes = arena_.size();
  }

  // The output's group moves into the place of a dying input's, when the kernel allows that and the
  // sizes agree.
  bool TakeOver(const Instruction& instruction, int i, int output, Group* group) {
    for (const auto& [from, to] : instruction.kernel->traits().reuses) {
      if (to != output) continue;
      const int slot = instruction.inputs[Index(from)];
      const int root = Root(slot);
      const Group& dying = groups_[Index(root)];
      if (!dying.plannable || !dying.offset.has_value() || taken_over_[root] ||
          dying.last_use != i || dying.bytes != group->bytes)
        continue;
      // The rounded sizes of two groups may agree where those of the values do not.
      if (program_.slots[Index(slot)].bytes !=
          program_.slots[Index(instruction.outputs[Index(output)])].bytes)
        continue;
      if (std::ranges::count_if(instruction.inputs,
                                [&](int other) { return Root(other) == root; }) > 1)
        continue;
      group->offset = dying.offset;
      taken_over_[root] = true;
      return true;
    }
    return false;
  }

  Program& program_;
  std::vector<int> group_;  // union-find over slots
  std::vector<Group> groups_;
  std::map<int, bool> taken_over_;
  Arena arena_;
};

}  // namespace

void PlanMemory(Program* program) { Planner(program).Plan(); }

}  // namespace carillon
