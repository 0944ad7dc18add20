#include "checkpoint/record.h"
#include "data/formats.h"
#include "data/test_util.h"
#include "proto/example.pb.h"

namespace carillon {
namespace {

Dataset SmallSet() {
  Dataset data;
  data.name = "small";
  data.class_names = {"a", "b", "c"};
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 3 * 2 * 4 * 3; ++i) pixels.push_back(static_cast<uint8_t>(i * 3));
  data.images = Tensor::FromVector(pixels, Shape{3, 2, 4, 3});
  data.labels = Tensor::FromVector(std::vector<int64_t>{2, 0, 1});
  return data;
}

TEST(ExamplesTest, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  const Dataset data = SmallSet();
  SaveAsTFRecords(data, folder.Path("a"));
  SaveAsTFRecords(data, folder.Path("b"));
  const Dataset back = LoadTFRecords({folder.Path("a"), folder.Path("b")});
  EXPECT_EQ(back.images.shape(), (Shape{6, 2, 4, 3}));
  for (int64_t i = 0; i < data.images.num_elements(); ++i) {
    ASSERT_EQ(back.images.data<uint8_t>()[i + data.images.num_elements()],
              data.images.data<uint8_t>()[i]);
  }
  EXPECT_EQ(back.labels.data<int64_t>()[3], 2);
  EXPECT_EQ(back.class_names, (std::vector<std::string>{"0", "1", "2"}));
}

TEST(ExamplesTest, PublicReaderAndWriter) {
  const TemporaryFolder folder;
  TFRecordWriter writer(folder.Path("r"));
  writer.Write("one");
  writer.Write("");
  writer.Close();
  TFRecordReader reader(folder.Path("r"));
  std::string record;
  EXPECT_TRUE(reader.Next(&record));
  EXPECT_EQ(record, "one");
  EXPECT_TRUE(reader.Next(&record));
  EXPECT_EQ(record, "");
  EXPECT_FALSE(reader.Next(&record));
  EXPECT_THROW(TFRecordReader(folder.Path("none")), Error);
}

class ExampleErrorsTest : public ::testing::Test {
 protected:
  // What reading a sound record and then `record` says.
  Status Read(const std::string& record) {
    EXPECT_TRUE(WriteExamples(env_, SmallSet(), "/r").ok());
    auto writer = RecordWriter::Open(env_, "/r", Env::WriteMode::kAppend);
    EXPECT_TRUE(writer->Append(record).ok());
    EXPECT_TRUE(writer->Close().ok());
    Dataset data;
    return ReadExamples(env_, {"/r"}, &data);
  }
  static std::string Record(int64_t height, int64_t width, size_t bytes, int64_t label) {
    tensorflow::Example example;
    auto& features = *example.mutable_features()->mutable_feature();
    features["height"].mutable_int64_list()->add_value(height);
    features["width"].mutable_int64_list()->add_value(width);
    features["depth"].mutable_int64_list()->add_value(3);
    features["label"].mutable_int64_list()->add_value(label);
    features["image_raw"].mutable_bytes_list()->add_value(std::string(bytes, 'x'));
    return example.SerializeAsString();
  }
  MemoryEnv env_;
};

TEST_F(ExampleErrorsTest, NamesFileOffsetAndWhatWasExpected) {
  EXPECT_TRUE(Read(Record(2, 4, 24, 1)).ok());
  EXPECT_STATUS(Read("\xff\xff"), kDataLoss, "/r: the record at offset ", "tf.train.Example");
  EXPECT_STATUS(Read(""), kDataLoss, "expected one int64 in feature height");
  EXPECT_STATUS(Read(Record(2, 4, 23, 1)), kDataLoss, "expected 2 x 4 x 3 bytes", "got 23");
  EXPECT_STATUS(Read(Record(4, 2, 24, 1)), kDataLoss, "expected 2 x 4 x 3 pixels", "got 4 x 2 x 3");
  EXPECT_STATUS(Read(Record(2, 4, 24, -1)), kDataLoss, "label", "got -1");
  EXPECT_STATUS(Read(Record(int64_t{1} << 40, int64_t{1} << 40, 24, 1)), kDataLoss, "got 24");
  Dataset data;
  EXPECT_STATUS(ReadExamples(env_, {}, &data), kDataLoss, "no records");
}

TEST_F(ExampleErrorsTest, LabelsHaveToFitTheNames) {
  const TemporaryFolder folder;
  SaveAsTFRecords(SmallSet(), folder.Path("a"));
  EXPECT_THROW(LoadTFRecords({folder.Path("a")}, {"only", "two"}), Error);
  EXPECT_EQ(LoadTFRecords({folder.Path("a")}, {"x", "y", "z"}).num_classes(), 3);
}

}  // namespace
}  // namespace carillon
