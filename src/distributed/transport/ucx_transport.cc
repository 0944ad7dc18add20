#include "distributed/transport/ucx_transport.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/background.h"
#include "base/strings.h"
#include "distributed/transport/process_memory.h"
#include "distributed/transport/ucx_library.h"

namespace carillon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kFrameId = 1, kHasReadId = 2;
// From here on a tensor is read by who receives it.
constexpr size_t kLeastReadBytes = 32 << 10;
// What is sent along with the ticket, at most; all transports of UCX take more.
constexpr size_t kMostHeaderBytes = 1024;
// Up to here a frame is sent from one piece of memory.
constexpr size_t kFlatBytes = 8192;
// One message is often followed by others: how long the receiver looks for them before it sleeps.
constexpr std::chrono::microseconds kLookAgain{20};
// Threads that receive, or run what came of it.
constexpr size_t kMostThreads = 8;
// Frames of many messages are about as large.
constexpr size_t kMostUncounted = 1 << 20;
// How long a connection that is closed may take to let go of what it was sending.
constexpr std::chrono::seconds kCloseTime{2};

// Memory shared by the processes of a machine, and RDMA; TCP listens to anybody. Not cma, which
// reads the memory of the other process: when that has died UCX ends this one, too.
constexpr const char* kWithoutTcp = "posix,sysv,ib,cuda,rocm";
constexpr const char* kWithTcp = "posix,sysv,ib,cuda,rocm,tcp";

// Invariant: all calls of UCX happen under mutex_, those that it makes to us (OnArrival,
// OnReceived, OnSent) included, since it makes them from within ours.
class Ucx final : public UcxTransport {
 public:
  Ucx(const UcxLibrary& library, const UcxOptions& options, OnFrame on_frame)
      : ucx_(library), allocator_(options.allocator), on_frame_(std::move(on_frame)) {}
  ~Ucx() override {
    Stop();
    if (worker_ != nullptr) ucx_.worker_destroy(worker_);
    if (context_ != nullptr) ucx_.cleanup(context_);
    for (const int fd : {turns_, stop_}) {
      if (fd >= 0) ::close(fd);
    }
  }

  Status Start(bool tcp);
  const std::string& address() const override { return address_; }
  std::string proof() const override { return proof_.ToBytes(); }
  bool Accept(uint64_t ticket, const std::string& proof) override {
    const int64_t process = ReadableProcess(proof);
    std::lock_guard lock(mutex_);
    incoming_[ticket].process = process;
    return process != 0;
  }
  StatusOr<std::unique_ptr<Channel>> Connect(const std::string& address, uint64_t ticket,
                                             bool can_read) override;
  void Forget(uint64_t ticket) override;
  void Stop() override;

 private:
  class Endpoint;
  // What every frame begins with.
  struct FrameHeader {
    uint64_t ticket;
    uint64_t number;       // of the frame among those of its channel
    uint64_t address = 0;  // of the content in the sender's memory; 0: it is in the frame
    uint64_t size = 0;     // of the content there
    uint64_t lease = 0;    // where the ticket can be read as long as the content is there
  };
  // A frame on its way out, or the answer that one was read. Belongs to UCX until OnSent.
  struct Outgoing {
    Ucx* transport;
    MessagePieces frame;
    FrameHeader lent{};  // when the content is to be read
    std::string header;  // a FrameHeader, and the bytes before `content`
    std::string flat;
    std::vector<ucp_dt_iov_t> pieces;
  };
  // A frame on its way in.
  struct Incoming {
    Ucx* transport;
    uint64_t ticket;
    ReceivedFrame frame;
    Status status;
    bool is_complete = false;
    // Content that is still to be read: whose, where, how much; and to whom to say that it was.
    int64_t process = 0;
    FrameHeader header{};
    ucp_ep_h sender = nullptr;
  };

