#include "runtime/memory_plan.h"

#include <gtest/gtest.h>
#include <random>

namespace carillon {
namespace {

class FakeKernel final : public Kernel {
 public:
  explicit FakeKernel(KernelTraits traits) { traits_ = std::move(traits); }
  Status Run(KernelContext&) override { return absl::OkStatus(); }
};

int AddSlot(Program* program, int64_t floats) {
  program->slots.push_back({.dtype = kFloat, .shape = Shape{floats}});
  return static_cast<int>(program->slots.size()) - 1;
}

int AddInstruction(Program* program, std::vector<int> inputs, int64_t floats,
                   KernelTraits traits = {}) {
  const int output = AddSlot(program, floats);
  Instruction instruction;
  instruction.kernel = std::make_unique<FakeKernel>(std::move(traits));
  instruction.inputs = std::move(inputs);
  instruction.outputs = {output};
  program->instructions.push_back(std::move(instruction));
  return output;
}

TEST(MemoryPlan, DeadValuesMakeRoom) {
  Program program;
  const int x = AddSlot(&program, 1000);
  program.feeds = {x};
  const int a = AddInstruction(&program, {x}, 1000);
  const int b = AddInstruction(&program, {a}, 1000);
  const int c = AddInstruction(&program, {b}, 1000);
  program.fetches = {AddInstruction(&program, {c}, 1000)};
  PlanMemory(&program);
  EXPECT_EQ(program.slots[0].offset, Slot::kNotPlanned) << "a feed has its own memory";
  EXPECT_NE(program.slots[static_cast<size_t>(a)].offset,
            program.slots[static_cast<size_t>(b)].offset);
  EXPECT_EQ(program.slots[static_cast<size_t>(a)].offset,
            program.slots[static_cast<size_t>(c)].offset);
  EXPECT_EQ(program.slots[static_cast<size_t>(program.fetches[0])].offset, Slot::kNotPlanned)
      << "a fetch leaves the step";
  EXPECT_EQ(program.arena_bytes, 2 * 4032u);
}

TEST(MemoryPlan, AnOutputTakesOverADyingInputOnly) {
  Program program;
  const KernelTraits in_place{.reuses = {{0, 0}}};
  const int x = AddSlot(&program, 100);
  program.feeds = {x};
  const int a = AddInstruction(&program, {x}, 100, in_place);
  const int b = AddInstruction(&program, {a}, 100, in_place);  // a is needed again
  const int c = AddInstruction(&program, {b}, 100, in_place);  // b is not
  program.fetches = {AddInstruction(&program, {a, c}, 1)};
  PlanMemory(&program);
  const auto offset = [&](int slot) { return program.slots[static_cast<size_t>(slot)].offset; };
  EXPECT_NE(offset(a), offset(b));
  EXPECT_EQ(offset(b), offset(c));
  EXPECT_FALSE(program.instructions[1].input_dies[0]);
  EXPECT_TRUE(program.instructions[2].input_dies[0]);
}

TEST(MemoryPlan, AnOutputTakesOverNoInputOfAnotherSize) {
  Program program;
  const int x = AddSlot(&program, 1);
  program.feeds = {x};
  const int scalar = AddInstruction(&program, {x}, 1);
  const int spread = AddInstruction(&program, {scalar}, 3, {.reuses = {{0, 0}}});
  program.fetches = {AddInstruction(&program, {spread}, 1)};
  PlanMemory(&program);
  EXPECT_NE(program.slots[static_cast<size_t>(scalar)].offset,
            program.slots[static_cast<size_t>(spread)].offset);
}

TEST(MemoryPlan, AnAliasKeepsItsSourceAlive) {
  Program program;
  const int x = AddSlot(&program, 10);
  program.feeds = {x};
  const int a = AddInstruction(&program, {x}, 100);
  const int view = AddInstruction(&program, {a}, 100, {.aliases = {{0, 0}}});
  const int b = AddInstruction(&program, {x}, 100);
  program.fetches = {AddInstruction(&program, {view, b}, 1)};
  PlanMemory(&program);
  EXPECT_EQ(program.slots[static_cast<size_t>(a)].offset,
            program.slots[static_cast<size_t>(view)].offset);
  EXPECT_NE(program.slots[static_cast<size_t>(a)].offset,
            program.slots[static_cast<size_t>(b)].offset);
}

TEST(MemoryPlan, WhatAnAliasFetchesIsNotPlanned) {
  Program program;
  const int x = AddSlot(&program, 10);
  program.feeds = {x};
  const int a = AddInstruction(&program, {x}, 100);
  program.fetches = {AddInstruction(&program, {a}, 100, {.aliases = {{0, 0}}})};
  PlanMemory(&program);
  EXPECT_EQ(program.slots[static_cast<size_t>(a)].offset, Slot::kNotPlanned);
}

// Random programs: no two values that live at the same time overlap.
TEST(MemoryPlan, LiveValuesNeverOverlap) {
  const uint32_t seed = 20;
  std::mt19937 random(seed);
  SCOPED_TRACE(seed);
  for (int round = 0; round < 200; ++round) {
    Program program;
    const int x = AddSlot(&program, 10);
    program.feeds = {x};
    std::vector<int> values = {x};
    for (int i = 0; i < 30; ++i) {
      std::vector<int> inputs = {values[random() % values.size()],
                                 values[random() % values.size()]};
      KernelTraits traits;
      if (random() % 3 == 0) traits.reuses = {{0, 0}, {1, 0}};
      if (random() % 4 == 0) traits.scratch_bytes = random() % 500;
      values.push_back(AddInstruction(&program, inputs, 1 + random() % 3 * 50, traits));
    }
    program.fetches = {values.back()};
    PlanMemory(&program);
    const int n = static_cast<int>(program.instructions.size());
    std::vector<int> born(program.slots.size(), -1), dies(program.slots.size(), -1);
    for (int i = 0; i < n; ++i) {
      for (const int slot : program.instructions[static_cast<size_t>(i)].outputs)
        born[static_cast<size_t>(slot)] = dies[static_cast<size_t>(slot)] = i;
      for (const int slot : program.instructions[static_cast<size_t>(i)].inputs)
        dies[static_cast<size_t>(slot)] = i;
    }
    for (size_t a = 0; a < program.slots.size(); ++a) {
      for (size_t b = a + 1; b < program.slots.size(); ++b) {
        const Slot &s = program.slots[a], &t = program.slots[b];
        if (s.offset < 0 || t.offset < 0) continue;
        // Touching lifetimes (one dies where the other is born) may share only through `reuses`.
        const bool together = born[a] < dies[b] && born[b] < dies[a];
        const bool apart = s.offset + static_cast<int64_t>(s.bytes) <= t.offset ||
                           t.offset + static_cast<int64_t>(t.bytes) <= s.offset;
        ASSERT_TRUE(!together || apart) << "round " << round << ": slots " << a << " and " << b;
      }
    }
  }
}

TEST(MemoryPlan, WhatIsLargerThanAnyMemoryIsNotMadeSmaller) {
  // One value whose bytes do not fit a number, and several that do not together.
  for (const int64_t floats : {int64_t{1} << 62, (int64_t{1} << 60) + 1024, int64_t{1} << 59}) {
    Program program;
    const int x = AddSlot(&program, 1000);
    program.feeds = {x};
    std::vector<int> values;
    for (int i = 0; i < 8; ++i) values.push_back(AddInstruction(&program, {x}, floats));
    program.fetches = {AddInstruction(&program, values, 1)};
    PlanMemory(&program);
    EXPECT_GE(program.arena_bytes, size_t{1} << 60) << floats;
  }
}

}  // namespace
}  // namespace carillon
