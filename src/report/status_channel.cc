#include "report/status_channel.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace carillon {

UnixAddress::UnixAddress(std::string_view text) {
  // A path ends in a zero, which must fit too.
  if (text.empty() || text.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, text.data(), text.size());
  const bool is_abstract = text.front() == '@';
  if (is_abstract) address.sun_path[0] = '\0';
  size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + text.size() + (is_abstract ? 0 : 1));
}

StatusChannel StatusChannel::FromEnvironment() {
  const char* address = std::getenv(kStatusVariable);
  return StatusChannel(address == nullptr ? "" : address);
}

StatusChannel::StatusChannel(std::string_view address) : address_(address) {
  if (address_.size > 0) socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

StatusChannel::~StatusChannel() {
  if (socket_ >= 0) ::close(socket_);
}

StatusChannel::StatusChannel(StatusChannel&& other) noexcept
    : address_(other.address_), socket_(std::exchange(other.socket_, -1)) {}

void StatusChannel::Send(const JsonObject& news) const {
  if (!is_open()) return;
  const std::string text = news.ToString();
  // Whoever listens may be gone or busy, which is no concern of the sender's.
  [[maybe_unused]] const ssize_t sent =
      ::sendto(socket_, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL, address_.get(),
               address_.size);
}

}  // namespace carillon