  Status Check(ucs_status_t status, const char* what) const {
    if (status == UCS_OK) return absl::OkStatus();
    return absl::UnavailableError(StrCat("UCX: ", what, ": ", ucx_.status_string(status)));
  }
  // Threads take turns to receive. Who does so hands frames over until there is work to do or no
  // more has come for a while, gives the turn to the threads that sleep, of which the next frame
  // wakes one, and does the work: nobody is woken for nothing.
  void Loop();
  void Receive(WorkCollector* work);
  // The frames that are complete. None at all: UCX will raise wake_up_ for the next, or Stop.
  std::optional<std::vector<std::unique_ptr<Incoming>>> NextFrames(bool may_sleep);
  void GiveTurn(int operation);
  // Whether another thread sleeps until its turn, which may have to be made.
  bool HasSuccessor();
  void Send(ucp_ep_h endpoint, FrameHeader header, MessagePieces frame);
  // `data`: memory and its bytes, or pieces and their number.
  void Start(ucp_ep_h endpoint, unsigned id, std::unique_ptr<Outgoing> outgoing, ucp_dt_iov_t data,
             ucp_request_param_t* request);
  void Close(ucp_ep_h endpoint, uint64_t ticket);
  // Reads the content of a frame from its sender's memory, and says so.
  void ReadContent(Incoming* incoming);
  ucs_status_t Arrived(const void* header, size_t header_size, void* data, size_t size,
                       const ucp_am_recv_param_t* param);

  static ucs_status_t OnArrival(void* self, const void* header, size_t header_size, void* data,
                                size_t size, const ucp_am_recv_param_t* param) {
    return static_cast<Ucx*>(self)->Arrived(header, header_size, data, size, param);
  }
  static ucs_status_t OnHasRead(void* self, const void* header, size_t header_size, void*, size_t,
                                const ucp_am_recv_param_t*) {
    FrameHeader given;
    if (header_size != sizeof(given)) return UCS_OK;
    std::memcpy(&given, header, sizeof(given));
    static_cast<Ucx*>(self)->lent_.erase({given.ticket, given.number});
    return UCS_OK;
  }
  static void OnReceived(void* request, ucs_status_t status, size_t, void* incoming_frame) {
    auto* incoming = static_cast<Incoming*>(incoming_frame);
    Ucx& self = *incoming->transport;
    incoming->status = self.Check(status, "a frame was cut off");
    incoming->is_complete = true;
    self.ucx_.request_free(request);
  }
  static void OnSent(void* request, ucs_status_t, void* outgoing_frame) {
    auto* outgoing = static_cast<Outgoing*>(outgoing_frame);
    outgoing->transport->ucx_.request_free(request);
    delete outgoing;
  }

  const UcxLibrary ucx_;
  const std::shared_ptr<Allocator> allocator_;
  const OnFrame on_frame_;
  const MemoryProof proof_;
  std::string address_;

  std::atomic<int> waiting_{0};  // threads that want mutex_ to send
  std::mutex mutex_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  // By ticket. UCX brings small frames sooner than large ones that were sent before them: a frame
  // is handed over when it is complete and has the next number.
  struct Order {
    int64_t process = 0;  // who sends, when its memory can be read
    uint64_t next = 0;
    std::map<uint64_t, std::unique_ptr<Incoming>> frames;
  };
  std::map<uint64_t, Order> incoming_;
  std::vector<std::unique_ptr<Incoming>> abandoned_;
  // What others are reading: by ticket and number of the frame. Each channel has a lease, which
  // holds its ticket until it is closed and stays where it is: who was frozen meanwhile sees by it
  // that what it has read was something else already.
  std::map<std::pair<uint64_t, uint64_t>, MessagePieces> lent_;
  std::deque<std::atomic<uint64_t>> leases_;
  std::atomic<bool> stopping_{false};

  int wake_up_ = -1;  // UCX's, readable when there is something to receive
  int turns_ = -1;    // where threads sleep: epoll on wake_up_, once for each turn, and on stop_
  int stop_ = -1;     // readable after Stop
  std::atomic<int> idle_{0};
  std::mutex threads_mutex_;
  std::vector<std::thread> threads_;  // under threads_mutex_; grows until Stop
};

