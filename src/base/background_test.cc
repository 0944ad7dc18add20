#include "base/background.h"

#include <atomic>
#include <future>
#include <gtest/gtest.h>

namespace carillon {
namespace {

TEST(BackgroundThreads, RunsEverythingBeforeItEnds) {
  std::atomic<int> ran{0};
  {
    BackgroundThreads threads;
    for (int i = 0; i < 1000; ++i) {
      threads.Start([&] {
        ++ran;
        threads.Start([&] { ++ran; });
      });
    }
  }
  EXPECT_EQ(ran, 2000);
}

TEST(BackgroundThreads, WorkThatWaitsForLaterWorkIsNotStarved) {
  BackgroundThreads threads;
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

}  // namespace
}  // namespace carillon
