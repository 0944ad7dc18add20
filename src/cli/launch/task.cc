#include "cli/launch/task.h"

#include <cerrno>
#include <unistd.h>

namespace carillon::launch {
namespace {

constexpr size_t kLastLines = 10;
constexpr size_t kReadAtOnce = 64 << 10;
constexpr int kReadsAtTheEnd = 64;  // more than a pipe holds

}  // namespace

Task::Task(TaskPlan plan, size_t number, Screen* screen)
    : plan_(std::move(plan)),
      number_(number),
      screen_(screen),
      out_lines_([this](std::string_view line) { OnLine(line); }),
      err_lines_([this](std::string_view line) { OnLine(line); }) {}

Task::~Task() {
  if (process_.out >= 0) ::close(process_.out);
  if (process_.err >= 0) ::close(process_.err);
}

Status Task::OpenLog(const std::string& folder) {
  const std::string path = JoinPath(folder, StrCat(plan_.job, "-", plan_.index, ".log"));
  CARILLON_ASSIGN_OR_RETURN(log_, PosixEnv().OpenForWriting(path, Env::WriteMode::kTruncate));
  return absl::OkStatus();
}

Status Task::Start(const sigset_t& signal_mask) {
  CARILLON_ASSIGN_OR_RETURN(StatusInbox inbox, StatusInbox::Open(plan_.status_address));
  inbox_.emplace(std::move(inbox));
  CARILLON_ASSIGN_OR_RETURN(
      process_, StartProcess(plan_.program, plan_.arguments, plan_.environment, signal_mask));
  started_ = Clock::now();
  return absl::OkStatus();
}

void Task::AddOutputs(std::vector<int>* fds) const {
  if (process_.out >= 0) fds->push_back(process_.out);
  if (process_.err >= 0) fds->push_back(process_.err);
}

void Task::AddInbox(std::vector<int>* fds) const {
  if (inbox_) fds->push_back(inbox_->fd());
}

bool Task::ReadSome(int* fd, LineSplitter* lines) {
  if (*fd < 0) return false;
  char bytes[kReadAtOnce];
  const ssize_t size = ::read(*fd, bytes, sizeof bytes);
  if (size > 0) {
    lines->Add({bytes, static_cast<size_t>(size)});
    return true;
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  ::close(*fd);
  *fd = -1;
  lines->Finish();
  return false;
}

void Task::ReadOutputs() {
  ReadSome(&process_.out, &out_lines_);
  ReadSome(&process_.err, &err_lines_);
  if (log_ != nullptr) CheckLog(log_->Flush());
}

void Task::ReadInbox() {
  if (inbox_) inbox_->ReadInto(&status_);
}

void Task::OnLine(std::string_view line) {
  const std::string text = Printable(line);
  screen_->TaskLine(number_, text);
  last_lines_.push_back(text);
  if (last_lines_.size() > kLastLines) last_lines_.pop_front();
  if (log_ != nullptr) CheckLog(log_->Append(StrCat(line, "\n")));
}

void Task::CheckLog(const Status& status) {
  if (status.ok()) return;
  log_.reset();
  screen_->Note(StrCat("the log of ", name(), " is incomplete: ",
                       std::string(status.message().data(), status.message().size())));
}

void Task::Signal(int signal) {
  if (started() && !over_) SignalGroup(process_.pid, signal);
}

void Task::SetEnd(int wait_status, const rusage& usage) {
  end_ = wait_status;
  usage_ = usage;
  ended_ = Clock::now();
}

void Task::Finish() {
  if (over_) return;
  over_ = true;
  kill_at.reset();
  // Somebody who has left the group may hold a pipe open, so its end is not waited for.
  for (int i = 0; i < kReadsAtTheEnd && ReadSome(&process_.out, &out_lines_); ++i) {
  }
  for (int i = 0; i < kReadsAtTheEnd && ReadSome(&process_.err, &err_lines_); ++i) {
  }
  for (int* fd : {&process_.out, &process_.err}) {
    if (*fd >= 0) ::close(*fd);
    *fd = -1;
  }
  out_lines_.Finish();
  err_lines_.Finish();
  if (log_ != nullptr) CheckLog(log_->Close());
  log_.reset();
  ReadInbox();
  inbox_.reset();
}

TaskReport Task::Report() const {
  TaskReport report{.name = name(), .is_ps = plan_.is_ps(), .status = status_};
  if (!started()) {
    report.state = "not started";
    return report;
  }
  report.has_ended = end_.has_value();
  report.seconds = std::chrono::duration<double>((end_ ? ended_ : Clock::now()) - started_).count();
  report.peak_rss_bytes = int64_t{usage_.ru_maxrss} * 1024;
  report.state = !end_           ? "runs"
                 : end_expected_ ? "ended"
                 : *end_ == 0    ? "exit 0"
                                 : StrCat("failed: ", end_text());
  return report;
}

}  // namespace carillon::launch
