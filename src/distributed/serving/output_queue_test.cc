#include "distributed/serving/output_queue.h"

#include <climits>
#include <gtest/gtest.h>
#include <random>

namespace carillon {
namespace {

std::shared_ptr<const MessagePieces> Owner(std::string bytes) {
  auto pieces = std::make_shared<MessagePieces>();
  pieces->AddFields(std::move(bytes));
  return pieces;
}

std::string_view BytesOf(const MessagePieces& pieces) { return pieces.pieces()[0].view(); }

std::string Gathered(const OutputQueue& queue) {
  std::vector<iovec> vectors{{nullptr, 7}};  // what was there before is gone
  queue.Gather(&vectors);
  std::string bytes;
  for (const iovec& vector : vectors)
    bytes.append(static_cast<const char*>(vector.iov_base), vector.iov_len);
  return bytes;
}

TEST(OutputQueueTest, NothingIsNothing) {
  OutputQueue queue;
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(Gathered(queue), "");
  queue.Append("");
  queue.Append("", Owner(""));
  queue.Remove(0);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(Gathered(queue), "");
  queue.Append("x");
  queue.Append("");
  EXPECT_EQ(Gathered(queue), "x");
  queue.Remove(1);
  EXPECT_TRUE(queue.empty());
}

TEST(OutputQueueTest, KeepsTheOrderOfAllBytes) {
  std::mt19937 random(5);
  OutputQueue queue;
  std::string expected;
  char next = 0;
  for (int round = 0; round < 3000; ++round) {
    if (random() % 3 != 0) {
      std::string bytes(random() % (random() % 4 == 0 ? 40'000 : 3000), '\0');
      for (char& byte : bytes) byte = next++;
      expected += bytes;
      if (random() % 2 == 0) {
        queue.Append(bytes);
      } else {
        const auto owner = Owner(bytes);
        // In two pieces of the same owner, as frames cut it.
        const std::string_view view = BytesOf(*owner);
        const size_t cut = random() % (view.size() + 1);
        queue.Append(view.substr(0, cut), owner);
        queue.Append(view.substr(cut), owner);
      }
    }
    ASSERT_EQ(queue.size(), expected.size());
    ASSERT_EQ(queue.empty(), expected.empty());
    if (random() % 2 == 0) {
      const std::string gathered = Gathered(queue);
      ASSERT_TRUE(expected.starts_with(gathered));
      ASSERT_EQ(gathered.empty(), expected.empty());
      const size_t sent = random() % (gathered.size() + 1);
      queue.Remove(sent);
      expected.erase(0, sent);
    }
  }
  while (!queue.empty()) {
    const std::string gathered = Gathered(queue);
    ASSERT_TRUE(!gathered.empty() && expected.starts_with(gathered));
    queue.Remove(gathered.size());
    expected.erase(0, gathered.size());
  }
  EXPECT_EQ(expected, "");
}

TEST(OutputQueueTest, LargePiecesStayWhereTheyAre) {
  OutputQueue queue;
  const auto owner = Owner(std::string(100'000, 'x'));
  queue.Append("head");
  queue.Append(BytesOf(*owner), owner);
  std::vector<iovec> vectors;
  queue.Gather(&vectors);
  ASSERT_EQ(vectors.size(), 2);
  EXPECT_EQ(vectors[1].iov_base, BytesOf(*owner).data());
  queue.Remove(4 + 60'000);
  queue.Gather(&vectors);
  ASSERT_EQ(vectors.size(), 1);
  EXPECT_EQ(vectors[0].iov_base, BytesOf(*owner).data() + 60'000);
  EXPECT_EQ(vectors[0].iov_len, 40'000);
}

TEST(OutputQueueTest, LetsOwnersGoWhenTheirLastByteIs) {
  OutputQueue queue;
  auto first = Owner(std::string(10'000, 'a')), second = Owner(std::string(10'000, 'b'));
  const std::weak_ptr<const MessagePieces> weak_first = first, weak_second = second;
  queue.Append(BytesOf(*first).substr(0, 5000), first);
  queue.Append("between");
  queue.Append(BytesOf(*first).substr(5000), first);
  queue.Append(BytesOf(*second), second);
  first.reset();
  second.reset();
  queue.Remove(5000 + 7 + 4999);
  EXPECT_FALSE(weak_first.expired());
  queue.Remove(1);
  EXPECT_TRUE(weak_first.expired());
  EXPECT_FALSE(weak_second.expired());
  EXPECT_EQ(Gathered(queue), std::string(10'000, 'b'));
  queue.Remove(10'000);
  EXPECT_TRUE(weak_second.expired());
}

TEST(OutputQueueTest, OwnersGoWithTheQueue) {
  auto owner = Owner(std::string(10'000, 'a'));
  const std::weak_ptr<const MessagePieces> weak = owner;
  {
    OutputQueue queue;
    queue.Append(BytesOf(*owner), owner);
    owner.reset();
    EXPECT_FALSE(weak.expired());
  }
  EXPECT_TRUE(weak.expired());
}

TEST(OutputQueueTest, GathersNoMoreThanOneCallTakes) {
  OutputQueue queue;
  const auto owner = Owner(std::string(5000, 'x'));
  for (int i = 0; i < 2 * IOV_MAX; ++i) queue.Append(BytesOf(*owner), owner);
  std::vector<iovec> vectors;
  queue.Gather(&vectors);
  EXPECT_EQ(vectors.size(), IOV_MAX);
  EXPECT_EQ(queue.size(), 2 * IOV_MAX * size_t{5000});
}

}  // namespace
}  // namespace carillon
