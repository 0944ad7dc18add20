#include "distributed/serving/rpc_server.h"

#include <optional>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "base/strings.h"
#include "base/throw.h"
#include "distributed/serving/call_metadata.h"

namespace carillon {
namespace {

constexpr char kTlsHandshake = 0x16;  // how every TLS connection begins
constexpr size_t kBuffer = 256 << 10;
constexpr std::chrono::milliseconds kStopPoll{5};

constexpr const char* kNeedsTls =
    "the connection is plain, and this server takes only TLS: give the client certificates "
    "(CARILLON_TLS_DIR) or, for TensorFlow's client on the same machine, the server "
    "--allow_plain_clients";

std::unique_ptr<TlsContext> MakeTls(const Credentials& credentials) {
  if (!credentials.has_tls()) return nullptr;
  return ValueOrThrow(TlsContext::Make(credentials));
}

// Says something that is no TLS, and closes: the other end knows then that none is spoken here.
void AnswerPlainly(int descriptor) {
  // What is left unread makes the system cut the connection off, answer and all; but who goes on
  // talking is not listened to for ever.
  char heard[4096];
  for (int i = 0; i < 16 && recv(descriptor, heard, sizeof(heard), MSG_DONTWAIT) > 0; ++i) {
  }
  constexpr char kNothing[8] = {};
  static_cast<void>(!send(descriptor, kNothing, sizeof(kNothing), MSG_NOSIGNAL | MSG_DONTWAIT));
  shutdown(descriptor, SHUT_WR);
  close(descriptor);
}

}  // namespace

// A connection that has not said anything yet. Its first byte tells TLS from plain HTTP/2.
class RpcServer::Newcomer final : public SocketWatcher {
 public:
  Newcomer(RpcServer* server, int descriptor, EventLoop::Clock::time_point until,
           std::shared_ptr<Stranger> stranger)
      : server_(*server), descriptor_(descriptor), until_(until), stranger_(std::move(stranger)) {
    timer_ = server_.loop_->At(until, [this] { Leave(true); });
  }

