// What the targets share. A target is one LLVMFuzzerTestOneInput: libFuzzer calls it, or our own
// driver.cc where there is no clang. A crash, a leak or a failed Require is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/env.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace carillon {

inline std::string_view ViewOf(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "what should always hold does not: %s\n", what);
  std::abort();
}

// A file system with one file.
inline void PutFile(MemoryEnv& env, const char* path, std::string_view content) {
  Require(env.WriteFile(path, content).ok(), "a file in memory can be written");
}

// Splits an input for two readers at a length that its first two bytes give.
struct TwoParts {
  std::string_view first, second;
};
inline TwoParts Split(std::string_view input) {
  if (input.size() < 2) return {input, {}};
  const size_t wanted = static_cast<uint8_t>(input[0]) | size_t{static_cast<uint8_t>(input[1])}
                                                             << 8;
  input.remove_prefix(2);
  const size_t length = wanted < input.size() ? wanted : input.size();
  return {input.substr(0, length), input.substr(length)};
}

}  // namespace carillon
