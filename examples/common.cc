#include "common.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <random>
#include <utility>

namespace examples {

void AddRunFlags(Flags& flags, RunFlags* run) {
  flags.Group("Training");
  flags.Add("steps", &run->steps, "how many batches to train on", {.min = 1});
  flags.Add("batch_size", &run->batch_size, "images in a batch", {.min = 1});
  flags.Add("learning_rate", &run->learning_rate,
            "how far one step goes; larger learns faster until it does not learn at all",
            {.min = 0});
  flags.Add("seed", &run->seed, "of the weights, the dropout and the order of the images");
  flags.Add("threads", &run->threads, "that a step may use; 0: all cores", {.min = 0});
  flags.Group("Data and results");
  flags.Add("data_dir", &run->data_dir, "the folder with the files of the data set");
  flags.Add("evaluate_every", &run->evaluate_every,
            "steps between looks at the test set; 0: only at the end", {.min = 0});
  flags.Add("test_images", &run->test_images, "how many test images to look at; 0: all",
            {.min = 0});
  flags.Add("plot", &run->plot, "draw the loss curve, and save it as this PNG file");
  flags.Add("json", &run->json, "end with one line of JSON");
}

void AddInspectionFlags(Flags& flags, RunFlags* run) {
  flags.Group("Looking inside");
  flags.Add("dump_graphs", &run->dump_graphs,
            "write the graph after each pass, as text and for Graphviz, into this folder");
  flags.Add("log_kernels", &run->log_kernels,
            "say which kernel computes each op, and why others do not");
  flags.Add("trace", &run->trace,
            "write when each kernel of one step ran to this file, for https://ui.perfetto.dev");
}

SessionOptions ToSessionOptions(const RunFlags& run) {
  return {.threads = run.threads, .log_kernels = run.log_kernels, .dump_graphs = run.dump_graphs};
}

DataSplits SyntheticImages(int64_t seed) {
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  const auto make = [&](const char* name, int64_t count) {
    Dataset data{.name = name,
                 .images = Tensor(kUint8, {count, 32, 32, 3}),
                 .labels = Tensor(kInt64, {count}),
                 .class_names = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}};
    for (uint8_t& pixel : data.images.mutable_values<uint8_t>())
      pixel = static_cast<uint8_t>(random());
    for (int64_t& label : data.labels.mutable_values<int64_t>())
      label = static_cast<int64_t>(random() % 10);
    return data;
  };
  return {make("synthetic train", 5000), make("synthetic test", 1000)};
}

double TestAccuracy(Session& session, const Evaluation& evaluation, const Dataset& test,
                    const RunFlags& run) {
  BatchOptions options = BatchOptions::ForEvaluation(200);
  options.augment.standardise = evaluation.augment.standardise;
  const int64_t wanted = run.test_images == 0 ? test.size() : run.test_images;
  double right = 0;
  int64_t seen = 0;
  Batches batches(test, options);
  for (Batch batch; seen < wanted && batches.Next(&batch);) {
    const int64_t size = std::min(batch.labels.dim(0), wanted - seen);
    batch = {batch.images.Slice(0, size), batch.labels.Slice(0, size)};
    const Tensor accuracy = session.Run(evaluation.accuracy, {{evaluation.images, batch.images},
                                                              {evaluation.labels, batch.labels}});
    right += accuracy.scalar<float>() * static_cast<double>(size);
    seen += size;
  }
  return seen == 0 ? 0 : right / static_cast<double>(seen);
}

TrainingRun::TrainingRun(const RunFlags& flags, int64_t at_most)
    : flags_(flags),
      at_most_(at_most > 0 ? at_most : flags.steps),
      progress_({.total_steps = flags.steps, .batch_size = flags.batch_size}) {
  for (const auto& [flag, path] :
       {std::pair("plot", flags.plot), std::pair("trace", flags.trace)}) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder)) {
      throw Error(Code::kNotFound, std::string("--") + flag + " " + path + ": there is no folder " +
                                       folder.string());
    }
  }
  losses_.reserve(static_cast<size_t>(std::min<int64_t>(flags.steps, 1'000'000)));
}

bool TrainingRun::Continues() const {
  return progress_.steps() < at_most_ && !interrupt_.requested();
}

void TrainingRun::Step(float loss) {
  const int64_t step = static_cast<int64_t>(losses_.size()) + 1;
  if (!std::isfinite(loss)) {
    throw Error(Code::kFailedPrecondition,
                "the loss is not a number any more at step " + std::to_string(step) +
                    ": try a smaller --learning_rate than " + FormatNumber(flags_.learning_rate));
  }
  if (WantsTrace()) {
    metadata_.WriteTrace(flags_.trace);
    progress_.PrintLine("step " + FormatCount(step) + " is in " + flags_.trace +
                        ": open it in https://ui.perfetto.dev");
  }
  losses_.push_back(loss);
  progress_.Update(step, loss);
}

// The tenth step, when everything has settled, or the last of a shorter run.
bool TrainingRun::WantsTrace() const {
  return !flags_.trace.empty() &&
         losses_.size() + 1 == static_cast<size_t>(std::min<int64_t>(flags_.steps, 10));
}

bool TrainingRun::WantsEvaluation() const {
  return flags_.evaluate_every > 0 && progress_.steps() < flags_.steps &&
         progress_.steps() % flags_.evaluate_every == 0;
}

void TrainingRun::ShowAccuracy(double accuracy) {
  progress_.PrintLine("step " + FormatCount(progress_.steps()) + ": test accuracy " +
                      FormatPercent(accuracy));
}

double TrainingRun::RecentLoss() const {
  const auto count = static_cast<int64_t>(std::min<size_t>(losses_.size(), 100));
  if (count == 0) return std::nan("");
  return std::accumulate(losses_.end() - count, losses_.end(), 0.0) / static_cast<double>(count);
}

int TrainingRun::Report(double accuracy) {
  const TextStyle style = TextStyle::Of(stdout);
  if (!flags_.plot.empty()) {
    Chart chart{.title = "Loss", .x_label = "step", .y_label = "loss", .log_y = true};
    chart.series.push_back({.name = "loss", .y = losses_});
    for (size_t i = 0; i < losses_.size(); ++i)
      chart.series[0].x.push_back(static_cast<double>(i + 1));
    std::fputs(chart.ToText(style).c_str(), stdout);
    chart.SavePng(flags_.plot);
  }
  RunSummary summary = RunSummary::Of(progress_);
  summary.title = interrupt_.requested() ? "Stopped early" : "Done";
  summary.loss = RecentLoss();
  summary.accuracy = accuracy;
  summary.interrupted = interrupt_.requested();
  std::fputs(summary.ToText(style).c_str(), stdout);
  if (!flags_.plot.empty()) std::printf("\nThe loss curve is in %s.\n", flags_.plot.c_str());
  if (flags_.json) std::puts(summary.ToJson().ToString().c_str());
  return 0;
}

int Fail(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}

}  // namespace examples
