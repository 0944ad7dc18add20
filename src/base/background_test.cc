#include "base/background.h"

#include <array>
#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <thread>

namespace carillon {
namespace {

TEST(BackgroundPool, RunsEverythingBeforeItEnds) {
  std::atomic<int> ran{0};
  {
    BackgroundPool threads;
    for (int i = 0; i < 1000; ++i) {
      threads.Start([&] {
        ++ran;
        threads.Start([&] { ++ran; });
      });
    }
  }
  EXPECT_EQ(ran, 2000);
}

TEST(BackgroundPool, WorkThatWaitsForLaterWorkIsNotStarved) {
  BackgroundPool threads;
  constexpr int kChain = 50;
  std::vector<std::promise<void>> links(kChain + 1);
  for (int i = 0; i < kChain; ++i) {
    threads.Start([&links, i] {
      links[i + 1].get_future().wait();
      links[i].set_value();
    });
  }
  links[kChain].set_value();
  links[0].get_future().wait();
}

TEST(ThreadShare, LeavesThreadsToOthersHoweverMuchOfItWaits) {
  std::promise<void> end, of_other, of_nobody;
  const std::shared_future<void> ended = end.get_future().share();
  constexpr int kMany = 5000;  // more than there are threads
  std::atomic<int> ran{0};
  auto threads = std::make_shared<BackgroundPool>();
  {
    BackgroundShare greedy(threads), other(threads);
    for (int i = 0; i < kMany; ++i) {
      greedy.Start([&ran, ended] {
        ended.wait();
        ++ran;
      });
    }
    EXPECT_GT(threads->Left(), 0u);
    other.Start([&] { of_other.set_value(); });
    threads->Start([&] { of_nobody.set_value(); });
    of_other.get_future().wait();
    of_nobody.get_future().wait();
    EXPECT_EQ(ran, 0);
  }
  end.set_value();
  threads.reset();  // waits, also for what was handed in to shares that are gone
  EXPECT_EQ(ran, kMany);
}

class Full final : public BackgroundThreads {
 public:
  void Start(std::function<void()> work) override { pool_.Start(std::move(work)); }
  size_t Left() override { return 0; }

 private:
  BackgroundPool pool_;
};

TEST(ThreadShare, HasAFewThreadsWhereNoneAreLeft) {
  std::promise<void> first, second;
  Full full;
  ThreadShare share;
  share.Start(full, [&] {
    second.get_future().wait();
    first.set_value();
  });
  share.Start(full, [&] { second.set_value(); });
  first.get_future().wait();
}

// However much of the share waits: it may be somebody else's, and take long.
TEST(ThreadShare, KeepsNobodyWhoRunsAPieceOfIt) {
  constexpr int kPieces = 12;
  std::array<std::thread::id, kPieces> ran_on;
  {
    Full full;
    ThreadShare share;
    WorkCollector collector;
    for (int i = 0; i < kPieces; ++i)
      share.Start(full,
                  [&ran_on, i] { ran_on[static_cast<size_t>(i)] = std::this_thread::get_id(); });
    collector.Run();
  }
  EXPECT_EQ(ran_on[0], std::this_thread::get_id());
  for (size_t i = 1; i < kPieces; ++i) {
    EXPECT_NE(ran_on[i], std::thread::id());
    EXPECT_NE(ran_on[i], std::this_thread::get_id());
  }
}

}  // namespace
}  // namespace carillon
