#include "carillon/summary_writer.h"

#include <gtest/gtest.h>

#include "carillon/carillon.h"
#include "checkpoint/record.h"
#include "proto/event.pb.h"

namespace carillon {
namespace {

std::vector<tensorflow::Event> Events(const std::string& path) {
  auto reader = RecordReader::Open(PosixEnv(), path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  std::vector<tensorflow::Event> events;
  std::string record;
  while (reader->Next(&record).value()) EXPECT_TRUE(events.emplace_back().ParseFromString(record));
  return events;
}

std::string Folder(const char* name) {
  return JoinPath(::testing::TempDir(), std::string("summary_writer_test_") + name);
}

TEST(SummaryWriterTest, WritesSummariesScalarsAndTheGraph) {
  Graph g;
  const Output summary = ScalarSummary("loss", Const(g, 0.5f));
  Session session(g);
  SummaryWriter writer(Folder("writes"));
  writer.AddGraph(g);
  writer.Add(session.Run(summary), 3);
  writer.AddScalar("accuracy", 0.75f, 4);
  writer.Flush();
  const auto events = Events(writer.path());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_NE(events[1].graph_def().find("ScalarSummary"), std::string::npos);
  EXPECT_EQ(events[2].step(), 3);
  EXPECT_EQ(events[2].summary().value(0).tag(), "loss");
  EXPECT_EQ(events[2].summary().value(0).simple_value(), 0.5f);
  EXPECT_EQ(events[3].step(), 4);
  EXPECT_EQ(events[3].summary().value(0).simple_value(), 0.75f);
}

TEST(SummaryWriterTest, RefusesWhatIsNoSummary) {
  SummaryWriter writer(Folder("refuses"));
  EXPECT_THROW(writer.Add(Tensor::Scalar(1.0f), 0), Error);
  EXPECT_THROW(writer.Add(Tensor::Scalar("\xff\xff"), 0), Error);
  writer.Close();
  writer.Close();
  writer.Flush();
  EXPECT_THROW(writer.AddScalar("late", 1, 0), Error);
}

}  // namespace
}  // namespace carillon
