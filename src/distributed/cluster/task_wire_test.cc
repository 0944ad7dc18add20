#include "distributed/cluster/task_wire.h"

#include <gtest/gtest.h>
#include <random>

#include "own_process.h"
#include "tensor/limited_allocator.h"

namespace carillon {
namespace {

StatusOr<std::vector<TaskMessage>> Read(const std::string& bytes) {
  CodedInput in(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  in.SetTotalBytesLimit(INT32_MAX);
  std::vector<TaskMessage> messages;
  CARILLON_RETURN_IF_ERROR(ReadTaskMessages(
      &in, HostAllocator(), [&](TaskMessage message) { messages.push_back(std::move(message)); }));
  return messages;
}

std::vector<TaskMessage> Examples() {
  TaskProgram program;
  program.parts.push_back({"/job:ps/task:0/device:CPU:0", "a graph", {0, 2}, {1}});
  program.parts.push_back({"/job:ps/task:0/device:GPU:0", "another", {}, {0}});
  program.destinations = {{"edge 1", "/job:worker/task:0"}, {"edge 0", "/job:worker/task:1"}};
  program.exact = true;
  return {RegisterProgram{7, "session", true, true, 1 << 20, program},
          StartStep{7, UINT64_MAX, {{0, Tensor::Scalar(1.5f)}, {2, Tensor::Scalar(true)}}},
          Deliver{8, "edge 0;3", Tensor(DType::kFloat, Shape{1000, 50}), false},
          Deliver{8, "edge 1", Tensor(), true},
          Deliver{8, "text", Tensor::FromVector<std::string>({"a", "", "ccc"}), false},
          AbortStep{8, absl::AbortedError("no")},
          EndSession{"session"},
          ProgramRegistered{7, absl::OkStatus()},
          StepDone{8, absl::NotFoundError("nothing"), {}},
          StepDone{8, absl::OkStatus(), {{1, Tensor(DType::kInt64, Shape{0})}}, "times"},
          StartStep{7, 9, {}, true},
          ReleaseProgram{7}};
}

std::string Bytes(const std::vector<TaskMessage>& messages) {
  MessagePieces pieces;
  for (const TaskMessage& message : messages) AddTaskMessage(message, &pieces);
  return pieces.Flatten();
}

TEST(TaskWire, ComesBackAsItWas) {
  const std::vector<TaskMessage> sent = Examples();
  const auto got = Read(Bytes(sent));
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), sent.size());
  for (size_t i = 0; i < sent.size(); ++i) EXPECT_EQ((*got)[i].index(), sent[i].index());
  const auto& program = std::get<RegisterProgram>((*got)[0]);
  EXPECT_EQ(program.session, "session");
  EXPECT_TRUE(program.own_resources && program.is_known && program.task_program.exact &&
              program.task_program.optimize);
  EXPECT_EQ(program.memory_bytes, 1 << 20);
  ASSERT_EQ(program.task_program.parts.size(), 2);
  EXPECT_EQ(program.task_program.parts[0].feeds, (std::vector<int>{0, 2}));
  ASSERT_EQ(program.task_program.destinations.size(), 2) << "in their order";
  EXPECT_EQ(program.task_program.destinations[0].key, "edge 1");
  EXPECT_EQ(program.task_program.destinations[1].task, "/job:worker/task:1");
  const auto& start = std::get<StartStep>((*got)[1]);
  EXPECT_EQ(start.step, UINT64_MAX);
  EXPECT_EQ(start.feeds[1].first, 2);
  EXPECT_EQ(start.feeds[0].second.scalar<float>(), 1.5f);
  const auto& value = std::get<Deliver>((*got)[2]);
  EXPECT_EQ(value.key, "edge 0;3");
  EXPECT_EQ(value.value.shape(), (Shape{1000, 50}));
  EXPECT_TRUE(std::get<Deliver>((*got)[3]).is_dead);
  EXPECT_EQ(std::get<Deliver>((*got)[4]).value.values<std::string>()[2], "ccc");
  EXPECT_EQ(std::get<AbortStep>((*got)[5]).reason, absl::AbortedError("no"));
  EXPECT_EQ(std::get<StepDone>((*got)[8]).status, absl::NotFoundError("nothing"));
  EXPECT_EQ(std::get<StepDone>((*got)[9]).fetches[0].second.num_elements(), 0);
  EXPECT_EQ(std::get<StepDone>((*got)[9]).step_stats, "times");
  EXPECT_FALSE(start.trace);
  EXPECT_TRUE(std::get<StartStep>((*got)[10]).trace);
  EXPECT_EQ(std::get<ReleaseProgram>((*got)[11]).program, 7);
}

TEST(TaskWire, NothingIsNoMessage) {
  const auto got = Read("");
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(got->empty());
}

// Whatever comes is read or refused, and nothing is allocated for a size that is not there.
TEST(TaskWire, SurvivesEveryByte) {
  const std::string bytes = Bytes({Examples()[1], Examples()[3], Examples()[4], Examples()[5]});
  for (size_t length = 0; length < bytes.size(); ++length)
    Read(bytes.substr(0, length)).status().IgnoreError();
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = bytes;
    for (int k = 0; k < 3; ++k)
      damaged[random() % damaged.size()] = static_cast<char>(random() & 255);
    Read(damaged).status().IgnoreError();
  }
}

