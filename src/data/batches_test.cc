#include <cstring>
#include <numeric>
#include <set>

#include "carillon/data.h"
#include "data/order.h"
#include "data/test_util.h"

namespace carillon {
namespace {

// n pictures of 2 x 3 x 1; pixel p of sample i is 10 i + p; label i mod 3.
Dataset NumberedSet(int64_t n) {
  Dataset data;
  data.name = "numbered";
  data.class_names = {"a", "b", "c"};
  data.images = Tensor(kUint8, Shape{n, 2, 3, 1});
  data.labels = Tensor(kInt64, Shape{n});
  for (int64_t i = 0; i < n; ++i) {
    data.labels.mutable_data<int64_t>()[i] = i % 3;
    for (int64_t p = 0; p < 6; ++p) {
      data.images.mutable_data<uint8_t>()[i * 6 + p] = static_cast<uint8_t>(10 * i + p);
    }
  }
  return data;
}

// The indices of all batches until the end, or of `most` batches.
std::vector<std::vector<int64_t>> IndicesOf(Batches* batches, int most = 1000) {
  std::vector<std::vector<int64_t>> all;
  for (Batch batch; most-- > 0 && batches->Next(&batch);) all.push_back(batches->last_indices());
  return all;
}

TEST(BatchesTest, HoldTheSamplesThatTheyName) {
  Batches batches(NumberedSet(20), {.batch_size = 6});
  const auto [images, labels] = batches.NextBatch();
  EXPECT_EQ(images.shape(), (Shape{6, 2, 3, 1}));
  EXPECT_EQ(images.dtype(), kFloat);
  EXPECT_EQ(labels.shape(), (Shape{6}));
  ASSERT_EQ(batches.last_indices().size(), 6u);
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t index = batches.last_indices()[static_cast<size_t>(i)];
    EXPECT_EQ(labels.data<int64_t>()[i], index % 3);
    for (int64_t p = 0; p < 6; ++p) {
      EXPECT_FLOAT_EQ(images.data<float>()[i * 6 + p], static_cast<float>(10 * index + p) / 255);
    }
  }
}

TEST(BatchesTest, FlattenAndOneHot) {
  Batches batches(NumberedSet(20), {.batch_size = 4, .one_hot = true, .flatten = true});
  const auto [images, labels] = batches.NextBatch();
  EXPECT_EQ(images.shape(), (Shape{4, 6}));
  EXPECT_EQ(labels.shape(), (Shape{4, 3}));
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t c = 0; c < 3; ++c) {
      const bool is = batches.last_indices()[static_cast<size_t>(i)] % 3 == c;
      EXPECT_EQ(labels.data<float>()[i * 3 + c], is ? 1 : 0);
    }
  }
}

TEST(BatchesTest, FloatImagesKeepTheirScale) {
  Dataset data = NumberedSet(4);
  data.images = Tensor::Full<float>(Shape{4, 2, 3, 1}, -7.5f);
  Batches batches(data, {.batch_size = 2});
  EXPECT_EQ(batches.NextBatch().images.data<float>()[0], -7.5f);
}

TEST(BatchesTest, EpochsDifferAndRepeatWithTheSeed) {
  const auto run = [](uint64_t seed, int prefetch) {
    Batches batches(NumberedSet(20),
                    {.batch_size = 5, .epochs = 3, .seed = seed, .prefetch = prefetch});
    return IndicesOf(&batches);
  };
  const auto all = run(7, 2);
  ASSERT_EQ(all.size(), 12u);
  EXPECT_EQ(all, run(7, 2));
  EXPECT_EQ(all, run(7, 0)) << "a thread changes nothing";
  EXPECT_EQ(all, run(7, 50));
  EXPECT_NE(all, run(8, 2));
  const auto epoch = [&](size_t e) {
    std::vector<int64_t> samples;
    for (size_t b = 4 * e; b < 4 * e + 4; ++b)
      samples.insert(samples.end(), all[b].begin(), all[b].end());
    return samples;
  };
  EXPECT_NE(epoch(0), epoch(1));
  for (size_t e = 0; e < 3; ++e) {
    const std::vector<int64_t> samples = epoch(e);
    EXPECT_EQ(std::set<int64_t>(samples.begin(), samples.end()).size(), 20u);
  }
}

