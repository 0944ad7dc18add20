// Resources and what they hold count against the limit of the steps that make them.
#include "runtime/resource_store.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "base/work_scope.h"
#include "carillon/op_builder.h"
#include "carillon/ops/array.h"
#include "carillon/ops/queue.h"
#include "kernels/named_resource.h"
#include "kernels/queue.h"
#include "runtime/local_session_test_util.h"

namespace carillon {
namespace {

using absl::StatusCode;

StatusOr<std::shared_ptr<Queue>> FindOrMakeQueue(ResourceStore& store, const std::string& name,
                                                 Allocator* allocator) {
  return FindOrMakeResource<Queue>(
      store, "container", name, [&]() -> StatusOr<std::shared_ptr<Resource>> {
        return MakeOnAccount(allocator, name, [&]() -> StatusOr<std::shared_ptr<Queue>> {
          return std::make_shared<Queue>(QueueOptions{.name = name, .types = {kInt32}}, allocator);
        });
      });
}

TEST(ResourceStore, CountsResourcesUntilNobodyHasThem) {
  constexpr int64_t kLimit = 1 << 20;
  const auto limited = MakePoolAllocator({.limit_bytes = kLimit});
  const auto used = [&] { return limited->stats().bytes_in_use; };
  MapResourceStore store;
  Status status;
  int64_t made = 0;
  for (; status.ok(); ++made)
    status = FindOrMakeQueue(store, StrCat("queue", made), limited.get()).status();
  --made;
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_GT(made, kLimit / 4096);
  EXPECT_LE(made, kLimit / kResourceBytes);
  EXPECT_EQ(store.Find("container", StrCat("queue", made)), nullptr);
  const int64_t full = used();
  {
    const auto kept = *FindOrMakeQueue(store, "queue0", limited.get());
    ASSERT_TRUE(store.Remove("container", "queue0").ok());
    EXPECT_EQ(used(), full) << "somebody has it still";
  }
  EXPECT_LE(used(), full - kResourceBytes);
  EXPECT_TRUE(FindOrMakeQueue(store, "other", limited.get()).ok());
  store.Clear("container");
  EXPECT_EQ(used(), 0);
}

// Elements of strings are copied when batches are taken apart and put together.
class LimitedQueue : public ::testing::Test {
 protected:
  int64_t used() const { return device_->allocator->stats().bytes_in_use; }

  static constexpr int64_t kLimit = 8 << 20;
  Graph g_;
  MapResourceStore resources_;
  std::shared_ptr<Device> device_ =
      MakeCpuDevice("/job:test/replica:0/task:0", {.limit_bytes = kLimit});
};

TEST_F(LimitedQueue, CountsTheTextOfItsElements) {
  const Output queue = FIFOQueue(g_, {kString}, {.shapes = {Shape{}}, .shared_name = "q"});
  const std::vector<std::string> texts(10, std::string(100 << 10, 'x'));
  const Operation put = QueueEnqueueMany(queue, {Tensor::FromVector(texts)});
  const std::vector<Output> take = QueueDequeueMany(queue, 10), all = QueueDequeueMany(queue, 50);
  LocalSession session(g_.nodes(), device_, &resources_, {});
  Status status;
  int times = 0;
  for (; status.ok(); ++times) status = RunStep(session, {}, {put}).status();
  --times;
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  EXPECT_GE(times, 5);
  EXPECT_LT(times, 9);
  EXPECT_GT(used(), times * 1000 * 1000);
  const int64_t full = used();
  status = RunStep(session, all).status();
  if (WorkScope::Counts()) {  // not under sanitizers
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << "five more megabytes";
  }
  EXPECT_LT(used(), full) << "the elements went with the step that took them";
  for (int i = 5; i < times; ++i) {
    status = RunStep(session, take).status();
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_LT(used(), full - times * 1000 * 1000);
}

}  // namespace
}  // namespace carillon
