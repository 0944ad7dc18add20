#include "report/progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "base/strings.h"
#include "report/status_channel.h"
#include "report/terminal.h"

namespace carillon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSecondsBetweenRedraws = 0.1;
constexpr double kSecondsBetweenNews = 0.5;  // through the status channel
constexpr double kRateMemorySeconds = 3;     // the shown rate looks back about this far
// Few sizes, so that the bar does not jitter with the text.
constexpr int kBars[] = {30, 20, 14, 10};
constexpr int kGap = 2;     // columns between the parts
constexpr int kMargin = 3;  // for the "^C" that a terminal echoes

double Fraction(const ProgressState& state) {
  if (state.total_steps <= 0) return 0;
  return std::clamp(static_cast<double>(state.step) / static_cast<double>(state.total_steps), 0.0,
                    1.0);
}

std::string Bar(double fraction, int columns, const TextStyle& style) {
  const int halves = static_cast<int>(std::lround(fraction * columns * 2));
  const std::string done = StrCat(Repeat("━", halves / 2), halves % 2 == 1 ? "╸" : "");
  const std::string rest = Repeat("━", columns - Columns(done));
  if (style.color) return StrCat(kCyan, done, kReset, kDim, rest, kReset);
  return StrCat(done, Repeat("─", columns - Columns(done)));
}

std::string TimeLeft(const ProgressState& state) {
  if (state.finished) return StrCat("took ", FormatDuration(state.seconds));
  if (state.total_steps <= 0) return FormatDuration(state.seconds);
  if (state.steps_per_second <= 0) return "ETA ?";
  const double left = static_cast<double>(std::max<int64_t>(state.total_steps - state.step, 0));
  return StrCat("ETA ", FormatDuration(left / state.steps_per_second));
}

std::string StepText(const ProgressState& state) {
  if (state.total_steps <= 0) return FormatCount(state.step);
  const std::string total = FormatCount(state.total_steps);
  return StrCat(PadLeft(FormatCount(state.step), Columns(total)), "/", total);
}

}  // namespace

std::string ProgressBar(const ProgressState& state, const TextStyle& style) {
  // What matters most comes first; parts that do not fit are left out from the end of this list.
  std::vector<std::string> parts;
  if (state.loss) parts.push_back(StrCat("loss ", FormatNumber(*state.loss)));
  parts.push_back(TimeLeft(state));
  if (state.steps_per_second > 0) {
    parts.push_back(StrCat(FormatNumber(state.steps_per_second), " steps/s"));
  }
  if (state.examples_per_second > 0) {
    parts.push_back(StrCat(FormatNumber(state.examples_per_second), " examples/s"));
  }
  const std::string step = StrCat("step ", StepText(state));
  const bool has_bar = state.total_steps > 0;
  const std::string percent =
      has_bar ? PadLeft(StrCat(static_cast<int>(Fraction(state) * 100), "%"), 4) : "";
  const int limit = style.width - kMargin;
  int used = Columns(step);
  size_t fit = 0;
  while (fit < parts.size() && used + kGap + Columns(parts[fit]) <= limit) {
    used += kGap + Columns(parts[fit++]);
  }
  std::string line = Styled(style, kBold, step);
  // The bar takes what room is left.
  const int room = limit - used - kGap - Columns(percent);
  const auto bar = std::ranges::find_if(kBars, [&](int columns) { return columns <= room; });
  if (has_bar && bar != std::end(kBars))
    StrAppend(&line, Repeat(" ", kGap), Bar(Fraction(state), *bar, style), percent);
  for (size_t i = 0; i < fit; ++i) StrAppend(&line, Repeat(" ", kGap), parts[i]);
  return line;
}

std::string ProgressLine(const ProgressState& state) {
  std::string line = StrCat("step ", state.step);
  if (state.total_steps > 0) {
    StrAppend(&line, "/", state.total_steps, " (", static_cast<int>(Fraction(state) * 100), "%)");
  }
  if (state.loss) StrAppend(&line, "  loss ", FormatNumber(*state.loss));
  if (state.steps_per_second > 0) {
    StrAppend(&line, "  ", FormatNumber(state.steps_per_second), " steps/s");
  }
  if (state.examples_per_second > 0) {
    StrAppend(&line, "  ", FormatNumber(state.examples_per_second), " examples/s");
  }
  return StrCat(line, "  ", TimeLeft(state));
}

struct Progress::Impl {
  explicit Impl(const Options& o)
      : options(o), style(TextStyle::Of(o.stream)), start(Clock::now()), resumed(start) {
    state.total_steps = o.total_steps;
    state.step = o.first_step;
  }

