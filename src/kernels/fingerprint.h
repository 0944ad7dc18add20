// Hashes of strings whose values are part of TensorFlow's contracts.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace carillon {

// FarmHash's Fingerprint64: the same on every machine, for ever.
uint64_t Fingerprint64(std::string_view text);

// SipHash-2-4: unpredictable for whoever does not know the key.
uint64_t SipHash(const std::array<uint64_t, 2>& key, std::string_view text);

// MurmurHash64A with TensorFlow's seed.
uint64_t Murmur64(std::string_view text);

}  // namespace carillon
