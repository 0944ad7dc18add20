#include "graph/device_name.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "base/strings.h"

namespace carillon {
namespace {

bool ParseIndex(std::string_view text, std::optional<int>* index) {
  int value = 0;
  if (text == "*") {
    *index = DeviceName::kAny;
    return true;
  }
  if (!absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &value) || value < 0)
    return false;
  *index = value;
  return true;
}

bool IsWord(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

// One part between slashes. False when it is none.
bool ParsePart(std::string_view part, DeviceName* device) {
  const auto value_of = [&](std::string_view key) -> std::optional<std::string_view> {
    if (!part.starts_with(key)) return std::nullopt;
    return part.substr(key.size());
  };
  if (const auto job = value_of("job:")) {
    if (*job == "*") return true;
    if (!IsWord(*job)) return false;
    device->job = std::string(*job);
    return true;
  }
  if (const auto replica = value_of("replica:")) return ParseIndex(*replica, &device->replica);
  if (const auto task = value_of("task:")) return ParseIndex(*task, &device->task);
  std::string_view type = part;
  if (const auto rest = value_of("device:")) {
    type = *rest;
    if (type == "*") return true;
  } else {
    // The short form is only for CPU and GPU, in either case.
    const std::string lower = absl::AsciiStrToLower(
        absl::string_view(type.substr(0, 3).data(), std::min<size_t>(3, type.size())));
    if ((lower != "cpu" && lower != "gpu") || (type.size() > 3 && type[3] != ':')) return false;
  }
  if (device->type.has_value()) return false;  // two device types
  const size_t colon = type.find(':');
  const std::string_view kind = type.substr(0, colon);
  if (!IsWord(kind)) return false;
  device->type = absl::AsciiStrToUpper(absl::string_view(kind.data(), kind.size()));
  return colon == std::string_view::npos || ParseIndex(type.substr(colon + 1), &device->index);
}

bool Fits(const std::optional<int>& asked, const std::optional<int>& there) {
  return !asked.has_value() || *asked == DeviceName::kAny || asked == there;
}

void AppendIndex(std::string* out, std::string_view key, const std::optional<int>& index) {
  if (index.has_value())
    StrAppend(out, key, *index == DeviceName::kAny ? std::string("*") : StrCat(*index));
}

}  // namespace

bool Fits(const DeviceName& asked, const DeviceName& there) {
  return (!asked.job.has_value() || asked.job == there.job) && Fits(asked.replica, there.replica) &&
         Fits(asked.task, there.task) && (!asked.type.has_value() || asked.type == there.type) &&
         Fits(asked.index, there.index);
}

void DeviceName::FillFrom(const DeviceName& outer) {
  if (!job.has_value()) job = outer.job;
  if (!replica.has_value()) replica = outer.replica;
  if (!task.has_value()) task = outer.task;
  if (!type.has_value()) type = outer.type;
  if (!index.has_value()) index = outer.index;
}

std::string DeviceName::ToString() const {
  std::string out;
  if (job.has_value()) StrAppend(&out, "/job:", *job);
  AppendIndex(&out, "/replica:", replica);
  AppendIndex(&out, "/task:", task);
  if (type.has_value()) {
    StrAppend(&out, "/device:", *type, ":",
              index.has_value() && *index != kAny ? StrCat(*index) : std::string("*"));
  }
  return out;
}

StatusOr<DeviceName> ParseDeviceName(std::string_view name) {
  DeviceName device;
  std::string_view rest = name;
  while (!rest.empty()) {
    if (rest.front() == '/') rest.remove_prefix(1);
    const size_t end = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, end);
    if (!part.empty() && !ParsePart(part, &device)) {
      return InvalidArgument(
          "'", name, "' is no device name: '", part,
          "' is not understood (a name looks like /job:worker/replica:0/task:0/device:CPU:0)");
    }
    rest.remove_prefix(end);
  }
  return device;
}

}  // namespace carillon
