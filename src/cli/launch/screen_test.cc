#include "cli/launch/screen.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace carillon::launch {
namespace {

class ScreenTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe2(ends_, O_NONBLOCK), 0); }
  void TearDown() override {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  // What can be read now.
  std::string Read() {
    std::string text(1 << 20, '\0');
    const ssize_t size = ::read(ends_[0], text.data(), text.size());
    text.resize(size < 0 ? 0 : static_cast<size_t>(size));
    return text;
  }
  std::string Shown(Screen& screen) {
    screen.outlet().Write();
    return Read();
  }

  int ends_[2];
};

TEST_F(ScreenTest, LinesTellTheirTask) {
  Screen screen(ends_[1], {}, {"ps:0", "worker:10"});
  screen.TaskLine(0, "ready");
  screen.TaskLine(1, "");
  screen.Note("all is well");
  screen.Block("a table\n");
  EXPECT_EQ(Shown(screen), "ps:0      │ ready\nworker:10 │\nlaunch    │ all is well\na table\n");
}

TEST_F(ScreenTest, ColourIsForTerminals) {
  Screen screen(ends_[1], {.color = true}, {"ps:0", "worker:0"});
  screen.TaskLine(0, "a");
  screen.TaskLine(1, "b");
  EXPECT_EQ(Shown(screen), "\x1b[36mps:0     │\x1b[0m a\n\x1b[33mworker:0 │\x1b[0m b\n");
}

TEST_F(ScreenTest, TheStatusLineStaysBelow) {
  Screen screen(ends_[1], {.redraw = true}, {"ps:0"});
  screen.Status("1 step");
  screen.Settle();
  EXPECT_EQ(Shown(screen), "1 step");
  screen.TaskLine(0, "a");
  screen.TaskLine(0, "b");
  screen.Settle();
  EXPECT_EQ(Shown(screen), "\r\x1b[2Kps:0   │ a\nps:0   │ b\n1 step");
  screen.Status("1 step");
  screen.Settle();
  EXPECT_EQ(Shown(screen), "") << "it has not changed";
  screen.Status("");
  screen.Settle();
  EXPECT_EQ(Shown(screen), "\r\x1b[2K");
}

TEST_F(ScreenTest, PlainOutputGetsStatusAsLines) {
  Screen screen(ends_[1], {}, {"ps:0"});
  screen.Status("1 step");
  screen.Settle();
  screen.Status("");
  EXPECT_EQ(Shown(screen), "launch │ 1 step\n");
}

TEST_F(ScreenTest, ASlowReaderIsNotWaitedFor) {
  Outlet outlet(ends_[1]);
  const std::string text(1 << 20, 'x');
  outlet.Add(text);
  std::string got;
  outlet.Write();
  EXPECT_TRUE(outlet.full()) << "a pipe holds less than that";
  while (!outlet.empty()) {
    got += Read();
    outlet.Write();
  }
  got += Read();
  EXPECT_EQ(got, text);
  EXPECT_FALSE(outlet.full());
}

TEST(OutletTest, AReaderThatIsGoneIsNoticed) {
  signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  Outlet outlet(ends[1]);
  outlet.Add("text");
  outlet.Write();
  EXPECT_TRUE(outlet.broken());
  outlet.Add("more");
  EXPECT_TRUE(outlet.empty());
  ::close(ends[1]);
}

}  // namespace
}  // namespace carillon::launch
