#include "cli/launch/task_status.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "report/status_channel.h"

namespace carillon::launch {
namespace {

constexpr size_t kLargestDatagram = 64 << 10;
constexpr int kMostAtOnce = 64;  // datagrams, so that one task cannot keep the launcher busy

bool Take(const nlohmann::json& object, const char* key, std::optional<int64_t>* value) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return false;
  *value = found->get<int64_t>();
  return true;
}

bool Take(const nlohmann::json& object, const char* key, std::optional<double>* value) {
  const auto found = object.find(key);
  if (found == object.end() || (!found->is_number() && !found->is_null())) return false;
  *value = found->is_null() ? std::numeric_limits<double>::quiet_NaN() : found->get<double>();
  return true;
}

// Whether the kernel says that this user sent the message.
bool IsOurs(msghdr& message) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(c), sizeof sender);
    return sender.uid == ::getuid();
  }
  return false;
}

}  // namespace

bool TaskStatus::Merge(std::string_view json) {
  const nlohmann::json object = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return false;
  bool news = false;
  news |= Take(object, "step", &step);
  news |= Take(object, "total_steps", &total_steps);
  news |= Take(object, "loss", &loss);
  news |= Take(object, "steps_per_second", &steps_per_second);
  news |= Take(object, "server_steps", &server_steps);
  news |= Take(object, "bytes_sent", &bytes_sent);
  news |= Take(object, "bytes_received", &bytes_received);
  return news;
}

StatusOr<StatusInbox> StatusInbox::Open(const std::string& address) {
  const UnixAddress where(address);
  StatusInbox inbox(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (inbox.socket_ < 0 ||
      ::setsockopt(inbox.socket_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      ::bind(inbox.socket_, where.get(), where.size) != 0) {
    return Internal("cannot listen for news of tasks at ", address, ": ", std::strerror(errno));
  }
  return inbox;
}

StatusInbox::~StatusInbox() {
  if (socket_ >= 0) ::close(socket_);
}

StatusInbox::StatusInbox(StatusInbox&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)) {}

bool StatusInbox::ReadInto(TaskStatus* status) {
  std::string bytes(kLargestDatagram, '\0');
  bool news = false;
  for (int i = 0; i < kMostAtOnce; ++i) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC);
    if (size < 0) break;
    if (!IsOurs(message)) continue;
    news |= status->Merge(std::string_view(bytes).substr(0, static_cast<size_t>(size)));
  }
  return news;
}

}  // namespace carillon::launch
