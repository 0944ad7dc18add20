// Which samples go into which batch.
#pragma once

#include <cstdint>
#include <vector>

namespace carillon {

// The samples of one shard in one epoch, in the order of their use. All shards shuffle alike (the
// seed is the same) and take every num_shards-th sample from their own number on, so that together
// they have each sample exactly once.
std::vector<int64_t> EpochOrder(int64_t samples, bool shuffle, uint64_t seed, int64_t epoch,
                                int shard, int num_shards);
// How many those are, in any epoch.
int64_t ShardSize(int64_t samples, int shard, int num_shards);

// A place in the endless sequence of a shard's samples.
struct Cursor {
  int64_t epoch = 0;
  int64_t position = 0;  // in the epoch's order
};

struct BatchPlan {
  int64_t epoch = 0;
  int64_t begin = 0;
  int64_t size = 0;
};

struct BatchRule {
  int64_t shard_size = 0;
  int64_t epochs = 0;  // 0: no end
  bool drop_remainder = true;
};

// The batch of up to `size` samples at *cursor, which moves behind it; false at the end. When the
// remainder is dropped, `size` must not be above the shard's.
bool PlanBatch(const BatchRule& rule, int64_t size, Cursor* cursor, BatchPlan* plan);

}  // namespace carillon
