// Steps whose memory ends in the middle of a kernel: wherever that is, the step fails, and nothing
// else happens.
#include <gtest/gtest.h>

#include "base/work_scope.h"
#include "carillon/op_builder.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "runtime/local_session_test_util.h"
#include "runtime/resource_store.h"

namespace carillon {
namespace {

// Runs the step on devices with more and more memory, until there is enough.
void ExpectEndsWell(const Graph& g, const std::vector<Output>& fetches) {
  MapResourceStore resources;
  bool is_done = false;
  int refusals = 0;
  for (int64_t limit = 4 << 10; !is_done; limit += 4 << 10) {
    ASSERT_LT(limit, 64 << 20);
    const auto device = MakeCpuDevice("/job:test/replica:0/task:0", {.limit_bytes = limit});
    LocalSession session(g.nodes(), device, &resources, {});
    const Status status = RunStep(session, fetches).status();
    is_done = status.ok();
    if (is_done) continue;
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    ++refusals;
  }
  EXPECT_GT(refusals, 50);
}

TEST(StepMemory, MayEndInAHashTable) {
  if (!WorkScope::Counts()) GTEST_SKIP() << "the sanitizer owns operator new";
  Graph g;
  std::vector<int32_t> numbers;
  for (int i = 0; i < 12'000; ++i) numbers.push_back(7 * i);
  // Not a constant: the step is to compute the rest.
  const Output x = PlaceholderWithDefault(Const(g, Tensor::FromVector(numbers)), {-1});
  ExpectEndsWell(g, {OpBuilder("Unique").Arg(x)});
  ExpectEndsWell(g, {OpBuilder("ListDiff").Arg(x).Arg(Add(x, 1))});
}

}  // namespace
}  // namespace carillon
