#include "kernels/reader.h"

#include <gtest/gtest.h>

#include "base/env.h"
#include "base/strings.h"
#include "kernels/test_cancellation.h"

namespace carillon {
namespace {

using absl::StatusCode;
using Strings = std::vector<std::string>;

struct Outcome {
  bool over = false;
  Status status;
  Strings keys, values;
};

// Without background threads: everything happens on the thread of the test.
class ReaderTest : public ::testing::Test {
 protected:
  std::string File(const std::string& name, const std::string& content) {
    const std::string path = JoinPath(::testing::TempDir(), StrCat("reader_test_", name));
    EXPECT_EQ(PosixEnv().WriteFile(path, content), absl::OkStatus());
    return path;
  }
  void Enqueue(const Strings& files) {
    std::vector<QueueTuple> tuples;
    for (const std::string& file : files) tuples.push_back({Tensor::Scalar(file)});
    queue_->Enqueue(std::move(tuples), nullptr, [](const Status&) {});
  }
  void Close() {
    queue_->Close(false, nullptr, [](const Status&) {});
  }
  std::shared_ptr<Outcome> Read(Reader& reader, int64_t most = 1) {
    auto outcome = std::make_shared<Outcome>();
    reader.Read(queue_, most, services_,
                [outcome](const Status& status, const std::vector<Reader::Record>& records) {
                  EXPECT_FALSE(outcome->over) << "told twice";
                  outcome->over = true;
                  outcome->status = status;
                  for (const Reader::Record& record : records) {
                    outcome->keys.push_back(record.key);
                    outcome->values.push_back(record.value);
                  }
                });
    return outcome;
  }
  static std::shared_ptr<Reader> Lines() {
    return std::make_shared<FormatReader>(std::make_shared<TextLines>(),
                                          ByteStream::Packing::kNone);
  }

  const std::shared_ptr<Queue> queue_ =
      std::make_shared<Queue>(QueueOptions{.name = "files", .types = {DType::kString}});
  TestCancellation cancellation_;
  const StepServices services_{.cancellation = &cancellation_};
};

TEST_F(ReaderTest, GoesFromFileToFile) {
  const std::string a = File("a", "1\n2\n"), empty = File("empty", ""), b = File("b", "3");
  const auto reader = Lines();
  Enqueue({a, empty, b});
  Close();
  EXPECT_EQ(Read(*reader)->keys, Strings{a + ":1"});
  EXPECT_EQ(Read(*reader, 5)->values, Strings{"2"}) << "all of one file";
  EXPECT_EQ(reader->files_finished(), 1);
  EXPECT_EQ(Read(*reader, 5)->keys, Strings{b + ":1"});
  EXPECT_EQ(reader->files_finished(), 3);
  EXPECT_EQ(Read(*reader)->status.code(), StatusCode::kOutOfRange);
  EXPECT_EQ(reader->records_produced(), 3);
}

TEST_F(ReaderTest, ServesReadsInTurn) {
  const auto reader = Lines();
  const auto first = Read(*reader), second = Read(*reader, 2), third = Read(*reader);
  EXPECT_FALSE(first->over || second->over || third->over);
  const std::string a = File("a", "1\n2\n3\n4\n");
  Enqueue({a});
  EXPECT_EQ(queue_->Size(), 0) << "one file serves all";
  EXPECT_EQ(first->values, Strings{"1"});
  EXPECT_EQ(second->values, (Strings{"2", "3"}));
  EXPECT_EQ(third->values, Strings{"4"});
  EXPECT_EQ(cancellation_.registered(), 0u);
}

TEST_F(ReaderTest, CanBeCancelledWhileItWaits) {
  const auto reader = Lines();
  const auto first = Read(*reader), second = Read(*reader);
  cancellation_.Cancel();
  EXPECT_EQ(first->status.code(), StatusCode::kCancelled);
  EXPECT_EQ(second->status.code(), StatusCode::kCancelled);
  Enqueue({File("a", "1")});
  EXPECT_EQ(queue_->Size(), 1) << "no waiter is left behind";
}

TEST_F(ReaderTest, StaysWithAFileThatIsBroken) {
  const auto reader =
      std::make_shared<FormatReader>(std::make_shared<TfRecords>(), ByteStream::Packing::kNone);
  Enqueue({File("broken", "these bytes are no record"), File("a", "")});
  EXPECT_EQ(Read(*reader)->status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(Read(*reader)->status.code(), StatusCode::kDataLoss);
  reader->Reset();
  Close();
  EXPECT_EQ(Read(*reader)->status.code(), StatusCode::kOutOfRange);
  EXPECT_EQ(reader->files_finished(), 1) << "since the reset";
}

TEST_F(ReaderTest, DropsAFileThatCannotBeOpened) {
  const auto reader = Lines();
  Enqueue({"/nowhere/at all", File("a", "1")});
  EXPECT_EQ(Read(*reader)->status.code(), StatusCode::kNotFound);
  EXPECT_EQ(Read(*reader)->values, Strings{"1"});
}

TEST_F(ReaderTest, CanBeResetWhileAReadWaits) {
  const auto reader = Lines();
  const auto waiting = Read(*reader);
  reader->Reset();
  Enqueue({File("a", "1")});
  EXPECT_EQ(waiting->values, Strings{"1"});
  EXPECT_EQ(reader->records_produced(), 1);
}

TEST_F(ReaderTest, GivesAndTakesItsState) {
  const auto reader = std::make_shared<ItemReader>(ItemReader::Value::kName);
  Enqueue({"a", "b"});
  Read(*reader);
  const auto other = std::make_shared<ItemReader>(ItemReader::Value::kName);
  ASSERT_EQ(other->RestoreState(*reader->SerializeState()), absl::OkStatus());
  EXPECT_EQ(Read(*other)->keys, Strings{"b"});
  EXPECT_EQ(other->records_produced(), 2);
  EXPECT_EQ(other->RestoreState("\xff\xff").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Lines()->SerializeState().status().code(), StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace carillon
