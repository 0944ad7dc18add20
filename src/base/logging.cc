#include "base/logging.h"

#include <memory>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <string>

namespace carillon {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string Pattern(std::string_view task) {
  std::string pattern = "%H:%M:%S.%e %L ";
  for (const char c : task) pattern.append(c == '%' ? 2 : 1, c);
  return pattern.append(task.empty() ? "" : " ").append("%v");
}

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("carillon",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern(Pattern(""));
    return made;
  }();
  return *logger;
}

}  // namespace

void SetLogLevel(LogLevel level) { Logger().set_level(ToSpdlog(level)); }

void SetLogTask(std::string_view task) { Logger().set_pattern(Pattern(task)); }

void LogLine(LogLevel level, std::string_view message) {
  Logger().log(ToSpdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace carillon
