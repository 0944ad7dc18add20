#include "cli/launch/summary.h"

#include <csignal>
#include <cstring>
#include <iterator>
#include <sys/wait.h>

#include "base/strings.h"
#include "report/terminal.h"

namespace carillon::launch {
namespace {

constexpr char kUnknown[] = "-";
constexpr char kBetween[] = "  ·  ";

template <typename T, typename Format>
std::string OrUnknown(const std::optional<T>& value, Format format) {
  return value ? format(*value) : kUnknown;
}

// Of the program's own count, or of its server's over the whole time.
std::optional<double> StepsPerSecond(const TaskReport& task) {
  if (task.status.steps_per_second) return task.status.steps_per_second;
  if (!task.status.steps() || task.seconds <= 0) return std::nullopt;
  return static_cast<double>(*task.status.steps()) / task.seconds;
}

// Of a worker that has told of steps.
std::string WorkerText(const TaskReport& task) {
  const TaskStatus& status = task.status;
  const std::string steps = FormatCount(*status.steps());
  if (task.has_ended) return StrCat(task.name, " ", task.state, " at step ", steps);
  std::string text = StrCat(task.name, " step ", steps);
  if (status.total_steps) StrAppend(&text, "/", FormatCount(*status.total_steps));
  if (const auto rate = StepsPerSecond(task)) {
    StrAppend(&text, " ", FormatNumber(*rate), " steps/s");
  }
  if (status.loss) StrAppend(&text, " loss ", FormatNumber(*status.loss));
  return text;
}

}  // namespace

std::string FormatBytes(int64_t bytes) {
  if (bytes < 1000) return StrCat(bytes, " B");
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB", "PB"};
  double size = static_cast<double>(bytes) / 1000;
  size_t unit = 0;
  // 999.5 would be rounded to 1,000.
  while (size >= 999.5 && unit + 1 < std::size(kUnits)) {
    size /= 1000;
    ++unit;
  }
  return StrCat(FormatNumber(size), " ", kUnits[unit]);
}

std::string DescribeEnd(int wait_status) {
  if (WIFEXITED(wait_status)) {
    const int code = WEXITSTATUS(wait_status);
    return code == 0 ? "exit 0" : StrCat("exit code ", code);
  }
  const int signal = WTERMSIG(wait_status);
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? StrCat("signal ", signal) : StrCat("SIG", name);
}

std::string StatusText(const std::vector<TaskReport>& tasks, double seconds, int width) {
  std::string line;
  int columns = 0, left_out = 0;
  const auto room_for_rest = [](int tasks) { return tasks == 0 ? 0 : 12; };  // "  ·  3 more"
  int telling = 0;
  for (const TaskReport& task : tasks) telling += !task.is_ps && task.status.steps() ? 1 : 0;
  for (const TaskReport& task : tasks) {
    if (task.is_ps || !task.status.steps()) continue;
    --telling;
    std::string part =
        StrCat(line.empty() ? StrCat(FormatDuration(seconds), "  ") : kBetween, WorkerText(task));
    const bool fits =
        width == 0 || columns + Columns(part) + room_for_rest(telling + left_out) <= width;
    if (left_out > 0 || !fits) {
      ++left_out;
      continue;
    }
    line += part;
    columns += Columns(part);
  }
  if (left_out == 0) return line;
  return line.empty() ? StrCat(FormatDuration(seconds), "  ", left_out, " workers")
                      : StrCat(line, kBetween, left_out, " more");
}

std::string TaskTable(const std::vector<TaskReport>& tasks, const TextStyle& style) {
  Table table(
      "", {"task", "state", "steps", "steps/s", "loss", "sent", "received", "peak RSS", "time"});
  for (const TaskReport& task : tasks) {
    const TaskStatus& status = task.status;
    table.Row({task.name, task.state, OrUnknown(status.steps(), FormatCount),
               OrUnknown(StepsPerSecond(task), FormatNumber), OrUnknown(status.loss, FormatNumber),
               OrUnknown(status.bytes_sent, FormatBytes),
               OrUnknown(status.bytes_received, FormatBytes), FormatBytes(task.peak_rss_bytes),
               FormatDuration(task.seconds)});
  }
  return table.ToText(style);
}

}  // namespace carillon::launch
