#include "cli/launch/supervisor.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/text.h"

namespace carillon::launch {
namespace {

constexpr std::chrono::milliseconds kBetweenRedraws{500};
constexpr std::chrono::seconds kAfterKill{1};  // for the kernel to clear a killed group away

std::string Seconds(double seconds) { return StrCat(seconds, " s"); }

Clock::duration ToDuration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

const char* SignalText(int signal) {
  return signal == SIGINT ? "Ctrl-C" : signal == SIGTERM ? "SIGTERM" : "SIGHUP";
}

// As a sentence without its end.
std::string FailureText(const Task& task) {
  const std::string end = task.end_text();
  if (!end.starts_with("SIG")) return StrCat(task.name(), " failed with ", end);
  return StrCat(task.name(), " was killed by ", end,
                end == "SIGKILL" ? " (perhaps there was too little memory)" : "");
}

}  // namespace

Supervisor::Supervisor(const Options& options, const std::vector<TaskPlan>& plans, Screen* screen)
    : options_(options), screen_(screen) {
  for (const TaskPlan& plan : plans) {
    tasks_.push_back(std::make_unique<Task>(plan, tasks_.size(), screen));
  }
  next_status_ =
      start_ + (screen_->style().redraw ? kBetweenRedraws : ToDuration(options_.status_seconds));
}

Status Supervisor::OpenLogs(const std::string& folder) {
  CARILLON_RETURN_IF_ERROR(PosixEnv().MakeDirectories(folder));
  for (const auto& task : tasks_) CARILLON_RETURN_IF_ERROR(task->OpenLog(folder));
  return absl::OkStatus();
}

int Supervisor::Run(const std::string& marker) {
  Signals signals;
  AdoptOrphans();
  {
    const Guard guard(marker);
    StartAll(signals.mask_before());
    while (!AllOver()) {
      WaitForNews(signals);
      CheckGroups();
      CheckDeadlines();
      ShowStatus();
      screen_->Settle();
      screen_->outlet().Write();
      if (screen_->outlet().broken() && interrupt_ == 0) OnInterrupt(SIGPIPE);
    }
  }
  EndChildren();
  ShowResult();
  DrainScreen(signals);
  return failed_ ? 1 : interrupt_ != 0 ? 128 + interrupt_ : 0;
}

void Supervisor::StartAll(const sigset_t& signal_mask) {
  for (const auto& task : tasks_) {
    const Status status = task->Start(signal_mask);
    if (status.ok()) continue;
    screen_->Note(StrCat(task->name(), " cannot be started: ",
                         std::string(status.message().data(), status.message().size())));
    failed_ = true;
    EndAll();
    return;
  }
}

int Supervisor::PollTimeoutMs() const {
  TimePoint next = TimePoint::max();
  for (const auto& task : tasks_) {
    if (task->kill_at) next = std::min(next, *task->kill_at);
  }
  if (ps_patience_) next = std::min(next, *ps_patience_);
  if (screen_->style().redraw || options_.status_seconds > 0) next = std::min(next, next_status_);
  if (next == TimePoint::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

void Supervisor::WaitForNews(Signals& signals) {
  std::vector<int> inputs{signals.fd()};
  // While the screen cannot take more, the tasks' pipes fill and the tasks wait.
  const bool reads = !screen_->outlet().full();
  for (const auto& task : tasks_) {
    if (reads) task->AddOutputs(&inputs);
    task->AddInbox(&inputs);
  }
  std::vector<pollfd> polled;
  for (const int fd : inputs) polled.push_back({fd, POLLIN, 0});
  if (!screen_->outlet().empty()) polled.push_back({screen_->outlet().fd(), POLLOUT, 0});
  ::poll(polled.data(), polled.size(), PollTimeoutMs());
  for (const auto& task : tasks_) {
    if (reads) task->ReadOutputs();
    task->ReadInbox();
  }
  while (const int signal = signals.Next()) OnSignal(signal);
}

void Supervisor::OnSignal(int signal) {
  if (signal == SIGCHLD) {
    Reap();
  } else if (signal == SIGINT && interrupt_ != 0) {
    screen_->Note("Ctrl-C again: killing all tasks");
    for (const auto& task : tasks_) {
      task->ExpectEnd();
      task->Signal(SIGKILL);
    }
  } else {
    OnInterrupt(signal);
  }
}

void Supervisor::OnInterrupt(int signal) {
  const bool first = interrupt_ == 0;
  interrupt_ = signal;
  if (first && signal != SIGPIPE) {
    screen_->Note(StrCat(SignalText(signal), ": passing it on to all tasks",
                         signal == SIGINT ? "; once more kills them" : ""));
  }
  const bool workers_first = AnyWorkerRuns();
  for (const auto& task : tasks_) {
    task->ExpectEnd();
    if (!task->plan().is_ps() || !workers_first) PassOnInterrupt(*task);
  }
}

void Supervisor::PassOnInterrupt(Task& task) {
  if (interrupt_ == SIGINT) {
    task.Signal(SIGINT);
  } else if (!task.ended()) {
    Terminate(task);
  }
}

void Supervisor::Reap() {
  int status = 0;
  rusage usage{};
  for (pid_t pid; (pid = ::wait4(-1, &status, WNOHANG, &usage)) > 0;) {
    for (const auto& task : tasks_) {
      if (task->pid() != pid) continue;
      task->SetEnd(status, usage);
      OnEnd(*task);
    }
  }
}

void Supervisor::OnEnd(Task& task) {
  if (GroupExists(task.pid())) {
    // What it has started and left behind ends with it.
    task.Signal(SIGTERM);
    if (!task.kill_at) task.kill_at = GraceEnd();
  }
  if (task.failed()) OnFailure(task);
  if (!task.plan().is_ps() && !AnyWorkerRuns() && !workers_ended_) OnWorkersEnded();
}

void Supervisor::OnFailure(Task& task) {
  failed_ = true;
  const bool others =
      std::any_of(tasks_.begin(), tasks_.end(), [](auto& t) { return !t->ended(); });
  const bool goes_on = options_.keep_going && !task.plan().is_ps();
  screen_->Note(StrCat(FailureText(task), !others   ? ""
                                          : goes_on ? "; the others go on"
                                                    : "; ending the others"));
  if (!goes_on) EndAll();
}

void Supervisor::OnWorkersEnded() {
  workers_ended_ = true;
  ps_patience_ = GraceEnd();
  if (interrupt_ == 0) return;
  for (const auto& task : tasks_) PassOnInterrupt(*task);
}

void Supervisor::CheckGroups() {
  for (const auto& task : tasks_) {
    if (task->ended() && !task->over() && !GroupExists(task->pid())) task->Finish();
  }
}

void Supervisor::CheckDeadlines() {
  const TimePoint now = Clock::now();
  for (const auto& task : tasks_) {
    if (!task->kill_at || now < *task->kill_at) continue;
    if (!task->killed) {
      screen_->Note(StrCat(task->name(), task->ended() ? " has left processes that have" : " has",
                           " not ended ", Seconds(options_.grace_seconds),
                           " after SIGTERM: killing ", task->ended() ? "them" : "it"));
      task->killed = true;
    } else if (task->ended()) {
      task->Finish();  // the kernel holds on to somebody who has been killed
      continue;
    }
    task->Signal(SIGKILL);
    task->kill_at = now + kAfterKill;
  }
  if (!ps_patience_ || now < *ps_patience_) return;
  ps_patience_.reset();
  for (const auto& task : tasks_) {
    if (task->ended() || task->kill_at) continue;
    screen_->Note(StrCat(task->name(), " still runs ", Seconds(options_.grace_seconds),
                         " after the last worker has ended: ending it"));
    Terminate(*task);
  }
}

void Supervisor::EndAll() {
  for (const auto& task : tasks_) {
    if (!task->ended()) Terminate(*task);
  }
}

void Supervisor::Terminate(Task& task) {
  task.ExpectEnd();
  task.Signal(SIGTERM);
  if (!task.kill_at) task.kill_at = GraceEnd();
}

void Supervisor::ShowStatus() {
  const TimePoint now = Clock::now();
  if (now < next_status_) return;
  const bool redraw = screen_->style().redraw;
  next_status_ = now + (redraw ? kBetweenRedraws : ToDuration(options_.status_seconds));
  if (screen_->outlet().full() || (!redraw && options_.status_seconds <= 0)) return;
  const std::vector<TaskReport> reports = Reports();
  const double seconds = std::chrono::duration<double>(now - start_).count();
  if (redraw) {
    // The width may change; one column stays free, so that no terminal wraps.
    screen_->Status(StatusText(reports, seconds, TextStyle::Of(stdout).width - 1));
    return;
  }
  // A line that tells nothing new but the time is not worth it.
  const std::string news = StatusText(reports, 0, 0);
  if (news != last_status_) screen_->Status(StatusText(reports, seconds, 0));
  last_status_ = news;
}

void Supervisor::ShowResult() {
  screen_->Status("");
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const Task& task = *tasks_[i];
    if (!task.failed()) continue;
    screen_->Note(StrCat(FailureText(task), " after ", FormatDuration(task.Report().seconds),
                         task.last_lines().empty() ? ", without a word" : "; its last lines:"));
    for (const std::string& line : task.last_lines()) screen_->TaskLine(i, line);
  }
  if (!options_.log_dir.empty()) {
    screen_->Note(StrCat("the lines of each task are in ", options_.log_dir));
  }
  screen_->Block(StrCat("\n", TaskTable(Reports(), screen_->style())));
}

void Supervisor::DrainScreen(Signals& signals) {
  Outlet& outlet = screen_->outlet();
  while (true) {
    outlet.Write();
    if (outlet.empty() || outlet.broken()) return;
    pollfd polled[] = {{outlet.fd(), POLLOUT, 0}, {signals.fd(), POLLIN, 0}};
    ::poll(polled, 2, -1);
    while (const int signal = signals.Next()) {
      if (signal != SIGCHLD) return;
    }
  }
}

bool Supervisor::AnyWorkerRuns() const {
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [](const auto& task) { return !task->plan().is_ps() && !task->ended(); });
}

bool Supervisor::AllOver() const {
  return std::all_of(tasks_.begin(), tasks_.end(), [](const auto& task) { return task->over(); });
}

std::vector<TaskReport> Supervisor::Reports() const {
  std::vector<TaskReport> reports;
  for (const auto& task : tasks_) reports.push_back(task->Report());
  return reports;
}

Clock::time_point Supervisor::GraceEnd() const {
  return Clock::now() + ToDuration(options_.grace_seconds);
}

}  // namespace carillon::launch
