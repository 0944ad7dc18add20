// Log lines on standard error: time, level, task, message. Thread-safe.
#pragma once

#include <string_view>

#include "base/strings.h"

namespace carillon {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Lines below `level` are dropped. The default is kInfo.
void SetLogLevel(LogLevel level);
// Which task all lines of the process are from, in the words of `carillon launch`: "worker:0".
// Empty, as at first: they do not say.
void SetLogTask(std::string_view task);
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
