// A connection's bytes, as a client sends them to a server. The first byte of the input says how
// they come: in pieces of so many bytes (0: all at once), its highest bit that they bring the
// preface of HTTP/2 themselves.
#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "distributed/serving/http2_connection.h"
#include "distributed/serving/served_call.h"
#include "fuzz_target.h"

namespace carillon {
namespace {

MessagePieces PiecesOf(std::string bytes) {
  MessagePieces pieces;
  pieces.AddFields(std::move(bytes));
  return pieces;
}

// What all handlers are held to: there is an end, nothing comes after it, and no message that
// nobody asked for.
class Handler : public CallHandler {
 public:
  Handler(int* alive, std::shared_ptr<ServedCall> call) : call_(std::move(call)), alive_(*alive) {
    ++alive_;
  }
  ~Handler() override {
    Require(is_finished_ || is_broken_off_, "every handler hears of its end");
    --alive_;
  }

  // The next bytes have a place, as far as the message has so many.
  void OnPart(ReceivedMessage* part) final {
    Require(!is_broken_off_ && !is_last_told_ && asked_ > 0, "parts come when messages may");
    part->Place(part->come(), Tensor(DType::kUint8, Shape{1000}));
  }
  void OnMessage(ReceivedMessage message) final {
    Require(!is_broken_off_ && !is_last_told_ && asked_ > 0, "messages come when they may");
    Require(message.is_whole(), "messages are whole");
    --asked_;
    const size_t size = message.size();
    Require(message.ToString().size() == size, "messages are as long as they say");
    Take(std::move(message));
  }
  void OnLastMessage() final {
    Require(!is_broken_off_ && !is_last_told_, "the last message is told once");
    is_last_told_ = true;
    TakeLast();
  }
  void OnBrokenOff(By) final {
    Require(!is_broken_off_, "the end is told once");
    is_broken_off_ = true;
  }

 protected:
  virtual void Take(ReceivedMessage message) = 0;
  virtual void TakeLast() { Finish(absl::OkStatus()); }
  void Finish(const Status& status) {
    is_finished_ = true;
    call_->Finish(status);
  }
  void Ask() {
    ++asked_;
    call_->AskForMessage();
  }
  const std::shared_ptr<ServedCall> call_;

 private:
  int& alive_;
  int asked_ = 1;
  bool is_last_told_ = false, is_finished_ = false, is_broken_off_ = false;
};

// One request and its answer.
class Echo final : public Handler {
 public:
  using Handler::Handler;
  bool takes_one_message() const override { return true; }
  void Take(ReceivedMessage message) override { request_ = std::move(message); }
  void TakeLast() override {
    if (const Status status = request_.Unpack(); !status.ok()) return Finish(status);
    call_->Send(PiecesOf(request_.ToString()));
    Finish(absl::OkStatus());
  }

 private:
  ReceivedMessage request_;
};

// Sends all back, metadata included.
class Stream final : public Handler {
 public:
  Stream(int* alive, std::shared_ptr<ServedCall> call) : Handler(alive, std::move(call)) {
    call_->SendMetadata(call_->info().metadata);
  }
  void Take(ReceivedMessage message) override {
    if (const Status status = message.Unpack(); !status.ok()) return Finish(status);
    call_->Send(PiecesOf(message.ToString()));
    Ask();
  }
};

// Asks for nothing.
class Lazy final : public Handler {
 public:
  using Handler::Handler;
  void Take(ReceivedMessage) override {}
};

// Ends with its first message.
class Early final : public Handler {
 public:
  using Handler::Handler;
  void Take(ReceivedMessage message) override {
    call_->Send(PiecesOf(message.ToString()));
    Finish(absl::AbortedError("enough of \"" + call_->info().method + "\""));
  }
};

class Breaking final : public Handler {
 public:
  using Handler::Handler;
  void Take(ReceivedMessage) override { call_->BreakOff(absl::DataLossError("broken")); }
};

class FuzzedServer final : public ConnectionHost {
 public:
  FuzzedServer() {
    Add<Echo>("/f/Echo");
    Add<Stream>("/f/Stream");
    Add<Lazy>("/f/Lazy");
    Add<Early>("/f/Early");
    Add<Breaking>("/f/Breaking");
    methods_["/f/Never"] = [](const std::shared_ptr<ServedCall>& call) {
      call->Finish(absl::PermissionDeniedError("never"));
      return nullptr;
    };
  }

