#include "checkpoint/event_file.h"

#include <gtest/gtest.h>

#include "proto/event.pb.h"

namespace carillon {
namespace {

TEST(EventFileTest, StartsWithTheVersionAndKeepsEvents) {
  MemoryEnv env;
  StatusOr<EventFileWriter> writer = EventFileWriter::Open(env, "/logs/run", ".v2");
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_TRUE(writer->path().starts_with("/logs/run/events.out.tfevents."));
  EXPECT_TRUE(writer->path().ends_with(".v2"));
  tensorflow::Event event;
  event.set_step(7);
  event.set_wall_time(1.5);
  tensorflow::Summary::Value* value = event.mutable_summary()->add_value();
  value->set_tag("loss");
  value->set_simple_value(0.25f);
  ASSERT_TRUE(writer->Write(event).ok());
  event.clear_wall_time();
  ASSERT_TRUE(writer->Write(event).ok());
  ASSERT_TRUE(writer->Close().ok());

  StatusOr<RecordReader> reader = RecordReader::Open(env, writer->path());
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::string record;
  tensorflow::Event read;
  ASSERT_TRUE(reader->Next(&record).value());
  ASSERT_TRUE(read.ParseFromString(record));
  EXPECT_EQ(read.file_version(), "brain.Event:2");
  EXPECT_GT(read.wall_time(), 1e9);
  ASSERT_TRUE(reader->Next(&record).value());
  ASSERT_TRUE(read.ParseFromString(record));
  EXPECT_EQ(read.step(), 7);
  EXPECT_EQ(read.wall_time(), 1.5);
  EXPECT_EQ(read.summary().value(0).tag(), "loss");
  ASSERT_TRUE(reader->Next(&record).value());
  ASSERT_TRUE(read.ParseFromString(record));
  EXPECT_GT(read.wall_time(), 1e9);
  EXPECT_FALSE(reader->Next(&record).value());
}

}  // namespace
}  // namespace carillon
