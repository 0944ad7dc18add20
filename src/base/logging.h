// Log lines on standard error: time, level, message. Thread-safe.
#pragma once

#include <string_view>

#include "base/strings.h"

namespace carillon {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Lines below `level` are dropped. The default is kInfo.
void SetLogLevel(LogLevel level);
void LogLine(LogLevel level, std::string_view message);

template <typename... Args>
void LogDebug(const Args&... args) {
  LogLine(LogLevel::kDebug, StrCat(args...));
}
template <typename... Args>
void LogInfo(const Args&... args) {
  LogLine(LogLevel::kInfo, StrCat(args...));
}
template <typename... Args>
void LogWarning(const Args&... args) {
  LogLine(LogLevel::kWarning, StrCat(args...));
}
template <typename... Args>
void LogError(const Args&... args) {
  LogLine(LogLevel::kError, StrCat(args...));
}

}  // namespace carillon
