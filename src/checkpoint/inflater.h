// Inflater: a file that is packed with zlib or gzip, unpacked as it is read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/env.h"

namespace carillon {

// Not thread-safe.
class Inflater {
 public:
  enum class Format { kZlib, kGzip };
  // `file` must outlive it. `kind` names the data in messages: "gzip".
  Inflater(SequentialReader* file, Format format, std::string kind);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fewer bytes than asked for only at the end, which has then been verified. DataLoss names the
  // file and the offset where packed data is cut off or corrupt; `unpacked` is where the caller is,
  // for that message.
  StatusOr<size_t> Read(std::span<char> out, uint64_t unpacked);

 private:
  struct State;
  SequentialReader* const file_;
  const std::string kind_;
  std::unique_ptr<State> state_;
};

}  // namespace carillon
