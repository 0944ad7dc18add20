#include "distributed/serving/event_loop.h"

#include <atomic>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "eventually.h"

namespace carillon {
namespace {

using Clock = EventLoop::Clock;

// Runs `work` on the loop's thread and waits for its end.
void OnLoop(EventLoop& loop, const std::function<void()>& work) {
  std::atomic<bool> done = false;
  loop.Post([&] {
    work();
    done = true;
    done.notify_one();
  });
  done.wait(false);
}

class SocketPair {
 public:
  SocketPair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_), 0); }
  ~SocketPair() {
    for (const int end : ends_) close(end);
  }
  int near() const { return ends_[0]; }
  int far() const { return ends_[1]; }
  void Say() const { EXPECT_EQ(send(far(), "x", 1, 0), 1); }
  bool Hear() const {
    char byte;
    return recv(near(), &byte, 1, 0) == 1;
  }

 private:
  int ends_[2];
};

class Watcher final : public SocketWatcher {
 public:
  explicit Watcher(std::function<void()> on_ready) : on_ready_(std::move(on_ready)) {}
  void OnReady() override { on_ready_(); }

 private:
  const std::function<void()> on_ready_;
};

TEST(EventLoopTest, RunsWhatIsPostedInItsOrder) {
  EventLoop loop;
  std::vector<int> seen;
  std::thread::id thread;
  for (int i = 0; i < 1000; ++i) loop.Post([&, i] { seen.push_back(i); });
  OnLoop(loop, [&] { thread = std::this_thread::get_id(); });
  ASSERT_EQ(seen.size(), 1000);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(EventLoopTest, TakesWorkOfManyThreadsAndOfItsOwn) {
  EventLoop loop;
  std::atomic<int> ran = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) loop.Post([&] { loop.Post([&] { ++ran; }); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(Eventually([&] { return ran == 8000; }));
}

TEST(EventLoopTest, TimersRunInTheirOrder) {
  EventLoop loop;
  std::vector<int> seen;
  std::atomic<bool> done = false;
  OnLoop(loop, [&] {
    const auto now = Clock::now();
    const auto at = [&](int milliseconds, int number) {
      loop.At(now + std::chrono::milliseconds(milliseconds),
              [&, number] { seen.push_back(number); });
    };
    at(20, 4);
    at(5, 2);
    at(5, 3);  // at the same moment: the one made first is first
    at(-5, 1);
    loop.At(now + std::chrono::milliseconds(40), [&] { done = true; });
  });
  ASSERT_TRUE(Eventually([&] { return done.load(); }));
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3, 4}));
}

TEST(EventLoopTest, TimersNeverRunEarly) {
  EventLoop loop;
  std::atomic<int> ran = 0, early = 0;
  OnLoop(loop, [&] {
    for (int i = 1; i <= 20; ++i) {
      const auto when = Clock::now() + std::chrono::microseconds(700 * i);
      loop.At(when, [&, when] {
        if (Clock::now() < when) ++early;
        ++ran;
      });
    }
  });
  ASSERT_TRUE(Eventually([&] { return ran == 20; }));
  EXPECT_EQ(early, 0);
}

TEST(EventLoopTest, CancelledTimersDoNotRun) {
  EventLoop loop;
  std::atomic<int> ran = 0, wrong = 0;
  OnLoop(loop, [&] {
    const auto soon = Clock::now() + std::chrono::milliseconds(5);
    const EventLoop::Timer cancelled = loop.At(soon, [&] { ++wrong; });
    // The first one of two that are due together cancels the other.
    auto second = std::make_shared<EventLoop::Timer>();
    loop.At(soon, [&, second] {
      loop.Cancel(*second);
      ++ran;
    });
    *second = loop.At(soon, [&] { ++wrong; });
    // One that has run, itself, and one that never was.
    auto self = std::make_shared<EventLoop::Timer>();
    *self = loop.At(soon, [&, self] { loop.Cancel(*self); });
    loop.At(soon, [&, self] {
      loop.Cancel(*self);
      loop.Cancel({});
      ++ran;
    });
    loop.Cancel(cancelled);
    loop.Cancel(cancelled);
  });
  ASSERT_TRUE(Eventually([&] { return ran == 2; }));
  OnLoop(loop, [] {});
  EXPECT_EQ(wrong, 0);
}

TEST(EventLoopTest, ATimerMayMakeTheNext) {
  EventLoop loop;
  std::atomic<int> ran = 0;
  std::function<void()> again = [&] {
    if (++ran < 50) loop.At(Clock::now(), again);
  };
  OnLoop(loop, [&] { loop.At(Clock::now(), again); });
  EXPECT_TRUE(Eventually([&] { return ran == 50; }));
}

