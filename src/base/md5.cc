#include "base/md5.h"

#include <openssl/evp.h>

#include "base/throw.h"

namespace carillon {

std::array<uint8_t, 16> Md5(std::string_view text) {
  std::array<uint8_t, 16> digest;
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_md5(), nullptr) != 1 ||
      size != digest.size())
    Throw(Internal("this machine's OpenSSL computes no MD5"));
  return digest;
}

}  // namespace carillon