class Ucx::Endpoint final : public UcxTransport::Channel {
 public:
  Endpoint(Ucx* transport, ucp_ep_h endpoint, uint64_t ticket, std::atomic<uint64_t>* lease)
      : transport_(*transport), endpoint_(endpoint), ticket_(ticket), lease_(lease) {}
  ~Endpoint() override {
    if (lease_ != nullptr) *lease_ = 0;
    transport_.Close(endpoint_, ticket_);
  }
  void Send(MessagePieces frame) override {
    FrameHeader header{ticket_, next_++};
    const auto& pieces = frame.pieces();
    if (lease_ != nullptr && pieces.size() == 2 && pieces[1].tensor.has_value() &&
        pieces[0].bytes.size() <= kMostHeaderBytes && pieces[1].view().size() >= kLeastReadBytes) {
      header.address = reinterpret_cast<uintptr_t>(pieces[1].view().data());
      header.size = pieces[1].view().size();
      header.lease = reinterpret_cast<uintptr_t>(lease_);
    }
    transport_.Send(endpoint_, header, std::move(frame));
  }

 private:
  Ucx& transport_;
  const ucp_ep_h endpoint_;
  const uint64_t ticket_;
  std::atomic<uint64_t>* const lease_;  // null: the other end cannot read memory of this process
  std::atomic<uint64_t> next_{0};
};

Status Ucx::Start(bool tcp) {
  ucp_config_t* config = nullptr;
  CARILLON_RETURN_IF_ERROR(Check(ucx_.config_read(nullptr, nullptr, &config), "its settings"));
  // Unless the user has said something else.
  if (std::getenv("UCX_TLS") == nullptr)
    ucx_.config_modify(config, "TLS", tcp ? kWithTcp : kWithoutTcp);
  ucx_.config_modify(config, "RCACHE_ENABLE", "n");
  // UCX would have a thread of its own watch ways that were not used yet. Once in some hundreds of
  // connections (UCX 1.13) a message on such a way stayed unseen for good, though worker_arm had
  // said that one may sleep.
  ucx_.config_modify(config, "ADAPTIVE_PROGRESS", "n");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  const ucs_status_t made = ucx_.init(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_);
  ucx_.config_release(config);
  CARILLON_RETURN_IF_ERROR(Check(made, "no transport can be used"));
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  CARILLON_RETURN_IF_ERROR(Check(ucx_.worker_create(context_, &worker, &worker_), "its worker"));
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  handler.arg = this;
  for (const auto& [id, callback] : {std::pair{kFrameId, &OnArrival}, {kHasReadId, &OnHasRead}}) {
    handler.id = id;
    handler.cb = callback;
    CARILLON_RETURN_IF_ERROR(Check(ucx_.set_am_recv_handler(worker_, &handler), "its handlers"));
  }
  CARILLON_RETURN_IF_ERROR(Check(ucx_.worker_get_efd(worker_, &wake_up_), "its events"));
  ucp_address_t* address = nullptr;
  size_t size = 0;
  CARILLON_RETURN_IF_ERROR(Check(ucx_.worker_get_address(worker_, &address, &size), "its address"));
  address_.assign(reinterpret_cast<const char*>(address), size);
  ucx_.worker_release_address(worker_, address);
  turns_ = ::epoll_create1(EPOLL_CLOEXEC);
  stop_ = ::eventfd(0, EFD_CLOEXEC);
  epoll_event stop{.events = EPOLLIN, .data = {}};
  if (turns_ < 0 || stop_ < 0 || ::epoll_ctl(turns_, EPOLL_CTL_ADD, stop_, &stop) != 0)
    return absl::UnavailableError(StrCat("UCX: no way to wait for it: ", std::strerror(errno)));
  while (ucx_.worker_arm(worker_) != UCS_OK) ucx_.worker_progress(worker_);
  GiveTurn(EPOLL_CTL_ADD);
  threads_.emplace_back([this] { Loop(); });
  return absl::OkStatus();
}