TEST(TaskWire, RefusesWhatDoesNotFitTogether) {
  const auto refused = [](const std::string& bytes) { return Read(bytes).status().code(); };
  MessagePieces tensor_first;
  tensor_first.AddTensor(2, Tensor::Scalar(1.0f));
  EXPECT_EQ(refused(tensor_first.Flatten()), absl::StatusCode::kInvalidArgument);
  const std::string end = Bytes({StartStep{1, 2, {{0, Tensor::Scalar(1.0f)}}}});
  MessagePieces extra;
  extra.AddTensor(2, Tensor::Scalar(1.0f));
  EXPECT_EQ(refused(end + extra.Flatten()), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused(Bytes({AbortStep{1, absl::OkStatus()}})), absl::StatusCode::kInvalidArgument);
}

// A tensor says that it has two billion bytes, and a few values of it have come.
TEST(TaskWire, TakesNoMoreThanHasCome) {
  std::string bytes = Bytes({Deliver{1, "edge", Tensor(), true}});
  bytes += std::string("\x12\x80\xa8\xd6\xb9\x07\x08\x01\x2a\x08", 10) + std::string(8, '\1');
  ResetPeakResidentBytes();
  const int64_t before = PeakResidentBytes();
  const auto nobody = [](TaskMessage) { ADD_FAILURE(); };
  EXPECT_FALSE(ReadTaskMessages(bytes, Tensor(), false, HostAllocator(), nobody).ok());
  EXPECT_LT(PeakResidentBytes() - before, 100 << 20);
}

// Values find no room where others of the same stream do.
TEST(TaskWire, ATensorWithoutRoomIsPassedOver) {
  MessagePieces pieces;
  AddTaskMessage(Deliver{8, "large", Tensor(DType::kFloat, Shape{1000, 50}), false}, &pieces);
  AddTaskMessage(StepDone{8, {}, {{0, Tensor(DType::kFloat, Shape{1000, 50})}}}, &pieces);
  AddTaskMessage(Deliver{9, "small", Tensor::Scalar(1.5f), false}, &pieces);
  const std::string bytes = pieces.Flatten();
  const std::shared_ptr<Allocator> allocator =
      MakeLimitedAllocator(std::shared_ptr<Allocator>(HostAllocator(), [](Allocator*) {}), 1 << 10);
  std::vector<TaskMessage> messages;
  const auto keep = [&](TaskMessage message) { messages.push_back(std::move(message)); };
  ASSERT_TRUE(ReadTaskMessages(bytes, Tensor(), false, allocator.get(), keep).ok());
  ASSERT_EQ(messages.size(), 3);
  EXPECT_FALSE(std::get<Deliver>(messages[0]).value.has_value());
  EXPECT_EQ(std::get<StepDone>(messages[1]).status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(std::get<Deliver>(messages[2]).value.scalar<float>(), 1.5f);
}

TEST(TaskWire, AFrameThatIsCutHasNoValue) {
  MessagePieces pieces;
  AddTaskMessage(Deliver{7, "small", Tensor::Scalar(1.5f), false}, &pieces);
  AddTaskMessage(Deliver{8, "large", Tensor(DType::kFloat, Shape{1000, 50}), false}, &pieces);
  ASSERT_EQ(pieces.pieces().size(), 2);
  const std::string& bytes = pieces.pieces()[0].bytes;
  std::vector<TaskMessage> messages;
  const auto keep = [&](TaskMessage message) { messages.push_back(std::move(message)); };
  ASSERT_TRUE(ReadTaskMessages(bytes, Tensor(), true, HostAllocator(), keep).ok());
  ASSERT_EQ(messages.size(), 2);
  EXPECT_TRUE(std::get<Deliver>(messages[0]).value.has_value());
  EXPECT_EQ(std::get<Deliver>(messages[1]).step, 8);
  EXPECT_FALSE(std::get<Deliver>(messages[1]).value.has_value());
  EXPECT_FALSE(ReadTaskMessages(bytes, Tensor(), false, HostAllocator(), keep).ok());
}

}  // namespace
}  // namespace carillon
