#include "checkpoint/event_file.h"

#include <array>
#include <chrono>
#include <unistd.h>

#include "base/str_format.h"
#include "proto/event.pb.h"

namespace carillon {
namespace {

double SecondsSinceEpoch() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string HostName() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

}  // namespace

StatusOr<EventFileWriter> EventFileWriter::Open(Env& env, const std::string& directory,
                                                const std::string& suffix) {
  CARILLON_RETURN_IF_ERROR(env.MakeDirectories(directory));
  const double now = SecondsSinceEpoch();
  const std::string path = JoinPath(
      directory,
      StrFormat("events.out.tfevents.%010d.%s%s", static_cast<int64_t>(now), HostName(), suffix));
  CARILLON_ASSIGN_OR_RETURN(RecordWriter records, RecordWriter::Open(env, path));
  EventFileWriter writer(path, std::move(records));
  tensorflow::Event version;
  version.set_wall_time(now);
  version.set_file_version("brain.Event:2");
  CARILLON_RETURN_IF_ERROR(writer.Write(version));
  CARILLON_RETURN_IF_ERROR(writer.Flush());
  return writer;
}

Status EventFileWriter::Write(const tensorflow::Event& event) {
  if (event.wall_time() != 0) return records_.Append(event.SerializeAsString());
  tensorflow::Event timed = event;
  timed.set_wall_time(SecondsSinceEpoch());
  return records_.Append(timed.SerializeAsString());
}

}  // namespace carillon
