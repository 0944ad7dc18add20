#include "tensor/parsed_bytes.h"

#include <gtest/gtest.h>
#include <random>
#include <string>

#include "proto/config.pb.h"
#include "proto/graph.pb.h"
#include "proto/master.pb.h"
#include "proto/summary.pb.h"

namespace carillon {
namespace {

// At least what the parsed message takes, and not so much more that honest messages are refused.
template <typename Message>
void ExpectCounts(const std::string& bytes, size_t most_times) {
  Message parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  const size_t takes = parsed.SpaceUsedLong();
  const size_t counted = MostParsedBytes<Message>(bytes);
  EXPECT_GE(counted, takes) << parsed.GetTypeName();
  EXPECT_LE(counted, most_times * takes) << parsed.GetTypeName();
}

std::string Repeated(int field, int times, const std::string& content = "") {
  std::string bytes;
  for (int i = 0; i < times; ++i) {
    bytes += static_cast<char>(field << 3 | 2);
    bytes += static_cast<char>(content.size());
    bytes += content;
  }
  return bytes;
}

TEST(MostParsedBytes, CountsManySmallFields) {
  ExpectCounts<tensorflow::GraphDef>(Repeated(1, 10'000), 4);
  ExpectCounts<tensorflow::RunStepRequest>(Repeated(2, 10'000), 4);
  ExpectCounts<tensorflow::RunStepRequest>(Repeated(3, 10'000), 4);
  ExpectCounts<tensorflow::RunStepRequest>(Repeated(3, 10'000, std::string(100, 'n')), 4);
  ExpectCounts<tensorflow::Summary>(Repeated(1, 10'000), 4);
  // Numbers of one byte, and fields that are not known.
  ExpectCounts<tensorflow::TensorProto>(Repeated(7, 100, std::string(100, '\1')), 8);
  ExpectCounts<tensorflow::TensorProto>(Repeated(10, 100, std::string(100, '\1')), 8);
  ExpectCounts<tensorflow::GraphDef>(Repeated(15, 10'000), 8);
}

TEST(MostParsedBytes, CountsGraphsAsTheyAre) {
  tensorflow::GraphDef graph;
  for (int i = 0; i < 1000; ++i) {
    auto* node = graph.add_node();
    node->set_name("layer/weights/" + std::to_string(i));
    node->set_op("Const");
    (*node->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
    auto* tensor = (*node->mutable_attr())["value"].mutable_tensor();
    tensor->mutable_tensor_shape()->add_dim()->set_size(100);
    tensor->set_tensor_content(std::string(400, 'x'));
  }
  ExpectCounts<tensorflow::GraphDef>(graph.SerializeAsString(), 2);
}

TEST(MostParsedBytes, ReadsWhatIsNoMessage) {
  std::mt19937 random(1);
  for (int i = 0; i < 10'000; ++i) {
    std::string bytes(random() % 64, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_GT(MostParsedBytes<tensorflow::GraphDef>(bytes), 0u);
  }
}

}  // namespace
}  // namespace carillon
