#include "kernels/ref/broadcast.h"

#include <gtest/gtest.h>
#include <vector>

namespace carillon {
namespace {

// Where each operand is read for each output element, by the plain rule.
std::vector<int64_t> ExpectedOffsets(const Shape& operand, const Shape& output) {
  std::vector<int64_t> offsets;
  for (int64_t at = 0; at < output.num_elements(); ++at) {
    int64_t rest = at, offset = 0, stride = 1;
    for (int i = output.rank() - 1; i >= 0; --i) {
      const int64_t index = rest % output.dim(i);
      rest /= output.dim(i);
      const int own = i - (output.rank() - operand.rank());
      if (own < 0) continue;
      if (operand.dim(own) != 1) offset += index * stride;
      stride *= operand.dim(own);
    }
    offsets.push_back(offset);
  }
  return offsets;
}

std::vector<int64_t> WalkedOffsets(const Broadcast& walk, size_t operand, int64_t pieces) {
  const int64_t n = walk.shape.num_elements();
  std::vector<int64_t> offsets(static_cast<size_t>(n), -1);
  const int64_t stride = walk.strides[operand][static_cast<size_t>(walk.rank - 1)];
  for (int64_t piece = 0; piece < pieces; ++piece) {
    walk.ForEachRun(n * piece / pieces, n * (piece + 1) / pieces,
                    [&](const auto& starts, int64_t at, int64_t length) {
                      for (int64_t i = 0; i < length; ++i)
                        offsets[static_cast<size_t>(at + i)] = starts[operand] + i * stride;
                    });
  }
  return offsets;
}

TEST(Broadcast, ReadsEveryElementWhereTheRuleSays) {
  const std::vector<std::vector<Shape>> cases = {
      {{}, {}},
      {{3}, {}},
      {{1}, {1, 1}},
      {{2, 3}, {3}},
      {{2, 3}, {2, 1}},
      {{2, 1, 4}, {3, 1}},
      {{2, 3, 4, 5}, {4, 5}},
      {{2, 3, 4, 5}, {3, 1, 1}},
      {{1, 3, 1, 5}, {2, 1, 4, 1}},
      {{2, 1, 2, 1, 2, 1, 2, 1}, {1, 2, 1, 2, 1, 2, 1, 2}},
      {{4, 1}, {1, 5}, {3, 1, 1}},
      {{2, 3}, {2, 3}, {}},
  };
  for (const auto& shapes : cases) {
    const StatusOr<Broadcast> walk = shapes.size() == 2
                                         ? Broadcast::Make({&shapes[0], &shapes[1]})
                                         : Broadcast::Make({&shapes[0], &shapes[1], &shapes[2]});
    ASSERT_TRUE(walk.ok()) << walk.status();
    for (size_t operand = 0; operand < shapes.size(); ++operand) {
      for (const int64_t pieces : {1, 3, 7}) {
        EXPECT_EQ(WalkedOffsets(*walk, operand, pieces),
                  ExpectedOffsets(shapes[operand], walk->shape))
            << shapes[0].ToString() << " " << shapes[1].ToString() << ", operand " << operand;
      }
    }
  }
}

TEST(Broadcast, NeedsFewDimensions) {
  const Shape whole{2, 3, 4, 5}, tail{4, 5}, middle{3, 1, 1};
  EXPECT_EQ(Broadcast::Make({&whole, &whole})->rank, 1);
  EXPECT_EQ(Broadcast::Make({&whole, &tail})->rank, 2);
  EXPECT_EQ(Broadcast::Make({&whole, &middle})->rank, 3);
  EXPECT_TRUE(Broadcast::Make({&whole, &tail})->shape == whole);
}

TEST(Broadcast, WalksNothingOfNothing) {
  const Shape none{3, 0, int64_t{1} << 40, int64_t{1} << 40}, row{1, 1};
  const StatusOr<Broadcast> walk = Broadcast::Make({&none, &row});
  ASSERT_TRUE(walk.ok());
  EXPECT_EQ(walk->shape.num_elements(), 0);
  walk->ForEachRun(0, 0, [](const auto&, int64_t, int64_t) { ADD_FAILURE(); });
}

TEST(Broadcast, RefusesShapesThatDoNotFit) {
  const Shape two{2}, three{3}, wide{int64_t{1} << 40, 1}, high{1, int64_t{1} << 40};
  EXPECT_EQ(Broadcast::Make({&two, &three}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Broadcast::Make({&wide, &high}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace carillon
