#include "base/team.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "base/parallel.h"

namespace carillon {
namespace {

TEST(Team, EveryThreadRunsOnceAndAtTheSameTime) {
  for (int threads = 1; threads <= 8; ++threads) {
    std::vector<int> runs(static_cast<size_t>(threads));
    RunTeam(threads, [&](int thread) {
      EXPECT_EQ(TeamSize(), threads);
      EXPECT_EQ(TeamThread(), thread);
      ++runs[static_cast<size_t>(thread)];
      TeamBarrier();  // would never return if one of them ran after another
      TeamBarrier();
    });
    EXPECT_EQ(runs, std::vector<int>(static_cast<size_t>(threads), 1));
  }
  EXPECT_FALSE(InTeam());
}

TEST(Team, InsideOfATeamThereIsNoOther) {
  std::atomic<int> inner{0};
  RunTeam(3, [&](int thread) {
    RunTeam(5, [&](int only) {
      EXPECT_EQ(only, 0);
      EXPECT_EQ(TeamSize(), 1);
      ++inner;
    });
    EXPECT_EQ(TeamSize(), 3);
    EXPECT_EQ(TeamThread(), thread);
  });
  EXPECT_EQ(inner, 3);
}

TEST(Team, ManyCallersAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int64_t> sum{0};
  for (int c = 0; c < 8; ++c) {
    callers.emplace_back([&] {
      SetKernelThreads(3);
      for (int i = 0; i < 200; ++i) {
        ParallelFor(1000, 10, [&](int64_t begin, int64_t end) { sum += end - begin; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 8 * 200 * 1000);
}

TEST(ParallelFor, CoversEveryItemOnceWhoeverTakesIt) {
  for (const int threads : {1, 2, 3, 8, 100}) {
    SetKernelThreads(threads);
    for (const int64_t n : {0, 1, 2, 7, 64, 1000, 4097}) {
      for (const int64_t grain : {0, 1, 3, 500, 5000}) {
        std::vector<std::atomic<int>> taken(static_cast<size_t>(n));
        std::vector<std::atomic<bool>> busy(static_cast<size_t>(threads));
        ParallelForWithThread(n, grain, [&](int thread, int64_t begin, int64_t end) {
          ASSERT_LT(begin, end);
          EXPECT_FALSE(busy.at(static_cast<size_t>(thread)).exchange(true));
          for (int64_t i = begin; i < end; ++i) ++taken[static_cast<size_t>(i)];
          busy[static_cast<size_t>(thread)] = false;
        });
        for (const std::atomic<int>& times : taken) ASSERT_EQ(times, 1);
      }
    }
  }
}

// A thread that is held up must not hold up the loop: the others take what is left of its part.
TEST(ParallelFor, OthersHelpAThreadThatIsSlow) {
  SetKernelThreads(2);
  std::atomic<int64_t> others{0};
  ParallelForWithThread(1000, 1, [&](int thread, int64_t begin, int64_t end) {
    if (thread == 0) {
      // Goes on when all is done but what it holds.
      while (others + (end - begin) < 1000) std::this_thread::yield();
    } else {
      others += end - begin;
    }
  });
  EXPECT_GE(others, 500);
}

TEST(Team, BarriersOrderWhatComesBeforeAndAfter) {
  constexpr int kThreads = 4, kRounds = 300;
  std::vector<int> values(kThreads, 0);
  RunTeam(kThreads, [&](int thread) {
    for (int round = 1; round <= kRounds; ++round) {
      values[static_cast<size_t>(thread)] = round;
      TeamBarrier();
      for (const int value : values) EXPECT_EQ(value, round);
      TeamBarrier();
    }
  });
}

}  // namespace
}  // namespace carillon
