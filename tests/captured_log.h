// CapturedLog: tests that look at log lines.
#pragma once

#include <gtest/gtest.h>
#include <string>

#include "base/logging.h"

namespace carillon {

// Keeps what is written to stderr, lines for information too, which other tests do not log. One at
// a time.
class CapturedLog {
 public:
  CapturedLog() {
    SetLogLevel(LogLevel::kInfo);
    testing::internal::CaptureStderr();
  }
  ~CapturedLog() {
    if (!is_over_) End();
  }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  // What was written since it was made.
  std::string End() {
    is_over_ = true;
    SetLogLevel(LogLevel::kWarning);
    return testing::internal::GetCapturedStderr();
  }

 private:
  bool is_over_ = false;
};

}  // namespace carillon