  void Serve(std::string_view bytes, size_t piece) {
    std::promise<void> done;
    loop_->Post([&] {
      ServeOnLoop(bytes, piece);
      done.set_value();
    });
    done.get_future().wait();
  }

 private:
  template <typename Kind>
  void Add(const char* method) {
    methods_[method] = [this](std::shared_ptr<ServedCall> call) {
      return std::make_shared<Kind>(&alive_, std::move(call));
    };
  }

  // Everything happens here and now, so that it happens again for the same input.
  void ServeOnLoop(std::string_view bytes, size_t piece) {
    int ends[2];
    Require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0,
            "there are sockets");
    connection_ = std::make_shared<Http2Connection>(
        Http2Connection::Environment{loop_, this, memory_, buffer_, std::chrono::hours(1)},
        std::make_unique<Socket>(ends[0], nullptr), Caller{}, absl::OkStatus());
    connection_->Begin(EventLoop::Clock::now() + std::chrono::hours(1), std::chrono::hours(1));
    while (connection_ != nullptr && !bytes.empty()) {
      const ssize_t sent = send(ends[1], bytes.data(), std::min(bytes.size(), piece), MSG_NOSIGNAL);
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
      Step(ends[1]);
    }
    shutdown(ends[1], SHUT_WR);
    for (int i = 0; i < 100 && connection_ != nullptr; ++i) Step(ends[1]);
    Require(connection_ == nullptr, "a connection ends with its client");
    Require(alive_ == 0, "no handler is left");
    Require(memory_->held() == 0, "no message is left");
    close(ends[1]);
  }
  void Step(int client) {
    const std::shared_ptr<Http2Connection> connection = connection_;
    connection->OnReady();
    static char heard[1 << 16];
    while (recv(client, heard, sizeof(heard), 0) > 0) {
    }
  }

  const MakeHandler* FindMethod(std::string_view method) const override {
    const auto found = methods_.find(method);
    return found == methods_.end() ? nullptr : &found->second;
  }
  void OnShortOfMemory() override {
    for (int refused = 0; memory_->is_over_limit(); ++refused) {
      Require(refused < 5000, "refusing messages gives memory back");
      if (connection_ == nullptr || !connection_->OldestMessage().has_value()) return;
      connection_->RefuseOldestMessage(absl::ResourceExhaustedError("too much"));
    }
  }
  void OnClosed(Http2Connection*, const std::string&) override { connection_.reset(); }

  std::map<std::string, MakeHandler, std::less<>> methods_;
  int alive_ = 0;
  const std::shared_ptr<MessageMemory> memory_ = std::make_shared<MessageMemory>(32 << 10);
  std::vector<char> buffer_ = std::vector<char>(256 << 10);
  std::shared_ptr<Http2Connection> connection_;  // null: closed
  const std::shared_ptr<EventLoop> loop_ = std::make_shared<EventLoop>();
};

}  // namespace
}  // namespace carillon

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carillon;
  static FuzzedServer server;
  std::string_view input = ViewOf(data, size);
  const auto how = static_cast<uint8_t>(input.empty() ? 0 : input[0]);
  if (!input.empty()) input.remove_prefix(1);
  const size_t piece = (how & 0x7f) == 0 ? SIZE_MAX : how & 0x7f;
  if ((how & 0x80) != 0) {
    server.Serve(input, piece);
  } else {
    server.Serve("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string(input), piece);
  }
  return 0;
}