  double Elapsed() const {
    if (paused) return counted;
    return counted + std::chrono::duration<double>(Clock::now() - resumed).count();
  }
  double Mean() const {
    const double seconds = finished ? state.seconds : Elapsed();
    return seconds > 0 ? static_cast<double>(state.step - options.first_step) / seconds : 0;
  }

  void UpdateRate(double now) {
    const double passed = now - shown_at;
    if (passed > 0) {
      const double recent = static_cast<double>(state.step - shown_step) / passed;
      const double weight = 1 - std::exp(-passed / kRateMemorySeconds);
      rate = shown_at == 0 ? recent : rate + weight * (recent - rate);
    }
    shown_at = now;
    shown_step = state.step;
    state.steps_per_second = finished ? Mean() : rate;
    state.examples_per_second = state.steps_per_second * static_cast<double>(options.batch_size);
    state.seconds = now;
  }

  void Draw() {
    if (options.quiet) return;
    style.width = style.redraw ? TextStyle::Of(options.stream).width : style.width;
    const std::string text =
        style.redraw ? StrCat("\r\x1b[2K", ProgressBar(state, style), finished ? "\n" : "")
                     : StrCat(ProgressLine(state), "\n");
    Write(text);
  }
  void Tell() const {
    JsonObject news;
    news.Add("step", state.step);
    if (state.total_steps > 0) news.Add("total_steps", state.total_steps);
    if (state.loss) news.Add("loss", *state.loss);
    channel.Send(news.Add("steps_per_second", state.steps_per_second));
  }
  void Write(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), options.stream);
    std::fflush(options.stream);
  }

  const Options options;
  const StatusChannel channel = StatusChannel::FromEnvironment();
  TextStyle style;
  const Clock::time_point start;
  Clock::time_point resumed;
  bool paused = false, finished = false;
  double counted = 0;  // seconds up to `resumed`
  double next_draw = 0;
  double next_news = 0;
  double shown_at = 0;
  int64_t shown_step = 0;
  double rate = 0;
  ProgressState state;
};

Progress::Progress(const Options& options) : impl_(std::make_unique<Impl>(options)) {
  impl_->shown_step = options.first_step;
  impl_->next_draw = impl_->style.redraw ? 0 : options.seconds_between_lines;
  if (!impl_->channel.is_open()) impl_->next_news = std::numeric_limits<double>::infinity();
}

Progress::~Progress() {
  // A loop left by an exception leaves the line as it is, and the cursor below it.
  if (impl_->finished) return;
  impl_->Tell();
  if (impl_->style.redraw && !impl_->options.quiet) impl_->Write("\n");
}

void Progress::Update(int64_t step, double loss) {
  impl_->state.loss = loss;
  Update(step);
}

void Progress::Update(int64_t step) {
  Impl& p = *impl_;
  p.state.step = step;
  const double now = p.Elapsed();
  const bool draws = now >= p.next_draw, tells = now >= p.next_news;
  if ((!draws && !tells) || p.finished) return;
  p.UpdateRate(now);
  if (draws) {
    p.next_draw = now + (p.style.redraw ? kSecondsBetweenRedraws : p.options.seconds_between_lines);
    p.Draw();
  }
  if (tells) {
    p.next_news = now + kSecondsBetweenNews;
    p.Tell();
  }
}

void Progress::PrintLine(std::string_view line) {
  Impl& p = *impl_;
  if (p.options.quiet) return;
  p.Write(StrCat(p.style.redraw ? "\r\x1b[2K" : "", line, "\n"));
  if (p.style.redraw && !p.finished) p.Draw();
}

void Progress::Pause() {
  impl_->counted = impl_->Elapsed();
  impl_->paused = true;
}

void Progress::Resume() {
  if (impl_->paused) impl_->resumed = Clock::now();
  impl_->paused = false;
}

void Progress::Finish() {
  Impl& p = *impl_;
  if (p.finished) return;
  const double now = p.Elapsed();
  p.state.seconds = now;
  p.finished = p.state.finished = true;
  p.UpdateRate(now);
  p.Draw();
  p.Tell();
}

int64_t Progress::steps() const { return impl_->state.step - impl_->options.first_step; }
double Progress::seconds() const {
  return impl_->finished ? impl_->state.seconds : impl_->Elapsed();
}
double Progress::steps_per_second() const { return impl_->Mean(); }
double Progress::examples_per_second() const {
  return impl_->Mean() * static_cast<double>(impl_->options.batch_size);
}

}  // namespace carillon