TEST(EventLoopTest, TellsOfSocketsAsLongAsSomethingCanBeRead) {
  SocketPair pair;
  std::atomic<int> heard = 0;
  EventLoop loop;
  // It reads one byte at a time, and is told again.
  const auto watcher = std::make_shared<Watcher>([&] {
    if (pair.Hear()) ++heard;
  });
  for (int i = 0; i < 10; ++i) pair.Say();
  OnLoop(loop, [&] { EXPECT_TRUE(loop.Watch(pair.near(), watcher)); });
  EXPECT_TRUE(Eventually([&] { return heard == 10; }));
  pair.Say();
  EXPECT_TRUE(Eventually([&] { return heard == 11; }));
  OnLoop(loop, [&] { loop.Unwatch(pair.near()); });
  pair.Say();
  for (int i = 0; i < 100; ++i) OnLoop(loop, [] {});
  EXPECT_EQ(heard, 11);
  OnLoop(loop, [&] { EXPECT_FALSE(loop.Watch(-1, watcher)); });
}

TEST(EventLoopTest, TellsOfWritingOnlyWhenItIsWanted) {
  SocketPair pair;
  std::atomic<int> told = 0;
  EventLoop loop;
  OnLoop(loop,
         [&] { EXPECT_TRUE(loop.Watch(pair.near(), std::make_shared<Watcher>([&] { ++told; }))); });
  for (int i = 0; i < 100; ++i) OnLoop(loop, [] {});
  EXPECT_EQ(told, 0);
  loop.WatchWriting(pair.near(), true);
  EXPECT_TRUE(Eventually([&] { return told > 0; }));
  loop.WatchWriting(pair.near(), false);
  OnLoop(loop, [&] { told = 0; });
  OnLoop(loop, [&] { told = 0; });  // one event may have been under way
  for (int i = 0; i < 100; ++i) OnLoop(loop, [] {});
  EXPECT_EQ(told, 0);
}

TEST(EventLoopTest, ASocketMayBeLeftWhileItIsTold) {
  constexpr int kPairs = 10;
  std::vector<SocketPair> pairs(kPairs);
  std::atomic<int> told = 0;
  EventLoop loop;
  // All are ready at once; the first to be told leaves them all, itself included.
  const auto leave_all = [&] {
    ++told;
    for (const SocketPair& pair : pairs) loop.Unwatch(pair.near());
  };
  for (const SocketPair& pair : pairs) pair.Say();
  OnLoop(loop, [&] {
    for (const SocketPair& pair : pairs)
      EXPECT_TRUE(loop.Watch(pair.near(), std::make_shared<Watcher>(leave_all)));
  });
  EXPECT_TRUE(Eventually([&] { return told > 0; }));
  for (int i = 0; i < 100; ++i) OnLoop(loop, [] {});
  EXPECT_EQ(told, 1);
}

TEST(EventLoopTest, StopRunsWhatWasPostedBefore) {
  for (int round = 0; round < 50; ++round) {
    EventLoop loop;
    std::atomic<int> ran = 0;
    for (int i = 0; i < 100; ++i) loop.Post([&] { ++ran; });
    loop.Stop();
    EXPECT_EQ(ran, 100);
    loop.Post([&] { ++ran; });
    loop.Stop();
    EXPECT_EQ(ran, 100);
  }
}

TEST(EventLoopTest, StopWhileOthersPostLosesNothingHalfway) {
  for (int round = 0; round < 20; ++round) {
    // Whatever is handed in is either run or dropped, and gone either way.
    const auto token = std::make_shared<int>(0);
    std::atomic<int> ran = 0;
    {
      EventLoop loop;
      std::vector<std::thread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, token] {
          for (int i = 0; i < 500; ++i) loop.Post([&, token] { ++ran; });
        });
      }
      loop.Stop();
      const int ran_at_stop = ran;
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(ran, ran_at_stop);
    }
    EXPECT_EQ(token.use_count(), 1);
  }
}

TEST(EventLoopTest, WatchersAndTimersGoWithTheLoop) {
  const auto token = std::make_shared<int>(0);
  SocketPair pair;
  {
    EventLoop loop;
    OnLoop(loop, [&] {
      loop.Watch(pair.near(), std::make_shared<Watcher>([token] {}));
      loop.At(Clock::now() + std::chrono::hours(1000), [token] {});
    });
    EXPECT_EQ(token.use_count(), 3);
  }
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace carillon
