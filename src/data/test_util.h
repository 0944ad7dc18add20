// Small files of each format, made by the tests themselves.
#pragma once

#include <cstdlib>
#include <gtest/gtest.h>
#include <initializer_list>
#include <string>
#include <unistd.h>
#include <zlib.h>

#include "base/env.h"
#include "base/status.h"
#include "carillon/error.h"

namespace carillon {

inline bool Contains(const Status& status, std::string_view part) {
  return std::string_view(status.message().data(), status.message().size()).find(part) !=
         std::string_view::npos;
}

// The status has the code and each of the parts in its message.
#define EXPECT_STATUS(status_expression, expected_code, ...)                          \
  do {                                                                                \
    const ::carillon::Status checked = (status_expression);                           \
    EXPECT_EQ(checked.code(), absl::StatusCode::expected_code) << checked;            \
    for (const char* part : std::initializer_list<const char*>{__VA_ARGS__}) {        \
      EXPECT_TRUE(Contains(checked, part)) << "no \"" << part << "\" in " << checked; \
    }                                                                                 \
  } while (false)

inline std::string Gzip(const std::string& plain) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(::deflateBound(&stream, plain.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

inline std::string BigEndian32(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

// An idx file of unsigned bytes with these dimensions and this content.
inline std::string IdxFile(std::initializer_list<uint32_t> dims, const std::string& content) {
  std::string file{0, 0, 8, static_cast<char>(dims.size())};
  for (const uint32_t dim : dims) file += BigEndian32(dim);
  return file + content;
}

// Bytes that look random but are always the same.
inline std::string SomeBytes(size_t n, unsigned seed = 1) {
  std::string bytes(n, '\0');
  for (char& byte : bytes) {
    seed = seed * 1664525u + 1013904223u;
    byte = static_cast<char>(seed >> 24);
  }
  return bytes;
}

// A folder that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(::testing::TempDir() + "carillon_XXXXXX") {
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  ~TemporaryFolder() { RemoveAll(path_); }
  std::string Path(const std::string& name) const { return JoinPath(path_, name); }
  std::string Write(const std::string& name, const std::string& content) const {
    EXPECT_TRUE(PosixEnv().MakeDirectories(std::string(Dirname(Path(name)))).ok());
    EXPECT_TRUE(PosixEnv().WriteFile(Path(name), content).ok());
    return Path(name);
  }
  const std::string& path() const { return path_; }

 private:
  static void RemoveAll(const std::string& path) {
    const auto names = PosixEnv().List(path);
    if (names.ok()) {
      for (const std::string& name : *names) RemoveAll(JoinPath(path, name));
    }
    PosixEnv().Remove(path).IgnoreError();
  }
  std::string path_;
};

}  // namespace carillon
