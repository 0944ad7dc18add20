#include "kernels/variable.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace carillon {
namespace {

const float* DataOf(const VariableResource& variable) { return variable.Snapshot().data<float>(); }

TEST(VariableResource, HasNoValueAtFirst) {
  VariableResource variable(kFloat, "layer/w");
  EXPECT_FALSE(variable.IsInitialized());
  EXPECT_FALSE(variable.Snapshot().has_value());
  const Status status = variable.Read().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_NE(status.message().find("layer/w"), absl::string_view::npos);
  EXPECT_NE(status.message().find("uninitialized"), absl::string_view::npos);
  VariableLock lock({&variable});
  EXPECT_TRUE(absl::IsFailedPrecondition(lock.Readable(variable).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(lock.Writable(variable, HostAllocator()).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(lock.Rewritable(variable, HostAllocator()).status()));
}

TEST(VariableResource, IsWrittenInPlaceWhenNobodyHoldsTheValue) {
  VariableResource variable(kFloat, "w");
  variable.Assign(Tensor::FromVector<float>({1, 2}));
  const float* before = DataOf(variable);
  {
    VariableLock lock({&variable});
    Tensor* value = lock.Writable(variable, HostAllocator()).value();
    value->mutable_data<float>()[0] = 5;
    const auto rewrite = lock.Rewritable(variable, HostAllocator()).value();
    EXPECT_EQ(rewrite.from.raw_data(), rewrite.to->raw_data());
  }
  EXPECT_EQ(DataOf(variable), before);
  EXPECT_EQ(variable.Snapshot().data<float>()[0], 5);
}

TEST(VariableResource, SnapshotsNeverChange) {
  VariableResource variable(kFloat, "w");
  variable.Assign(Tensor::FromVector<float>({1, 2}));
  const Tensor first = variable.Snapshot();
  {
    VariableLock lock({&variable});
    lock.Writable(variable, HostAllocator()).value()->mutable_data<float>()[0] = 5;
  }
  const Tensor second = variable.Snapshot();
  {
    VariableLock lock({&variable});
    const auto rewrite = lock.Rewritable(variable, HostAllocator()).value();
    EXPECT_EQ(rewrite.from.data<float>()[0], 5);
    for (int i = 0; i < 2; ++i) rewrite.to->mutable_data<float>()[i] = 9;
  }
  EXPECT_EQ(first.data<float>()[0], 1);
  EXPECT_EQ(second.data<float>()[0], 5);
  EXPECT_EQ(second.data<float>()[1], 2);
  EXPECT_EQ(variable.Snapshot().data<float>()[1], 9);
}

TEST(VariableResource, IsVisitedWithoutSharingItsMemory) {
  VariableResource variable(kFloat, "w");
  const auto visit = [&](float* first) {
    return variable.Visit([&](const Tensor& value) {
      EXPECT_TRUE(value.IsUnshared());
      *first = value.data<float>()[0];
      return absl::OkStatus();
    });
  };
  float first = 0;
  EXPECT_TRUE(absl::IsFailedPrecondition(visit(&first)));
  variable.Assign(Tensor::FromVector<float>({4, 2}));
  EXPECT_TRUE(visit(&first).ok());
  EXPECT_EQ(first, 4);
}

TEST(VariableResource, CopiesStrings) {
  VariableResource variable(kString, "s");
  variable.Assign(Tensor::FromVector<std::string>({"a", "b"}));
  const Tensor held = variable.Snapshot();
  {
    VariableLock lock({&variable});
    lock.Writable(variable, HostAllocator()).value()->mutable_data<std::string>()[0] = "z";
    EXPECT_TRUE(lock.CountText().ok());
  }
  EXPECT_EQ(held.data<std::string>()[0], "a");
  EXPECT_EQ(variable.Snapshot().data<std::string>()[0], "z");
  EXPECT_EQ(variable.Snapshot().data<std::string>()[1], "b");
}

// A limit leaves no room for a second copy: the value must survive the failure.
TEST(VariableResource, KeepsItsValueWhenThereIsNoMemory) {
  const auto small = MakePoolAllocator({.limit_bytes = 64});
  VariableResource variable(kFloat, "w");
  variable.Assign(Tensor::Full<float>(Shape{1000}, 3));
  const Tensor held = variable.Snapshot();
  VariableLock lock({&variable});
  EXPECT_TRUE(absl::IsResourceExhausted(lock.Rewritable(variable, small.get()).status()));
  EXPECT_EQ(lock.Readable(variable).value()->data<float>()[999], 3);
}

TEST(VariableLock, TakesTheSameVariableTwice) {
  VariableResource variable(kFloat, "w");
  { VariableLock lock({&variable, &variable}); }
  EXPECT_FALSE(variable.IsInitialized());
}

TEST(VariableLock, LocksInOneOrderWhateverIsAsked) {
  VariableResource a(kInt64, "a"), b(kInt64, "b");
  a.Assign(Tensor::Scalar<int64_t>(0));
  b.Assign(Tensor::Scalar<int64_t>(0));
  const auto count = [](VariableResource& first, VariableResource& second) {
    for (int i = 0; i < 2000; ++i) {
      VariableLock lock({&first, &second});
      for (VariableResource* variable : {&first, &second}) {
        lock.Writable(*variable, HostAllocator()).value()->mutable_data<int64_t>()[0] += 1;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] { count(a, b); });
    threads.emplace_back([&] { count(b, a); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(a.Snapshot().scalar<int64_t>(), 8000);
  EXPECT_EQ(b.Snapshot().scalar<int64_t>(), 8000);
}

TEST(VariableLock, CountsTheTextThatAnUpdateLeaves) {
  const auto limited = MakePoolAllocator({.limit_bytes = 1 << 20});
  {
    VariableResource variable(kString, "v");
    variable.Assign(Tensor::FromVector(std::vector<std::string>(4)));
    const auto set = [&](int i, size_t size, bool ends) {
      VariableLock lock({&variable});
      lock.Writable(variable, limited.get()).value()->mutable_data<std::string>()[i] =
          std::string(size, 'x');
      return ends ? lock.CountText() : absl::OkStatus();
    };
    const auto size_of = [&](int i) { return variable.Snapshot().data<std::string>()[i].size(); };
    ASSERT_TRUE(set(0, 300000, true).ok());
    EXPECT_GT(limited->stats().bytes_in_use, 300000);
    EXPECT_TRUE(absl::IsResourceExhausted(set(1, 900000, true)));
    EXPECT_EQ(size_of(0), 300000u);
    EXPECT_EQ(size_of(1), 0u) << "as it was";
    ASSERT_TRUE(set(1, 10000, false).ok());
    EXPECT_EQ(size_of(1), 0u) << "it did not get to its end";
    ASSERT_TRUE(set(1, 10000, true).ok());
    EXPECT_EQ(size_of(1), 10000u);
    EXPECT_LT(limited->stats().bytes_in_use, 330000);
  }
  EXPECT_EQ(limited->stats().bytes_in_use, 0);
}

}  // namespace
}  // namespace carillon
