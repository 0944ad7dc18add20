// Connections byte by byte: what a client of gRPC would not do, or not so that a test could tell.
#include "distributed/serving/http2_connection.h"

#include <fstream>
#include <gtest/gtest.h>
#include <zlib.h>

#include "distributed/serving/http2_test_util.h"
#include "distributed/serving/service_test_util.h"
#include "eventually.h"
#include "own_process.h"

namespace carillon {
namespace {

using namespace http2;

class Http2ConnectionTest : public ServiceTest {
 protected:
  // Another client, that behaves well.
  void ExpectServed() {
    Http2Client client(server_->port());
    client.Greet();
    const Http2Client::Stream echo = client.Call("/test/Echo", "are you there?");
    EXPECT_EQ(echo.status(), "0");
    EXPECT_EQ(echo.data, Message("are you there?"));
  }
};

std::string DescribeEnd(const Http2Client::Stream& stream) {
  std::string text = stream.reset.has_value() ? StrCat("reset for ", *stream.reset) : "not reset";
  for (const auto& [key, value] : stream.headers) text += StrCat(", ", key, " '", value, "'");
  return text;
}

TEST_F(Http2ConnectionTest, AnswersACall) {
  ExpectServed();
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  EXPECT_EQ(service_.made(), 1);
  EXPECT_EQ(service_.broken_off(), 0);
}

// However the bytes are cut, in the middle of frames, headers and messages.
TEST_F(Http2ConnectionTest, ItDoesNotMatterHowTheBytesCome) {
  const std::string body = Message("hello") + Message("") + Message(RandomBytes(3000));
  const std::string bytes =
      std::string(kPreface) + Frame(kSettings, 0, 0, "") +
      Frame(kHeaders, kEndHeaders, 1, CallHeaders("/test/Stream") + Header("some-bin", "YQ")) +
      Frame(kData, 0, 1, body.substr(0, 3)) + Frame(kData, 0, 1, "") +
      Frame(kData, kPadded, 1, "\4" + body.substr(3, 1000) + std::string(4, '\0')) +
      Frame(kData, kEndStream, 1, body.substr(1003));
  for (const size_t cut : {size_t{1}, size_t{2}, size_t{7}, size_t{100}, bytes.size()}) {
    Http2Client client(server_->port());
    for (size_t at = 0; at < bytes.size(); at += cut) client.Send(bytes.substr(at, cut));
    ASSERT_TRUE(client.AwaitEnd(1)) << cut;
    EXPECT_EQ(client.stream(1).status(), "0");
    EXPECT_EQ(client.stream(1).data, body);
  }
}

TEST_F(Http2ConnectionTest, LargeFramesAreReadInPlace) {
  // As large as the server allows; a message ends within a frame, and the next one begins there.
  const std::string first = RandomBytes(3'000'000), second = RandomBytes(2'500'000);
  const std::string body = Message(first) + Message("") + Message(second) + Message("end");
  Http2Client client(server_->port());
  client.Greet();
  ASSERT_TRUE(client.Ping());  // it has said what it allows
  const uint32_t id = client.Begin("/test/Stream");
  EXPECT_EQ(client.SendData(id, body, true, 1 << 20), body.size());
  ASSERT_TRUE(client.AwaitEnd(id));
  EXPECT_EQ(client.stream(id).status(), "0");
  EXPECT_TRUE(client.stream(id).data == body);
}

TEST_F(Http2ConnectionTest, ManyCallsOfOneConnectionAreMingled) {
  Http2Client client(server_->port());
  client.Greet();
  ASSERT_TRUE(client.Ping());
  constexpr int kCalls = 200;
  std::vector<uint32_t> ids;
  for (int i = 0; i < kCalls; ++i) ids.push_back(client.Begin("/test/Stream"));
  std::string expected;
  for (int round = 0; round < 5; ++round) {
    expected += Message(std::string(static_cast<size_t>(round) * 100, 'x'));
    for (const uint32_t id : ids)
      client.SendData(id, Message(std::string(static_cast<size_t>(round) * 100, 'x')), round == 4);
  }
  for (const uint32_t id : ids) {
    ASSERT_TRUE(client.AwaitEnd(id));
    EXPECT_EQ(client.stream(id).status(), "0");
    EXPECT_EQ(client.stream(id).data, expected);
  }
}

TEST_F(Http2ConnectionTest, HoldsUpAClientWhoseMessagesNobodyAsksFor) {
  Http2Client client(server_->port());
  client.Greet();
  const uint32_t id = client.Begin("/test/Held");
  ASSERT_TRUE(client.Ping());
  const auto held = AwaitHeld();
  constexpr size_t kMessage = 32 << 10;
  size_t sent = 0;
  const auto send_all_that_may = [&] {
    while (client.room(id) >= static_cast<int64_t>(kMessage + 5)) {
      const std::string text = StrCat(sent++);
      client.SendData(id, Message(text + std::string(kMessage - text.size(), ' ')));
    }
    ASSERT_TRUE(client.Ping());
  };
  const auto ask = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const int before = held->num_messages;
      held->call->AskForMessage();
      ASSERT_TRUE(Eventually([&] { return held->num_messages == before + 1; }));
    }
    ASSERT_TRUE(client.Ping());
  };
  for (int i = 0; i < 3; ++i) send_all_that_may();
  EXPECT_EQ(held->num_messages, 1);
  const size_t most = sent;
  EXPECT_GT(most * kMessage, 1 << 20);
  EXPECT_LT(most * kMessage, 16 << 20);
  // A few that are taken make room for a few.
  ask(10);
  send_all_that_may();
  EXPECT_LE(sent, most + 10);
  // Half of all, for as many.
  ask(static_cast<int>(most / 2));
  send_all_that_may();
  EXPECT_LE(sent, most + 10 + most / 2 + 1);
  EXPECT_GE(sent, most + most / 4);
  // All of them, in their order, and nothing is lost.
  client.SendData(id, Message("the last"), true);
  while (held->num_messages < static_cast<int>(sent) + 1) ask(1);
  EXPECT_TRUE(Eventually([&] { return held->told_last.load(); }));
  const std::vector<std::string> messages = held->messages();
  ASSERT_EQ(messages.size(), sent + 1);
  for (size_t i = 0; i < sent; ++i) ASSERT_TRUE(messages[i].starts_with(StrCat(i, " "))) << i;
  EXPECT_EQ(messages.back(), "the last");
  held->call->Finish(absl::OkStatus());
  EXPECT_TRUE(client.AwaitEnd(id));
  EXPECT_EQ(client.stream(id).status(), "0");
  EXPECT_EQ(held->told_broken_off, 0);
}