TEST(BatchesTest, DropOrKeepTheRemainder) {
  Batches drop(NumberedSet(10), {.batch_size = 4, .epochs = 2});
  EXPECT_EQ(drop.batches_per_epoch(), 2);
  EXPECT_EQ(IndicesOf(&drop).size(), 4u);
  Batches keep(NumberedSet(10), {.batch_size = 4, .epochs = 2, .drop_remainder = false});
  EXPECT_EQ(keep.batches_per_epoch(), 3);
  const auto all = IndicesOf(&keep);
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[2].size(), 2u);
  EXPECT_EQ(all[3].size(), 4u);
  EXPECT_EQ(keep.epoch(), 1);
  EXPECT_THROW(keep.NextBatch(), Error);
  Batch batch;
  EXPECT_FALSE(keep.Next(&batch));
}

TEST(BatchesTest, EvaluationSeesEachSampleInOrder) {
  Batches batches(NumberedSet(10), BatchOptions::ForEvaluation(4));
  std::vector<int64_t> seen;
  for (const auto& indices : IndicesOf(&batches))
    seen.insert(seen.end(), indices.begin(), indices.end());
  std::vector<int64_t> expected(10);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(seen, expected);
}

TEST(BatchesTest, AnotherSizeContinuesWhereTheLastBatchEnded) {
  const BatchOptions options{.batch_size = 4, .seed = 3, .drop_remainder = false};
  Batches batches(NumberedSet(20), options);
  std::vector<int64_t> seen;
  for (const int64_t size : {4, 4, 3, 1, 8}) {
    EXPECT_EQ(batches.NextBatch(size).images.dim(0), size);
    seen.insert(seen.end(), batches.last_indices().begin(), batches.last_indices().end());
  }
  EXPECT_EQ(seen, EpochOrder(20, true, 3, 0, 0, 1));
  EXPECT_THROW(batches.NextBatch(0), Error);
  EXPECT_EQ(batches.NextBatch().images.dim(0), 8) << "usable after an error";
}

TEST(BatchesTest, ShardsHaveNoGapsAndNoOverlaps) {
  for (const int64_t samples : {1000, 1001, 1007}) {
    for (const int shards : {1, 2, 3, 8}) {
      for (int64_t epoch = 0; epoch < 2; ++epoch) {
        Coverage coverage(samples);
        for (int shard = 0; shard < shards; ++shard) {
          Batches batches(NumberedSet(samples), {.batch_size = 16,
                                                 .epochs = 2,
                                                 .seed = 5,
                                                 .drop_remainder = false,
                                                 .prefetch = shard % 2,
                                                 .shard = shard,
                                                 .num_shards = shards});
          for (Batch batch; batches.Next(&batch);) {
            if (batches.epoch() == epoch) coverage.Add(batches.last_indices());
          }
        }
        EXPECT_TRUE(coverage.exact()) << coverage.Report();
      }
    }
  }
}

TEST(BatchesTest, AShardGetsOtherSamplesInTheNextEpoch) {
  EXPECT_NE(EpochOrder(100, true, 1, 0, 0, 4), EpochOrder(100, true, 1, 1, 0, 4));
  std::vector<int64_t> first = EpochOrder(100, true, 1, 0, 0, 4),
                       second = EpochOrder(100, true, 1, 1, 0, 4);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_NE(first, second);
}