  void OnReady() override {
    char first = 0;
    const ssize_t size = recv(descriptor_, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    RpcServer& server = server_;
    const int descriptor = descriptor_;
    const EventLoop::Clock::time_point until = until_;
    const std::shared_ptr<Stranger> stranger = stranger_;
    Leave(size <= 0);
    if (size > 0) server.Welcome(descriptor, first == kTlsHandshake, until, stranger.get());
  }

  // This may be gone afterwards.
  void Leave(bool close_it) {
    const int descriptor = descriptor_;
    server_.loop_->Cancel(timer_);
    server_.loop_->Unwatch(descriptor);
    if (close_it) close(descriptor);
    server_.newcomers_.erase(descriptor);
  }

 private:
  RpcServer& server_;
  const int descriptor_;
  const EventLoop::Clock::time_point until_;
  const std::shared_ptr<Stranger> stranger_;
  EventLoop::Timer timer_;
};

RpcServer::RpcServer(const RpcServerOptions& options)
    : options_(options),
      tls_(MakeTls(*options.credentials)),
      listener_(ValueOrThrow(Listener::Open(options.bind, options.port))),
      address_(StrCat(options.bind, ":", listener_->port())),
      memory_(std::make_shared<MessageMemory>(options.message_memory_bytes)),
      buffer_(kBuffer) {}

RpcServer::~RpcServer() { Stop(std::chrono::milliseconds(0)); }

void RpcServer::AddMethod(std::string name, MakeHandler make) {
  methods_.emplace(std::move(name), std::move(make));
}

void RpcServer::Start() {
  listener_->Start([this](int descriptor, bool few_left) {
    loop_->Post([=, this] { Receive(descriptor, few_left); });
  });
}

void RpcServer::OnLoop(const std::function<void()>& work) {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  loop_->Post([&] {
    work();
    std::lock_guard lock(mutex);
    done = true;
    changed.notify_one();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done; });
}

void RpcServer::Stop(std::chrono::milliseconds grace) {
  listener_->Stop();
  if (is_stopping_) return;  // it has been stopped, by this thread
  OnLoop([&] {
    is_stopping_ = true;
    while (!newcomers_.empty()) {
      const std::shared_ptr<Newcomer> one = newcomers_.begin()->second;
      one->Leave(true);
    }
    for (const auto& [pointer, connection] : connections_) connection->GoAway();
  });
  const auto until = EventLoop::Clock::now() + grace;
  size_t calls = 0;
  do {
    OnLoop([&] { calls = NumCalls(); });
    if (calls > 0) std::this_thread::sleep_for(kStopPoll);
  } while (calls > 0 && EventLoop::Clock::now() < until);
  OnLoop([&] {
    while (!connections_.empty()) {
      const std::shared_ptr<Http2Connection> one = connections_.begin()->second;
      one->Close("");
    }
  });
  loop_->Stop();
}

size_t RpcServer::NumCalls() const {
  size_t calls = 0;
  for (const auto& [pointer, connection] : connections_) calls += connection->num_calls();
  return calls;
}

const MakeHandler* RpcServer::FindMethod(std::string_view method) const {
  const auto found = methods_.find(method);
  return found == methods_.end() ? nullptr : &found->second;
}

void RpcServer::ForgetKnownStrangers() {
  while (!strangers_.empty()) {
    const Stranger& oldest = *strangers_.front();
    const std::shared_ptr<Http2Connection> connection = oldest.connection.lock();
    if (connection != nullptr ? !connection->has_served() : !oldest.newcomer.expired()) return;
    strangers_.pop_front();
  }
}

bool RpcServer::CloseOldestStranger() {
  ForgetKnownStrangers();
  if (strangers_.empty()) return false;
  const std::shared_ptr<Stranger> oldest = strangers_.front();
  strangers_.pop_front();
  if (const auto connection = oldest->connection.lock()) {
    connection->Close("it has made no call, and others need its place");
  } else if (const auto newcomer = oldest->newcomer.lock()) {
    newcomer->Leave(true);
  }
  return true;
}

void RpcServer::Receive(int descriptor, bool few_left) {
  ForgetKnownStrangers();
  // Two for one: the next connection has the lower number that is free then, and does not say that
  // few are left.
  const bool has_place = !few_left || CloseOldestStranger();
  if (few_left) CloseOldestStranger();
  if (descriptor < 0) return;
  if (is_stopping_ || !has_place) {
    close(descriptor);
    return;
  }
  const auto stranger = std::make_shared<Stranger>();
  strangers_.push_back(stranger);
  const auto until = EventLoop::Clock::now() + options_.handshake_timeout;
  const auto newcomer = std::make_shared<Newcomer>(this, descriptor, until, stranger);
  stranger->newcomer = newcomer;
  newcomers_[descriptor] = newcomer;
  if (!loop_->Watch(descriptor, newcomer)) newcomer->Leave(true);
}

void RpcServer::Welcome(int descriptor, bool is_tls, EventLoop::Clock::time_point until,
                        Stranger* stranger) {
  if (is_tls && tls_ == nullptr) {
    log_.Warn("refused ", PeerOf(descriptor),
              ": it speaks TLS, and this server has no certificates");
    return AnswerPlainly(descriptor);
  }
  Status refusal;
  if (!is_tls && tls_ != nullptr &&
      !(options_.plain_clients && own_addresses_.IsPeerOf(descriptor))) {
    log_.Warn("refused ", PeerOf(descriptor), ": ", kNeedsTls);
    refusal = absl::UnauthenticatedError(kNeedsTls);
  }
  BeginConnection(descriptor, is_tls ? tls_.get() : nullptr, std::move(refusal), until, stranger);
}

void RpcServer::BeginConnection(int descriptor, const TlsContext* tls, Status refusal,
                                EventLoop::Clock::time_point until, Stranger* stranger) {
  Caller caller;
  caller.address = PeerOf(descriptor);
  caller.is_on_this_machine = own_addresses_.IsPeerOf(descriptor);
  const auto connection = std::make_shared<Http2Connection>(
      Http2Connection::Environment{loop_, this, memory_, buffer_, options_.longest_standstill},
      std::make_unique<Socket>(descriptor, tls), std::move(caller), std::move(refusal));
  connections_[connection.get()] = connection;
  stranger->connection = connection;
  connection->Begin(until, options_.first_call_timeout);
}

void RpcServer::OnShortOfMemory() {
  // What handlers have been given is theirs; what is still coming, or waits for them to ask for it,
  // can be turned away.
  while (memory_->is_over_limit()) {
    Http2Connection* oldest = nullptr;
    uint64_t oldest_number = UINT64_MAX;
    for (const auto& [pointer, connection] : connections_) {
      const std::optional<uint64_t> number = connection->OldestMessage();
      if (!number.has_value() || *number >= oldest_number) continue;
      oldest = pointer;
      oldest_number = *number;
    }
    if (oldest == nullptr) return;
    log_.Warn("messages that are not read yet take ", memory_->held(),
              " bytes: the one that has been coming for the longest is refused");
    oldest->RefuseOldestMessage(absl::ResourceExhaustedError(
        StrCat("the server's limit of ", memory_->limit(),
               " bytes for messages is reached, and this one has been coming for the longest")));
  }
}

void RpcServer::OnClosed(Http2Connection* connection, const std::string& error) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  if (!error.empty())
    log_.Warn("closed the connection of ", connection->address(), ": ", WriteForLog(error));
  connections_.erase(found);
}

}  // namespace carillon