void Ucx::Loop() {
  for (;;) {
    epoll_event event{};
    ++idle_;
    const int events = ::epoll_wait(turns_, &event, 1, -1);
    --idle_;
    if (stopping_) return;
    if (events <= 0) continue;
    WorkCollector work;
    Receive(&work);
    const bool has_successor = HasSuccessor();
    GiveTurn(EPOLL_CTL_MOD);
    if (has_successor) work.Run();
  }
}

bool Ucx::HasSuccessor() {
  if (idle_ > 0) return true;
  std::lock_guard lock(threads_mutex_);
  if (stopping_ || threads_.size() == kMostThreads) return false;
  threads_.emplace_back([this] { Loop(); });
  return true;
}

void Ucx::GiveTurn(int operation) {
  epoll_event event{.events = EPOLLIN | EPOLLONESHOT, .data = {}};
  ::epoll_ctl(turns_, operation, wake_up_, &event);
}

void Ucx::Receive(WorkCollector* work) {
  auto sleep_at = Clock::now() + kLookAgain;
  while (!stopping_) {
    const auto frames = NextFrames(/*may_sleep=*/!work->empty() || Clock::now() >= sleep_at);
    if (!frames.has_value()) return;
    for (const auto& incoming : *frames) {
      if (incoming->status.ok() && incoming->header.address != 0) ReadContent(incoming.get());
      if (incoming->status.ok()) {
        on_frame_(incoming->ticket, std::move(incoming->frame));
      } else {
        on_frame_(incoming->ticket, incoming->status);
      }
    }
    if (!frames->empty()) sleep_at = Clock::now() + kLookAgain;
  }
}

std::optional<std::vector<std::unique_ptr<Ucx::Incoming>>> Ucx::NextFrames(bool may_sleep) {
  // The lock is not fair: who looks again and again would keep others from it.
  while (waiting_ > 0) std::this_thread::yield();
  std::vector<std::unique_ptr<Incoming>> complete;
  std::lock_guard lock(mutex_);
  while (ucx_.worker_progress(worker_) != 0) {
  }
  for (auto& [ticket, order] : incoming_) {
    for (auto first = order.frames.begin();
         first != order.frames.end() && first->first == order.next && first->second->is_complete;
         first = order.frames.erase(first)) {
      complete.push_back(std::move(first->second));
      ++order.next;
    }
  }
  if (complete.empty() && may_sleep && ucx_.worker_arm(worker_) == UCS_OK) return std::nullopt;
  return complete;
}

void Ucx::ReadContent(Incoming* incoming) {
  const FrameHeader& header = incoming->header;
  Tensor& content = incoming->frame.content;
  content = Tensor::TryAllocate(DType::kUint8, Shape{static_cast<int64_t>(header.size)},
                                allocator_.get());
  if (content.has_value()) {
    incoming->status = ReadProcessMemory(incoming->process, header.address,
                                         content.mutable_raw_data(), header.size);
    uint64_t ticket = 0;
    incoming->status.Update(
        ReadProcessMemory(incoming->process, header.lease, &ticket, sizeof(ticket)));
    if (incoming->status.ok() && ticket != header.ticket)
      incoming->status = absl::UnavailableError("the sender has given up on the message");
  } else {
    incoming->frame.is_cut = true;
  }
  auto answer = std::make_unique<Outgoing>(Outgoing{.transport = this});
  answer->header.assign(reinterpret_cast<const char*>(&header), sizeof(header));
  ucp_request_param_t request{};
  Start(incoming->sender, kHasReadId, std::move(answer), {nullptr, 0}, &request);
}