TEST(BatchesTest, AugmentationDependsOnSeedEpochAndSampleAlone) {
  const auto picture_of = [](int64_t wanted, const BatchOptions& options) {
    Batches batches(NumberedSet(24), options);
    for (Batch batch; batches.Next(&batch);) {
      for (size_t i = 0; i < batches.last_indices().size(); ++i) {
        if (batches.last_indices()[i] != wanted || batches.epoch() != 1) continue;
        const float* from = batch.images.data<float>() + i * 6;
        return std::vector<float>(from, from + 6);
      }
    }
    return std::vector<float>();
  };
  BatchOptions options{.batch_size = 4, .epochs = 2, .augment = {.pad_crop = 1, .flip = true}};
  for (int64_t sample = 0; sample < 24; ++sample) {
    options = {.batch_size = 4, .epochs = 2, .augment = {.pad_crop = 1, .flip = true}};
    const std::vector<float> expected = picture_of(sample, options);
    ASSERT_EQ(expected.size(), 6u);
    options.prefetch = 0;
    options.batch_size = 6;
    EXPECT_EQ(picture_of(sample, options), expected);
    options.num_shards = 3;
    options.batch_size = 2;
    options.drop_remainder = false;
    int found = 0;
    for (options.shard = 0; options.shard < 3; ++options.shard) {
      const std::vector<float> got = picture_of(sample, options);
      if (got.empty()) continue;
      ++found;
      EXPECT_EQ(got, expected);
    }
    EXPECT_EQ(found, 1);
  }
}

TEST(BatchesTest, OptionsOutOfRangeAreErrors) {
  const Dataset data = NumberedSet(10);
  const auto error_of = [&](const Dataset& set, const BatchOptions& options) -> std::string {
    try {
      Batches batches(set, options);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument);
      return error.what();
    }
  };
  EXPECT_EQ(error_of(data, {.batch_size = 0}),
            "Batches of numbered: batch_size is 0, expected 1 or more");
  EXPECT_NE(error_of(data, {.batch_size = 11}).find("a batch of 11 is more than the 10 samples"),
            std::string::npos);
  EXPECT_EQ(error_of(data, {.batch_size = 11, .drop_remainder = false}), "");
  EXPECT_NE(error_of(data, {.shard = 2, .num_shards = 2}).find("shard 2 of 2"), std::string::npos);
  EXPECT_NE(error_of(data, {.batch_size = 1, .shard = 10, .num_shards = 11}).find("is empty"),
            std::string::npos);
  EXPECT_NE(error_of(data, {.batch_size = 1, .augment = {.pad_crop = 3}}).find("pad_crop"),
            std::string::npos);
  EXPECT_NE(error_of(data, {.batch_size = 1, .epochs = -1}).find("epochs"), std::string::npos);
  EXPECT_NE(error_of(data, {.batch_size = 1, .prefetch = -1}).find("prefetch"), std::string::npos);
  Dataset odd = data;
  odd.labels = Tensor::FromVector(std::vector<int64_t>{1, 2});
  EXPECT_NE(error_of(odd, {.batch_size = 1}).find("int64[2]"), std::string::npos);
  odd = data;
  odd.class_names.pop_back();
  EXPECT_EQ(error_of(odd, {.batch_size = 1}), "");
  EXPECT_NE(error_of(odd, {.batch_size = 1, .one_hot = true}).find("label 2"), std::string::npos);
  EXPECT_NE(error_of(Dataset(), {}), "");
}

TEST(CoverageTest, ReportsWhatIsMissingAndRepeated) {
  Coverage coverage(10);
  coverage.Add({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(coverage.Report(), "10 of 10 samples seen, none missing, none repeated");
  EXPECT_TRUE(coverage.exact());
  Coverage bad(2000);
  bad.Add({1, 1, 5});
  EXPECT_EQ(bad.Report(),
            "2 of 2,000 samples seen, 1,998 missing (0, 2, 3, 4, 6, …), 1 repeated (1)");
  EXPECT_FALSE(bad.exact());
  EXPECT_THROW(bad.Add({2000}), Error);
  EXPECT_THROW(bad.Add({-1}), Error);
}

}  // namespace
}  // namespace carillon
