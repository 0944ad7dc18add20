#include "tensor/parsed_bytes.h"

#include <gtest/gtest.h>
#include <random>
#include <string>
#include <string_view>
#include <sys/mman.h>

#include "absl/strings/escaping.h"
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

std::string Group(int field, const std::string& content) {
  return static_cast<char>(field << 3 | 3) + content + static_cast<char>(field << 3 | 4);
}

TEST(MostParsedBytes, CountsWhatIsInGroups) {
  std::string fields, groups, nested;
  for (int i = 0; i < 10'000; ++i) {
    fields += std::string("\x08\x01", 2);
    groups += Group(15, "");
  }
  for (int i = 0; i < 50; ++i) nested = Group(15, nested + groups.substr(0, 200));
  ExpectCounts<tensorflow::GraphDef>(Group(15, fields), 20);
  ExpectCounts<tensorflow::GraphDef>(Group(15, groups), 8);
  ExpectCounts<tensorflow::GraphDef>(nested, 8);
  // What comes after one counts, too.
  const std::string nodes = Repeated(1, 10'000);
  EXPECT_GT(MostParsedBytes<tensorflow::GraphDef>(Group(15, "") + nodes),
            MostParsedBytes<tensorflow::GraphDef>(nodes));
}

// Without a stack that grows with the message.
TEST(MostParsedBytes, EndsAtGroupsThatNobodyReads) {
  const std::string deep(10'000'000, static_cast<char>(15 << 3 | 3));
  EXPECT_FALSE(tensorflow::GraphDef().ParseFromString(deep));
  EXPECT_LT(MostParsedBytes<tensorflow::GraphDef>(deep), 100'000u);
}

TEST(MostParsedBytes, CountsWhatIsTooLargeToRead) {
  constexpr size_t kBytes = (size_t{1} << 32) + 5;
  void* const memory = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                            /*fd=*/-1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  const std::string_view bytes(static_cast<const char*>(memory), kBytes);
  EXPECT_GT(MostParsedBytes<tensorflow::GraphDef>(bytes), kBytes);
  munmap(memory, kBytes);
}

// What happens to be a message counts no less than what protobuf makes of it; the rest is read as
// far as it goes.
TEST(MostParsedBytes, ReadsWhatIsNoMessage) {
  std::mt19937 random(1);
  int messages = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes(random() % 16, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    tensorflow::GraphDef parsed;
    const bool is_message = parsed.ParseFromString(bytes);
    const size_t counted = MostParsedBytes<tensorflow::GraphDef>(bytes);
    EXPECT_GE(counted, is_message ? parsed.SpaceUsedLong() : sizeof(parsed))
        << absl::BytesToHexString(bytes);
    if (is_message && !bytes.empty()) ++messages;
  }
  EXPECT_GT(messages, 100);
}

// A number in another form than the field's is kept as it is.
TEST(MostParsedBytes, CountsNumbersOfAnotherForm) {
  std::string one, many;
  for (int i = 0; i < 10'000; ++i) {
    one += static_cast<char>(3 << 3 | 5) + std::string(4, '\1');   // GraphDef.version
    many += static_cast<char>(5 << 3 | 0) + std::string(1, '\1');  // TensorProto.float_val
  }
  ExpectCounts<tensorflow::GraphDef>(one, 20);
  ExpectCounts<tensorflow::TensorProto>(many, 20);
}

}  // namespace
}  // namespace carillon