TEST_F(Http2ConnectionTest, AMessageThatIsAskedForMayBeLargerThanAnyWindow) {
  Http2Client client(server_->port());
  client.Greet();
  const std::string large = RandomBytes(20 << 20);
  const uint32_t id = client.Begin("/test/Held");
  client.SendData(id, Message("first"));
  const auto held = AwaitHeld();
  ASSERT_TRUE(Eventually([&] { return held->num_messages == 1; }));
  held->call->AskForMessage();
  EXPECT_EQ(client.SendData(id, Message(large), true), large.size() + 5);
  ASSERT_TRUE(Eventually([&] { return held->num_messages == 2; }));
  EXPECT_TRUE(held->messages()[1] == large);
  held->call->Finish(absl::OkStatus());
}

TEST_F(Http2ConnectionTest, MessagesThatNobodyAsksForCountAsMemory) {
  StartServer({.message_memory_bytes = 4 << 20});
  Http2Client client(server_->port());
  client.Greet();
  ASSERT_TRUE(client.Ping());
  std::vector<uint32_t> ids;
  for (int call = 0; call < 10; ++call) {
    ids.push_back(client.Begin("/test/Held"));
    for (int i = 0; i < 100; ++i) client.SendData(ids.back(), Message(std::string(10'000, 'x')));
    ASSERT_TRUE(client.Ping());
  }
  // A megabyte each: those that have waited for the longest are refused.
  int refused = 0;
  for (const uint32_t id : ids) {
    if (client.stream(id).status() == "none") continue;
    EXPECT_EQ(client.stream(id).status(), "8");  // RESOURCE_EXHAUSTED
    ++refused;
  }
  EXPECT_GE(refused, 5);
  EXPECT_LE(refused, 8);
  EXPECT_EQ(client.stream(ids.back()).status(), "none");
  EXPECT_TRUE(Eventually([&] { return service_.broken_off() == refused; }));
  ExpectServed();
}

TEST_F(Http2ConnectionTest, AClientThatIsGoneBreaksItsCallsOffOnce) {
  {
    Http2Client client(server_->port());
    client.Greet();
    for (int i = 0; i < 20; ++i) client.SendData(client.Begin("/test/Held"), Message("x"));
    AwaitHeld(19);
  }
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  EXPECT_EQ(service_.broken_off(), 20);
  // What is asked of a call that is over has no effect.
  for (const auto& held : service_.held()) {
    held->call->Send(PiecesOf("x"));
    held->call->AskForMessage();
    held->call->Finish(absl::OkStatus());
    held->call->BreakOff(absl::OkStatus());
    EXPECT_EQ(held->told_broken_off, 1);
  }
  EXPECT_EQ(service_.broken_off(), 20);
}

TEST_F(Http2ConnectionTest, AnAnswerThatNobodyTakesIsBrokenOffOnce) {
  {
    Http2Client client(server_->port(), 4096);
    client.Greet();
    client.SendData(client.Begin("/test/Held"), Message("x"), true);
    AwaitHeld()->call->Answer(PiecesOf(std::string(64 << 20, 'x')));
    ExpectServed();
  }
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  EXPECT_EQ(AwaitHeld()->told_broken_off, 1);
}

TEST_F(Http2ConnectionTest, ACallThatTheClientResetsIsBrokenOffOnce) {
  Http2Client client(server_->port());
  client.Greet();
  const uint32_t id = client.Begin("/test/Held");
  client.SendData(id, Message("x"));
  const auto held = AwaitHeld();
  client.SendFrame(kReset, 0, id, BigEndian(8, 4));
  EXPECT_TRUE(Eventually([&] { return held->told_broken_off == 1; }));
  client.SendFrame(kReset, 0, id, BigEndian(8, 4));
  held->call->BreakOff(absl::CancelledError("late"));
  EXPECT_EQ(client.Call("/test/Echo", "y").status(), "0");
  EXPECT_EQ(held->told_broken_off, 1);
}

// As gRPC's client does when a call ends before its headers have left.
TEST_F(Http2ConnectionTest, AResetOfACallThatNeverBeganHurtsNoOther) {
  const std::string reset = Frame(kReset, 0, 3, BigEndian(8, 4));
  const std::string bytes = std::string(kPreface) + Frame(kSettings, 0, 0, "") +
                            Frame(kHeaders, kEndHeaders, 1, CallHeaders("/test/Echo")) + reset +
                            reset + Frame(kData, kEndStream, 1, Message("one")) +
                            Frame(kHeaders, kEndHeaders, 5, CallHeaders("/test/Echo")) + reset +
                            Frame(kData, kEndStream, 5, Message("five")) +
                            Frame(kReset, 0, 7, BigEndian(8, 4));
  for (const size_t cut : {size_t{1}, size_t{2}, size_t{7}, size_t{40}, bytes.size()}) {
    Http2Client client(server_->port());
    for (size_t at = 0; at < bytes.size(); at += cut) client.Send(bytes.substr(at, cut));
    ASSERT_TRUE(client.AwaitEnd(1) && client.AwaitEnd(5)) << cut;
    for (const auto& [id, text] : {std::pair(1u, "one"), std::pair(5u, "five")}) {
      const Http2Client::Stream& stream = client.stream(id);
      EXPECT_EQ(stream.data, Message(text)) << DescribeEnd(stream) << ", " << cut << " at a time";
    }
    EXPECT_TRUE(client.Ping());
    EXPECT_FALSE(client.is_told_to_go());
  }
}

TEST_F(Http2ConnectionTest, AClientMayGiveUpManyCalls) {
  Http2Client client(server_->port());
  client.Greet();
  for (int i = 0; i < 5'000; ++i)
    client.SendFrame(kReset, 0, client.Begin("/test/Held"), BigEndian(8, 4));
  EXPECT_EQ(client.Call("/test/Echo", "y").status(), "0");
  EXPECT_FALSE(client.is_told_to_go());
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
}

TEST_F(Http2ConnectionTest, BreakOffTellsBothEnds) {
  Http2Client client(server_->port());
  client.Greet();
  const uint32_t id = client.Begin("/test/Held");
  const auto held = AwaitHeld();
  held->call->Send(PiecesOf("before"));
  held->call->BreakOff(absl::AbortedError("enough"));
  held->call->Send(PiecesOf("after"));
  held->call->Finish(absl::OkStatus());
  ASSERT_TRUE(client.AwaitEnd(id));
  EXPECT_EQ(client.stream(id).status(), "10");
  EXPECT_EQ(client.stream(id).headers.at("grpc-message"), "enough");
  EXPECT_EQ(client.stream(id).data, Message("before"));
  EXPECT_TRUE(Eventually([&] { return held->told_broken_off == 1 && service_.alive() == 0; }));
}

// The call begins and is broken off by the same bytes.
TEST_F(Http2ConnectionTest, EveryHandlerThatIsMadeHearsOfTheEnd) {
  const auto expect_told = [&](const std::string& body) {
    Http2Client client(server_->port());
    client.Send(std::string(kPreface) + Frame(kSettings, 0, 0, "") +
                Frame(kHeaders, kEndHeaders, 1, CallHeaders("/test/Held")) + body);
    EXPECT_TRUE(client.AwaitEnd(1));
    EXPECT_NE(client.stream(1).status(), "0");
    EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
    EXPECT_EQ(service_.broken_off(), service_.made());
  };
  // An error that only shows when the handler, being made, sends something.
  const auto expect_told_by_the_way = [&] {
    const std::string begin =
        Frame(kHeaders, kEndHeaders, 1, CallHeaders("/test/Held") + Header("greet", "1"));
    Http2Client client(server_->port());
    client.Send(std::string(kPreface) + Frame(kSettings, 0, 0, "") + begin + begin);
    EXPECT_TRUE(client.AwaitEnd(1));
    EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
    EXPECT_EQ(service_.broken_off(), service_.made());
  };
  for (int i = 0; i < 20; ++i) {
    expect_told_by_the_way();
    expect_told(Frame(kData, 0, 1, "no message at all"));
    expect_told(Frame(kData, kEndStream, 1, std::string(3, '\0')));
    expect_told(Frame(kData, 0, 1, Message("packed", 1)));
    expect_told(Frame(kData, 0, 1, Message("a good one") + "no message at all"));
  }
}

TEST_F(Http2ConnectionTest, StopWaitsUntilAnswersAreOnTheirWay) {
  // More than the system takes from us; the rest is put into frames at once.
  const std::string large = RandomBytes(6 << 20);
  Http2Client client(server_->port(), 4096);
  client.Greet();
  const uint32_t id = client.Begin("/test/Held");
  AwaitHeld()->call->Answer(PiecesOf(large));
  std::atomic<bool> is_stopped = false;
  std::thread stopper([&] {
    server_->Stop(std::chrono::seconds(60));
    is_stopped = true;
  });
  // Time to stop too early, if it does.
  for (int i = 0; i < 100 && !is_stopped; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_TRUE(client.AwaitEnd(id));
  EXPECT_EQ(client.stream(id).status(), "0");
  EXPECT_TRUE(client.stream(id).data == Message(large));
  EXPECT_TRUE(client.is_told_to_go());
  stopper.join();
}

TEST_F(Http2ConnectionTest, AStoppedServerRefusesConnections) {
  const int port = server_->port();
  EXPECT_TRUE(Http2Client(port).is_open());
  server_->Stop(std::chrono::seconds(1));
  EXPECT_FALSE(Http2Client(port).is_open());
}

std::string DeflatedBy(std::string_view bytes) {
  std::string packed(compressBound(bytes.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  packed.resize(size);
  return packed;
}

TEST_F(Http2ConnectionTest, AnswersWhatIsWrongWithACall) {
  Http2Client client(server_->port());
  client.Greet();
  const auto status = [&](std::string_view method, std::string_view headers,
                          const std::string& body) {
    const uint32_t id = client.Begin(method, headers);
    client.SendFrame(kData, kEndStream, id, body);
    EXPECT_TRUE(client.AwaitEnd(id));
    return client.stream(id).status();
  };
  const std::string packed = Message(DeflatedBy("hello"), 1);
  EXPECT_EQ(status("/test/Echo", "", Message("x")), "0");
  EXPECT_EQ(status("/test/Nothing", "", Message("x")), "12");
  EXPECT_EQ(status("", "", Message("x")), "none");
  EXPECT_EQ(status("/test/Echo", Header("grpc-encoding", "deflate"), packed), "0");
  EXPECT_EQ(status("/test/Echo", Header("grpc-encoding", "gzip"), packed), "3");
  EXPECT_EQ(status("/test/Echo", Header("grpc-encoding", "snappy"), packed), "12");
  EXPECT_EQ(status("/test/Echo", "", packed), "12");
  EXPECT_EQ(status("/test/Echo", "", Message("x", 2)), "3");
  for (const size_t part : {1, 4, 5, 9})
    EXPECT_EQ(status("/test/Echo", "", Message("hello").substr(0, part)), "3") << part;
  EXPECT_EQ(status("/test/Echo", "", "\0\xff\xff\xff\xff" + std::string(10, 'x')), "3");
  EXPECT_EQ(status("/test/Echo", Header("grpc-timeout", "soon"), Message("x")), "3");
  EXPECT_EQ(status("/test/Echo", Header("key-bin", "!"), Message("x")), "3");
  EXPECT_EQ(status("/test/Held", Header("grpc-timeout", "1n"), Message("x")), "4");
  const uint32_t id = client.Begin("/test/Echo");
  client.SendFrame(kData, 0, id, std::string("\0\xff\xff\xff\xff", 5));
  EXPECT_TRUE(client.AwaitEnd(id));
  EXPECT_EQ(client.stream(id).status(), "8");
  EXPECT_EQ(status("/test/Echo", "", Message("x")), "0");
}

TEST_F(Http2ConnectionTest, HeadersAreCountedHoweverShort) {
  Http2Client client(server_->port());
  client.Greet();
  const auto call = [&](int headers) {
    std::string more;
    for (int i = 0; i < headers; ++i) more += Header("x", "");
    const uint32_t id = client.Begin("/test/Echo", more);
    client.SendFrame(kData, kEndStream, id, Message("x"));
    EXPECT_TRUE(client.AwaitEnd(id));
    return client.stream(id);
  };
  EXPECT_EQ(call(500).status(), "0");
  EXPECT_EQ(call(2000).status(), "8");
  EXPECT_EQ(call(500).status(), "0");
  EXPECT_EQ(service_.made(), 2);
}

TEST_F(Http2ConnectionTest, WhatIsNoGrpcIsToldSo) {
  Http2Client client(server_->port());
  client.Greet();
  client.SendFrame(kHeaders, kEndHeaders, 1, CallHeaders("/test/Echo", "text/html"));
  client.SendFrame(kData, kEndStream, 1, "<html>");
  ASSERT_TRUE(client.AwaitEnd(1));
  EXPECT_EQ(client.stream(1).headers.at(":status"), "415");
  EXPECT_EQ(service_.made(), 0);
  client.SendFrame(kHeaders, kEndHeaders | kEndStream, 3,
                   Header(":method", "GET") + Header(":scheme", "http") + Header(":path", "/") +
                       Header(":authority", "server"));
  ASSERT_TRUE(client.AwaitEnd(3));
  EXPECT_EQ(client.stream(3).headers.at(":status"), "415");
}

struct Attack {
  const char* name;
  std::string bytes;
  int times = 1;              // that
  std::string repeated = "";  // follows
  bool is_closed = true;      // the server ends the connection
};

std::string Hello() { return std::string(kPreface) + Frame(kSettings, 0, 0, ""); }
std::string BeginEcho(uint32_t id = 1) {
  return Frame(kHeaders, kEndHeaders, id, CallHeaders("/test/Echo"));
}

std::vector<Attack> Attacks() {
  std::string resets;
  for (uint32_t id = 1; id < 60'000; id += 2)
    resets += BeginEcho(id) + Frame(kReset, 0, id, BigEndian(8, 4));
  std::string calls;
  for (uint32_t id = 1; id < 20'000; id += 2) calls += BeginEcho(id);
  const std::string big_header = Header("x", std::string(60'000, 'x'));
  std::string continued = Frame(kHeaders, 0, 1, CallHeaders("/test/Echo"));
  for (int i = 0; i < 2000; ++i)
    continued += Frame(kContinuation, 0, 1, Header("x", std::string(8000, 'x')));
  // Into the table of headers, and from there again and again: a few bytes stand for many.
  std::string expanding =
      CallHeaders("/test/Echo") + "\x40\1x" + "\x7f\xf1\x1d" + std::string(3952, 'x');
  expanding += std::string(12'000, '\xbe');
  return {
      {"WrongPreface", "GET / HTTP/1.1\r\nHost: server\r\n\r\n"},
      {"HalfRightPreface", std::string(kPreface.substr(0, 20)) + "GARBAGE"},
      {"Garbage", RandomBytes(100'000)},
      {"GarbageAfterThePreface", std::string(kPreface) + RandomBytes(100'000)},
      {"GarbageAfterSettings", Hello() + RandomBytes(100'000)},
      {"NoSettings", std::string(kPreface) + BeginEcho()},
      {"HeadersThatAreNotEnded",
       Hello() + Frame(kHeaders, 0, 1, CallHeaders("/test/Echo")) + Frame(kPing, 0, 0, "12345678")},
      {"HeadersOfAnotherCallInBetween",
       Hello() + Frame(kHeaders, 0, 1, CallHeaders("/test/Echo")) + BeginEcho(3)},
      {"ContinuationOfNothing", Hello() + Frame(kContinuation, kEndHeaders, 1, "")},
      {"HeadersWithoutEnd", Hello() + continued},
      {"BadHpackIndex", Hello() + Frame(kHeaders, kEndHeaders, 1, "\xff\xff\xff\xff\x0f")},
      {"BadHpackNumber", Hello() + Frame(kHeaders, kEndHeaders, 1, std::string(30, '\xff'))},
      {"BadHuffman",
       Hello() + Frame(kHeaders, kEndHeaders, 1, std::string("\0\x84\xff\xff\xff\xff", 6))},
      {"LargeHpackTable", Hello() + Frame(kHeaders, kEndHeaders, 1, "\x3f\xff\xff\xff\x0f")},
      {"DataOfNoCall", Hello() + Frame(kData, 0, 0, "x")},
      {"DataOfACallThatIsNotBegun", Hello() + Frame(kData, 0, 7, "x")},
      {"HeadersOfNoCall", Hello() + BeginEcho(0)},
      {"EvenCall", Hello() + BeginEcho(2)},
      {"CallsThatGoBackwards", Hello() + BeginEcho(5) + BeginEcho(3), 1, "", false},
      {"MorePaddingThanData", Hello() + BeginEcho() + Frame(kData, kPadded, 1, "\xffshort")},
      {"PaddedNothing", Hello() + BeginEcho() + Frame(kData, kPadded, 1, "")},
      {"FrameTooLarge", Hello() + std::string("\xff\xff\xff\0\0\0\0\0\1", 9)},
      {"WrongSizeOfPing", Hello() + Frame(kPing, 0, 0, "1234")},
      {"WrongSizeOfReset", Hello() + BeginEcho() + Frame(kReset, 0, 1, "123")},
      {"WrongSizeOfSettings", Hello() + Frame(kSettings, 0, 0, "12345")},
      {"SettingsOfACall", Hello() + Frame(kSettings, 0, 1, "")},
      {"SettingsWithTooLargeAWindow",
       Hello() + Frame(kSettings, 0, 0, BigEndian(kInitialWindow, 2) + BigEndian(~0u, 4))},
      {"WindowOverflow", Hello() + Frame(kWindowUpdate, 0, 0, BigEndian(INT32_MAX, 4))},
      {"WindowOfNothing", Hello() + Frame(kWindowUpdate, 0, 0, BigEndian(0, 4))},
      {"PushPromise", Hello() + Frame(kPush, kEndHeaders, 1, BigEndian(2, 4))},
      {"ResetOfNoCall", Hello() + Frame(kReset, 0, 0, BigEndian(8, 4))},
      {"GoAway", Hello() + Frame(kGoAway, 0, 0, BigEndian(0, 4) + BigEndian(0, 4))},
      {"DataPastTheWindow", Hello() + BeginEcho(), 8,
       Frame(kData, 0, 1, std::string(1 << 20, '\0')), false},
      {"WindowOverflowOfACall",
       Hello() + BeginEcho() + Frame(kWindowUpdate, 0, 1, BigEndian(INT32_MAX, 4)), 1, "", false},
      {"DataOfACallThatHasEnded", Hello() + BeginEcho() +
                                      Frame(kData, kEndStream, 1, Message("x")) +
                                      Frame(kData, 0, 1, Message("y"))},
      {"DataOfACallThatWasReset",
       Hello() + BeginEcho() + Frame(kReset, 0, 1, BigEndian(8, 4)) +
           Frame(kData, 0, 1, Message("y")),
       1, "", false},
      {"LargeHeaders",
       Hello() + Frame(kHeaders, kEndHeaders, 1, CallHeaders("/test/Echo") + big_header), 1, "",
       false},
      {"HeadersThatExpand", Hello() + Frame(kHeaders, kEndHeaders, 1, expanding)},
      {"UnknownFrames", Hello(), 1000, Frame(77, 77, 77, "what is this?"), false},
      {"Priorities", Hello(), 10'000, Frame(kPriority, 0, 1, BigEndian(3, 4) + "x"), false},
      {"PriorityOfItself", Hello() + Frame(kPriority, 0, 1, BigEndian(1, 4) + "x"), 1, "", false},
      {"TooManyCalls", Hello() + calls, 1, "", false},
      {"Resets", Hello() + resets, 1, "", false},
      {"ResetsOfCallsThatNeverBegan", Hello(), 500'000, Frame(kReset, 0, 1, BigEndian(8, 4)),
       false},
      {"Pings", Hello(), 500'000, Frame(kPing, 0, 0, "12345678"), false},
      {"SettingsFlood", Hello(), 200'000,
       Frame(kSettings, 0, 0, BigEndian(kInitialWindow, 2) + BigEndian(1, 4)), false},
      {"EmptyData", Hello() + BeginEcho(), 500'000, Frame(kData, 0, 1, ""), false},
      {"EmptyMessages", Hello() + BeginEcho(), 100'000, Frame(kData, 0, 1, Message("")), false},
      {"WindowUpdates", Hello() + BeginEcho(), 200'000, Frame(kWindowUpdate, 0, 1, BigEndian(1, 4)),
       false},
  };
}

class AttackTest : public Http2ConnectionTest, public testing::WithParamInterface<Attack> {};

TEST_P(AttackTest, IsSurvived) {
  ExpectServed();
  const int64_t before = BytesInUse();
  {
    Http2Client attacker(server_->port());
    const Attack& attack = GetParam();
    attacker.Send(attack.bytes);
    ExpectServed();
    std::string many;
    for (int i = 0; i < attack.times; ++i) {
      many += attack.repeated;
      if (many.size() < 1 << 20 && i + 1 < attack.times) continue;
      attacker.Send(many);
      many.clear();
    }
    ExpectServed();
    if (attack.is_closed) {
      EXPECT_TRUE(attacker.AwaitClosed());
    }
    EXPECT_LT(BytesInUse() - before, 64 << 20);
  }
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  ExpectServed();
}

INSTANTIATE_TEST_SUITE_P(All, AttackTest, testing::ValuesIn(Attacks()),
                         [](const testing::TestParamInfo<Attack>& info) {
                           return std::string(info.param.name);
                         });

TEST_F(Http2ConnectionTest, AllAttacksAtOnceAreSurvived) {
  std::vector<std::thread> attackers;
  std::atomic<bool> is_over = false;
  for (const Attack& attack : Attacks()) {
    attackers.emplace_back([this, attack] {
      Http2Client attacker(server_->port());
      attacker.Send(attack.bytes);
      for (int i = 0; i < std::min(attack.times, 1000); ++i) attacker.Send(attack.repeated);
    });
  }
  std::thread good([&] {
    Http2Client client(server_->port());
    client.Greet();
    do {
      for (int i = 0; i < 20; ++i) {
        const Http2Client::Stream echo = client.Call("/test/Echo", "still there?");
        ASSERT_EQ(echo.status(), "0");
        ASSERT_EQ(echo.data, Message("still there?"));
      }
    } while (!is_over);
  });
  for (std::thread& attacker : attackers) attacker.join();
  is_over = true;
  good.join();
  EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
}

TEST_F(Http2ConnectionTest, ClosesAClientThatDoesNotBegin) {
  StartServer({.handshake_timeout = std::chrono::seconds(1)});
  Http2Client silent(server_->port()), half(server_->port()), good(server_->port());
  half.Send(kPreface.substr(0, 10));
  good.Greet();
  EXPECT_TRUE(silent.AwaitClosed());
  EXPECT_TRUE(half.AwaitClosed());
  EXPECT_EQ(good.Call("/test/Echo", "x").status(), "0");
}

TEST_F(Http2ConnectionTest, ClosesAClientThatIsNeverServed) {
  StartServer({.handshake_timeout = std::chrono::milliseconds(500),
               .first_call_timeout = std::chrono::seconds(1)});
  Http2Client good(server_->port()), idle(server_->port()), refused(server_->port());
  for (Http2Client* client : {&good, &idle, &refused}) client->Greet();
  EXPECT_EQ(good.Call("/test/Echo", "x").status(), "0");
  EXPECT_EQ(refused.Call("/test/None", "x").status(), "12");
  EXPECT_TRUE(idle.AwaitClosed());
  EXPECT_TRUE(idle.is_told_to_go());
  EXPECT_TRUE(refused.AwaitClosed());
  EXPECT_EQ(good.Call("/test/Echo", "x").status(), "0");
}

}  // namespace
}  // namespace carillon
