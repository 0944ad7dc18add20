// What a program shows of a run: a progress line, tables, charts, one-line JSON, memory, and a
// clean end on Ctrl-C.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace carillon {

// "1,234,567".
std::string FormatCount(int64_t value);
// "0:07", "12:34", "1:02:03".
std::string FormatDuration(double seconds);
// About four digits: "0.04321", "38.2", "3,820".
std::string FormatNumber(double value);
// "99.27 %" of 0.9927.
std::string FormatPercent(double share);

// How a stream likes its text.
struct TextStyle {
  int width = 80;       // columns
  bool color = false;   // escape sequences for colours and weight
  bool redraw = false;  // a line may be drawn over
  // What `stream` is now: a terminal of some width, or a file or pipe (80 columns, plain).
  // $NO_COLOR and TERM=dumb are heeded.
  static TextStyle Of(std::FILE* stream);
};

// The state of a training loop, on one line that is redrawn on a terminal, on plain lines at
// intervals otherwise:
//
//   Progress progress({.total_steps = 1000, .batch_size = 100});
//   for (int64_t step = 1; step <= 1000; ++step) progress.Update(step, Train());
//   progress.Finish();
//
// An Update that draws nothing costs about as much as reading the clock. One thread at a time.
// Under `carillon launch` the state also goes to its status line and its closing table.
class Progress {
 public:
  struct Options {
    int64_t total_steps = 0;           // 0 when unknown: no bar and no ETA
    int64_t first_step = 0;            // where the run began, after a restore
    int64_t batch_size = 0;            // examples a step; 0 leaves examples/s out
    double seconds_between_lines = 5;  // when the stream is no terminal
    std::FILE* stream = stderr;
    bool quiet = false;  // measure, show nothing
  };
  explicit Progress(const Options& options);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `step` steps are done; without a loss the last one is shown.
  void Update(int64_t step);
  void Update(int64_t step, double loss);
  // Prints a line of its own above the progress line.
  void PrintLine(std::string_view line);
  // The time between them (an evaluation, a checkpoint) does not count.
  void Pause();
  void Resume();
  // Draws the last state and stops the clock.
  void Finish();

  int64_t steps() const;  // done in this run
  double seconds() const;
  double steps_per_second() const;  // over the whole run; 0 before the first step
  double examples_per_second() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Aligned columns under an optional title and header. A column of numbers is flush right.
class Table {
 public:
  explicit Table(std::string title = "", std::vector<std::string> header = {});
  Table& Row(std::vector<std::string> cells);             // short rows are padded
  std::string ToText(const TextStyle& style = {}) const;  // lines, each ending in '\n'

 private:
  std::string title_;
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

// Curves over a common x axis. Points that are not finite are left out, as are those not above 0
// when `log_y`. Where many points share a column, the line is their mean and the picture shows
// their spread behind it.
struct Chart {
  struct Series {
    std::string name;
    std::vector<double> x, y;  // of the same length
  };
  std::string title;
  std::string x_label;
  std::string y_label;
  bool log_y = false;
  std::vector<Series> series;

  // Drawn with characters; lines, each ending in '\n'.
  std::string ToText(const TextStyle& style = {}, int rows = 14) const;
  // The bytes of a PNG file.
  std::string ToPng(int width = 960, int height = 540) const;
  // Throws Error when the file cannot be written.
  void SavePng(const std::string& path, int width = 960, int height = 540) const;
};

// One JSON object, on one line, members in the order of their Add. Numbers that are not finite
// become null.
class JsonObject {
 public:
  template <typename T>
  requires std::integral<T> &&
      (!std::same_as<T, bool>)JsonObject& Add(std::string_view name, T value) {
    return AddRaw(name, std::to_string(value));
  }
  JsonObject& Add(std::string_view name, bool value);
  JsonObject& Add(std::string_view name, double value);
  JsonObject& Add(std::string_view name, std::string_view value);
  JsonObject& Add(std::string_view name, const char* value);
  JsonObject& Add(std::string_view name, const std::string& value);
  JsonObject& Add(std::string_view name, const JsonObject& value);
  JsonObject& Add(std::string_view name, const std::vector<double>& values);
  JsonObject& Add(std::string_view name, const std::vector<std::string>& values);
  JsonObject& Add(std::string_view name, const std::vector<JsonObject>& values);
  std::string ToString() const { return "{" + members_ + "}"; }

 private:
  JsonObject& AddRaw(std::string_view name, std::string_view json);
  std::string members_;
};

// The most memory that this process has had resident, in MB (10^6 bytes).
double PeakRssMb();

// What a training program says at its end: a table for people, one line of JSON for programs.
struct RunSummary {
  std::string title;  // of the table
  int64_t steps = 0;
  double seconds = 0;
  double steps_per_second = 0;
  double examples_per_second = 0;
  double loss = 0;      // the last one
  double accuracy = 0;  // on the test set, from 0 to 1
  double peak_rss_mb = 0;
  bool interrupted = false;  // the run was ended early; only the table says so

  // Steps, time and speed of the run, and the memory of this process up to now.
  static RunSummary Of(const Progress& progress);
  std::string ToText(const TextStyle& style = {}) const;
  // {"steps": …, "seconds": …, "steps_per_second": …, "examples_per_second": …, "loss": …,
  // "accuracy": …, "peak_rss_mb": …}, to which a program may add its own.
  JsonObject ToJson() const;
};

// While one lives, the first Ctrl-C (SIGINT) only sets a flag, so that a loop can end in order and
// print its table. The second ends the process, as ever. Signals are per process: make one, in
// main().
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();  // what SIGINT did before is back in place
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  bool requested() const;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace carillon
