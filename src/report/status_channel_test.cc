#include "report/status_channel.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/random_id.h"
#include "base/strings.h"

namespace carillon {
namespace {

// A reader at an address of its own, which is also in the environment while it lives.
class Listener {
 public:
  Listener() : name_(StrCat("@carillon-test-", RandomId())) {
    socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const UnixAddress address(name_);
    EXPECT_EQ(::bind(socket_, address.get(), address.size), 0);
    ::setenv(kStatusVariable, name_.c_str(), 1);
  }
  ~Listener() {
    ::unsetenv(kStatusVariable);
    ::close(socket_);
  }
  const std::string& name() const { return name_; }
  // The next datagram, "" when there is none.
  std::string Next() {
    char text[4096];
    const ssize_t size = ::recv(socket_, text, sizeof text, MSG_DONTWAIT);
    return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
  }

 private:
  const std::string name_;
  int socket_ = -1;
};

TEST(StatusChannelTest, SendsObjectsToTheAddressInTheEnvironment) {
  Listener listener;
  const StatusChannel channel = StatusChannel::FromEnvironment();
  EXPECT_TRUE(channel.is_open());
  channel.Send(JsonObject().Add("step", 3).Add("loss", 0.5));
  EXPECT_EQ(listener.Next(), R"({"step": 3, "loss": 0.5})");
}

TEST(StatusChannelTest, DoesNothingWithoutTheVariableOrAReader) {
  ::unsetenv(kStatusVariable);
  const StatusChannel none = StatusChannel::FromEnvironment();
  EXPECT_FALSE(none.is_open());
  none.Send(JsonObject().Add("step", 1));
  StatusChannel("@carillon-nobody-listens-here").Send(JsonObject().Add("step", 1));
  StatusChannel("/nowhere/socket").Send(JsonObject().Add("step", 1));
  EXPECT_FALSE(StatusChannel(std::string(500, 'x')).is_open()) << "too long for an address";
}

TEST(StatusChannelTest, NeverWaitsForAReaderThatDoesNotRead) {
  Listener listener;
  const StatusChannel channel(listener.name());
  for (int i = 0; i < 10'000; ++i) channel.Send(JsonObject().Add("step", i));
  EXPECT_EQ(listener.Next(), R"({"step": 0})");
}

TEST(StatusChannelTest, ProgressTellsItsFirstAndItsLastState) {
  Listener listener;
  Progress progress({.total_steps = 1000, .quiet = true});
  for (int step = 1; step <= 1000; ++step) progress.Update(step, 1.0 / step);
  const std::string first = listener.Next();
  EXPECT_TRUE(first.starts_with(R"({"step": 1, "total_steps": 1000, "loss": 1)")) << first;
  progress.Finish();
  std::string last;
  int datagrams = 1;
  for (std::string next = listener.Next(); !next.empty(); next = listener.Next()) {
    last = next;
    ++datagrams;
  }
  EXPECT_LT(datagrams, 500) << "not every update is worth a datagram";
  EXPECT_TRUE(last.starts_with(R"({"step": 1000, "total_steps": 1000, "loss": 0.001)")) << last;
  EXPECT_NE(last.find("steps_per_second"), std::string::npos);
}

TEST(StatusChannelTest, ProgressThatIsLeftTellsWhereItGot) {
  Listener listener;
  {
    Progress progress({.quiet = true});
    progress.Update(1);
    progress.Update(2);
  }
  EXPECT_TRUE(listener.Next().starts_with(R"({"step": 1, "steps_per_second")"));
  EXPECT_TRUE(listener.Next().starts_with(R"({"step": 2, "steps_per_second")"));
}

}  // namespace
}  // namespace carillon
