#include "data/order.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "data/random.h"

namespace carillon {

int64_t ShardSize(int64_t samples, int shard, int num_shards) {
  return shard >= samples ? 0 : (samples - shard + num_shards - 1) / num_shards;
}

std::vector<int64_t> EpochOrder(int64_t samples, bool shuffle, uint64_t seed, int64_t epoch,
                                int shard, int num_shards) {
  std::vector<int64_t> order(static_cast<size_t>(samples));
  std::iota(order.begin(), order.end(), 0);
  if (shuffle) {
    constexpr uint64_t kOrderStream = 1;
    RandomStream random({kOrderStream, seed, static_cast<uint64_t>(epoch)});
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  }
  if (num_shards == 1) return order;
  size_t kept = 0;
  for (auto i = static_cast<size_t>(shard); i < order.size();
       i += static_cast<size_t>(num_shards)) {
    order[kept++] = order[i];
  }
  order.resize(kept);
  return order;
}

bool PlanBatch(const BatchRule& rule, int64_t size, Cursor* cursor, BatchPlan* plan) {
  while (rule.epochs == 0 || cursor->epoch < rule.epochs) {
    const int64_t left = rule.shard_size - cursor->position;
    if (left >= size || (left > 0 && !rule.drop_remainder)) {
      *plan = {cursor->epoch, cursor->position, std::min(left, size)};
      cursor->position += plan->size;
      return true;
    }
    *cursor = {cursor->epoch + 1, 0};
  }
  return false;
}

}  // namespace carillon