void Ucx::Start(ucp_ep_h endpoint, unsigned id, std::unique_ptr<Outgoing> outgoing,
                ucp_dt_iov_t data, ucp_request_param_t* request) {
  request->op_attr_mask |= UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  request->cb.send = &OnSent;
  request->user_data = outgoing.get();
  const FrameHeader& lent = outgoing->lent;
  ++waiting_;
  std::lock_guard lock(mutex_);
  --waiting_;
  if (lent.address != 0) lent_.emplace(std::pair(lent.ticket, lent.number), outgoing->frame);
  const ucs_status_ptr_t started =
      ucx_.am_send(endpoint, id, outgoing->header.data(), outgoing->header.size(), data.buffer,
                   data.length, request);
  if (!UCS_PTR_IS_PTR(started)) return;  // sent, or the other end is gone
  outgoing.release();
  ucx_.worker_signal(worker_);  // somebody has to go on with it
}

ucs_status_t Ucx::Arrived(const void* header, size_t header_size, void* data, size_t size,
                          const ucp_am_recv_param_t* param) {
  FrameHeader given;
  if (header_size < sizeof(given)) return UCS_OK;  // not one of ours
  std::memcpy(&given, header, sizeof(given));
  const auto order = incoming_.find(given.ticket);
  if (order == incoming_.end() || given.number < order->second.next) return UCS_OK;
  std::unique_ptr<Incoming>& place = order->second.frames[given.number];
  if (place != nullptr) return UCS_OK;  // twice: not one of ours either
  place = std::make_unique<Incoming>(Incoming{this, given.ticket});
  Incoming* incoming = place.get();
  std::string& bytes = incoming->frame.bytes;
  bytes.assign(static_cast<const char*>(header) + sizeof(given), header_size - sizeof(given));
  const bool is_here = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  if (given.address != 0) {
    const bool can_answer = (param->recv_attr & UCP_AM_RECV_ATTR_FIELD_REPLY_EP) != 0;
    incoming->is_complete = true;
    incoming->process = order->second.process;
    incoming->header = given;
    incoming->sender = can_answer ? param->reply_ep : nullptr;
    if (incoming->process == 0 || !can_answer || !is_here)
      incoming->status = InvalidArgument("a frame is to be read that cannot be");
    return UCS_OK;
  }
  if (bytes.empty() && is_here) {
    bytes.assign(static_cast<const char*>(data), size);
    incoming->is_complete = true;
    return UCS_OK;
  }
  // What comes whole is messages of which nobody knows yet whose they are: there has to be room.
  const bool is_whole = bytes.empty();
  Allocator* const memory_for_it =
      is_whole && size <= kMostUncounted ? HostAllocator() : allocator_.get();
  incoming->frame.content =
      Tensor::TryAllocate(DType::kUint8, Shape{static_cast<int64_t>(size)}, memory_for_it);
  if (!incoming->frame.content.has_value()) {
    incoming->frame.is_cut = true;
    if (is_whole)
      incoming->status = ResourceExhausted("no memory for a message of ", size, " bytes");
    incoming->is_complete = true;
    return UCS_OK;
  }
  void* memory = incoming->frame.content.mutable_raw_data();
  if (is_here) {
    std::memcpy(memory, data, size);
    incoming->is_complete = true;
    return UCS_OK;
  }
  ucp_request_param_t request{};
  request.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  request.cb.recv_am = &OnReceived;
  request.user_data = incoming;
  const ucs_status_ptr_t started = ucx_.am_recv_data(worker_, data, memory, size, &request);
  if (UCS_PTR_IS_ERR(started)) {
    incoming->status = Check(UCS_PTR_STATUS(started), "a frame could not be received");
    incoming->is_complete = true;
  }
  return UCS_INPROGRESS;
}

StatusOr<std::unique_ptr<UcxTransport::Channel>> Ucx::Connect(const std::string& address,
                                                              uint64_t ticket, bool can_read) {
  if (address.empty()) return absl::UnavailableError("UCX: the other end does not use it");
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  ucp_ep_h endpoint = nullptr;
  std::lock_guard lock(mutex_);
  CARILLON_RETURN_IF_ERROR(Check(ucx_.ep_create(worker_, &params, &endpoint), "no way there"));
  std::atomic<uint64_t>* lease = can_read ? &leases_.emplace_back(ticket) : nullptr;
  return std::make_unique<Endpoint>(this, endpoint, ticket, lease);
}

