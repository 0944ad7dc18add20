// A service for tests of servers, which counts its handlers, and a server of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/background.h"
#include "distributed/serving/rpc_server.h"
#include "eventually.h"

namespace carillon {

inline MessagePieces PiecesOf(std::string bytes) {
  MessagePieces pieces;
  pieces.AddFields(std::move(bytes));
  return pieces;
}

// Random ones, over and over.
inline std::string RandomBytes(size_t size, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::string block(std::min<size_t>(size, 4099), '\0');
  for (char& byte : block) byte = static_cast<char>(random());
  std::string bytes;
  bytes.reserve(size);
  while (bytes.size() < size) bytes.append(block, 0, size - bytes.size());
  return bytes;
}

// Methods:
//   /test/Echo    one request, answered by another thread than the server's
//   /test/Stream  every message is sent back, by the server's thread
//   /test/Held    nothing happens but what the test asks for: see Held; with "greet" among its
//                 metadata it is answered with some right away
//   /test/Custom  what OnCustom was given, by another thread, once the client has sent all
// Outlives the server.
class TestService {
 public:
  // A call of /test/Held. Thread-safe.
  struct Held {
    explicit Held(std::shared_ptr<ServedCall> call) : call(std::move(call)) {}
    const std::shared_ptr<ServedCall> call;
    std::atomic<int> num_messages{0}, told_broken_off{0};
    std::atomic<bool> told_last{false};

    std::vector<std::string> messages() const {
      std::lock_guard lock(mutex);
      return received;
    }
    mutable std::mutex mutex;
    std::vector<std::string> received;  // under mutex
  };

  void AddTo(RpcServer* server) {
    server->AddMethod("/test/Echo", Make<Echo>());
    server->AddMethod("/test/Stream", Make<Stream>());
    server->AddMethod("/test/Held", Make<HeldHandler>());
    server->AddMethod("/test/Custom", Make<Custom>());
  }

  // Of all handlers that were ever made.
  int made() const { return made_; }
  int alive() const { return alive_; }
  int broken_off() const { return broken_off_; }
  // The calls of /test/Held, in their order.
  std::vector<std::shared_ptr<Held>> held() const {
    std::lock_guard lock(mutex_);
    return held_;
  }

  // What is done in a call of /test/Custom, in one at a time. Waits for the one under way: once it
  // returns, what that one has written may be read, however the client orders its threads.
  using CustomReply = std::function<void(ServedCall& call, std::string request)>;
  void OnCustom(CustomReply reply) {
    std::lock_guard lock(custom_mutex_);
    custom_reply_ = std::move(reply);
  }

 private:
  class Handler : public CallHandler, public std::enable_shared_from_this<Handler> {
   public:
    Handler(TestService* service, std::shared_ptr<ServedCall> call)
        : service_(*service), call_(std::move(call)) {
      ++service_.made_;
      ++service_.alive_;
    }
    ~Handler() override { --service_.alive_; }
    void OnBrokenOff(By) override { ++service_.broken_off_; }

   protected:
    TestService& service_;
    const std::shared_ptr<ServedCall> call_;
  };

  class Echo : public Handler {
   public:
    using Handler::Handler;
    bool takes_one_message() const override { return true; }
    void OnMessage(ReceivedMessage message) override { request_ = std::move(message); }
    void OnLastMessage() override {
      service_.threads_.Start([self = shared_from_this(), this] {
        if (const Status status = request_.Unpack(); !status.ok()) return call_->Finish(status);
        Reply(request_.ToString());
      });
    }

   protected:
    virtual void Reply(std::string request) { call_->Answer(PiecesOf(std::move(request))); }

   private:
    ReceivedMessage request_;
  };

  class Custom final : public Echo {
   public:
    using Echo::Echo;
    void Reply(std::string request) override {
      std::lock_guard lock(service_.custom_mutex_);
      service_.custom_reply_(*call_, std::move(request));
    }
  };

  class Stream final : public Handler {
   public:
    using Handler::Handler;
    void OnMessage(ReceivedMessage message) override {
      if (const Status status = message.Unpack(); !status.ok()) return call_->Finish(status);
      call_->Send(PiecesOf(message.ToString()));
      call_->AskForMessage();
    }
    void OnLastMessage() override { call_->Finish(absl::OkStatus()); }
  };

  class HeldHandler final : public Handler {
   public:
    HeldHandler(TestService* service, std::shared_ptr<ServedCall> call)
        : Handler(service, call), held_(std::make_shared<Held>(std::move(call))) {
      {
        std::lock_guard lock(service_.mutex_);
        service_.held_.push_back(held_);
      }
      if (call_->info().Find("greet") != nullptr) call_->SendMetadata({{"greeting", "hello"}});
    }
    void OnMessage(ReceivedMessage message) override {
      std::lock_guard lock(held_->mutex);
      held_->received.push_back(message.ToString());
      ++held_->num_messages;
    }
    void OnLastMessage() override { held_->told_last = true; }
    void OnBrokenOff(By by) override {
      Handler::OnBrokenOff(by);
      ++held_->told_broken_off;
    }

   private:
    const std::shared_ptr<Held> held_;
  };

  template <typename Kind>
  MakeHandler Make() {
    return [this](std::shared_ptr<ServedCall> call) -> std::shared_ptr<CallHandler> {
      return std::make_shared<Kind>(this, std::move(call));
    };
  }

  std::atomic<int> made_{0}, alive_{0}, broken_off_{0};
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Held>> held_;  // under mutex_
  std::mutex custom_mutex_;                  // held during a call of /test/Custom
  CustomReply custom_reply_;                 // under custom_mutex_
  BackgroundPool threads_;                   // the last to be made: its work uses all of the above
};

// Each test has a server, which leaves no handler behind.
class ServiceTest : public testing::Test {
 protected:
  // In place of the one that there is.
  void StartServer(RpcServerOptions options = {}) {
    options.credentials = ServerCredentials();
    server_.reset();
    server_ = std::make_unique<RpcServer>(options);
    service_.AddTo(server_.get());
    server_->Start();
  }
  virtual std::shared_ptr<const Credentials> ServerCredentials() const {
    return std::make_shared<Credentials>();
  }
  void SetUp() override { StartServer(); }
  void TearDown() override {
    server_.reset();
    EXPECT_TRUE(Eventually([&] { return service_.alive() == 0; }));
  }

  std::shared_ptr<TestService::Held> AwaitHeld(size_t i = 0) const {
    EXPECT_TRUE(Eventually([&] { return service_.held().size() > i; }));
    return service_.held().at(i);
  }

  TestService service_;
  std::unique_ptr<RpcServer> server_;
};

}  // namespace carillon