void Ucx::Send(ucp_ep_h endpoint, FrameHeader given, MessagePieces frame) {
  auto outgoing = std::make_unique<Outgoing>(Outgoing{this, std::move(frame), given});
  const auto& pieces = outgoing->frame.pieces();
  std::string& header = outgoing->header;
  header.assign(reinterpret_cast<const char*>(&given), sizeof(given));
  ucp_request_param_t request{};
  request.op_attr_mask = UCP_OP_ATTR_FIELD_DATATYPE;
  request.datatype = ucp_dt_make_contig(1);
  std::string_view bytes;
  if (given.address != 0) {
    header += pieces[0].bytes;
    request.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    request.flags = UCP_AM_SEND_FLAG_REPLY;
  } else if (pieces.size() == 2 && pieces[1].tensor.has_value() &&
             pieces[0].bytes.size() <= kMostHeaderBytes) {
    header += pieces[0].bytes;
    bytes = pieces[1].view();
  } else if (pieces.size() == 1) {
    bytes = pieces[0].view();
  } else if (outgoing->frame.size() <= kFlatBytes) {
    bytes = outgoing->flat = outgoing->frame.Flatten();
  } else {
    for (const auto& piece : pieces) {
      const std::string_view view = piece.view();
      outgoing->pieces.push_back({const_cast<char*>(view.data()), view.size()});
    }
    request.datatype = UCP_DATATYPE_IOV;
  }
  ucp_dt_iov_t data{const_cast<char*>(bytes.data()), bytes.size()};
  if (!outgoing->pieces.empty()) data = {outgoing->pieces.data(), outgoing->pieces.size()};
  Start(endpoint, kFrameId, std::move(outgoing), data, &request);
}

void Ucx::Close(ucp_ep_h endpoint, uint64_t ticket) {
  ucp_request_param_t request{};
  request.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  request.flags = UCP_EP_CLOSE_FLAG_FORCE;
  std::unique_lock lock(mutex_);
  std::erase_if(lent_, [&](const auto& entry) { return entry.first.first == ticket; });
  const ucs_status_ptr_t closing = ucx_.ep_close(endpoint, &request);
  if (!UCS_PTR_IS_PTR(closing)) return;
  const auto give_up = Clock::now() + kCloseTime;
  while (ucx_.request_check_status(closing) == UCS_INPROGRESS && Clock::now() < give_up) {
    ucx_.worker_progress(worker_);
    lock.unlock();  // others go on meanwhile
    std::this_thread::sleep_for(kLookAgain);
    lock.lock();
  }
  ucx_.request_free(closing);
}

void Ucx::Forget(uint64_t ticket) {
  std::lock_guard lock(mutex_);
  const auto order = incoming_.find(ticket);
  if (order == incoming_.end()) return;
  // What UCX is still receiving needs its memory until then.
  for (auto& [number, incoming] : order->second.frames) {
    if (!incoming->is_complete) abandoned_.push_back(std::move(incoming));
  }
  incoming_.erase(order);
  std::erase_if(abandoned_, [](const auto& incoming) { return incoming->is_complete; });
}

void Ucx::Stop() {
  {
    std::lock_guard lock(threads_mutex_);
    stopping_ = true;
  }
  const uint64_t one = 1;
  if (stop_ >= 0) [[maybe_unused]]
    const ssize_t written = ::write(stop_, &one, sizeof(one));
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace

StatusOr<std::unique_ptr<UcxTransport>> UcxTransport::Make(const UcxOptions& options,
                                                           OnFrame on_frame) {
  CARILLON_ASSIGN_OR_RETURN(const UcxLibrary library, LoadUcx());
  auto transport = std::make_unique<Ucx>(library, options, std::move(on_frame));
  CARILLON_RETURN_IF_ERROR(transport->Start(options.tcp));
  return transport;
}

}  // namespace carillon
