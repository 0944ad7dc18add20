// What the example programs share: their common flags, their data, and how a run is shown and ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carillon/carillon.h"

namespace examples {

using namespace carillon;

// The flags that all programs have; each sets its own defaults.
struct RunFlags {
  int64_t steps = 1000;
  int64_t batch_size = 100;
  double learning_rate = 1e-3;
  int64_t evaluate_every = 0;
  int64_t test_images = 0;
  int64_t seed = 1;
  int threads = 0;
  std::string data_dir;
  bool json = false;
  std::string plot;
  // Looking inside.
  std::string dump_graphs;
  bool log_kernels = false;
  std::string trace;
};
void AddRunFlags(Flags& flags, RunFlags* run);
void AddInspectionFlags(Flags& flags, RunFlags* run);
// What of them is the session's business.
SessionOptions ToSessionOptions(const RunFlags& run);

// Random pictures of 32 x 32 with random labels: nothing can be learned from them, but they show
// how fast a network trains.
DataSplits SyntheticImages(int64_t seed);

// The share of test images that the network gets right, a batch at a time. `accuracy` is computed
// from `images` and `labels`.
struct Evaluation {
  Output images, labels, accuracy;
  Augmentation augment;  // as in training, as far as it is not random
};
double TestAccuracy(Session& session, const Evaluation& evaluation, const Dataset& test,
                    const RunFlags& run);

// One run, from its first step to its table. Shows progress, and ends early, but in order, on
// Ctrl-C.
class TrainingRun {
 public:
  // Throws Error when a file that the run shall write has no folder: better now than at its end.
  // `at_most`: when the steps of the flags are only what is expected, how many there may be.
  explicit TrainingRun(const RunFlags& flags, int64_t at_most = 0);

  // False when all steps are done, or Ctrl-C was pressed.
  bool Continues() const;
  // What to run the next step with: one step is traced when the flags ask for it.
  RunOptions options() const { return {.trace = WantsTrace()}; }
  RunMetadata* metadata() { return &metadata_; }
  // A step is done. Throws Error when the loss is not a finite number.
  void Step(float loss);

  // True after every evaluate_every steps.
  bool WantsEvaluation() const;
  // The time that evaluate() takes does not count as training.
  template <typename Evaluate>
  void Evaluated(Evaluate&& evaluate) {
    progress_.Pause();
    ShowAccuracy(evaluate());
    progress_.Resume();
  }

  // Prints the table, draws the curve, and ends with the JSON line, as the flags ask for. Returns
  // what main() returns.
  template <typename Evaluate>
  int Finish(Evaluate&& evaluate) {
    progress_.Finish();
    return Report(evaluate());
  }

 private:
  bool WantsTrace() const;
  void ShowAccuracy(double accuracy);
  int Report(double accuracy);
  double RecentLoss() const;  // the mean over the last steps

  RunFlags flags_;
  int64_t at_most_;
  Interrupt interrupt_;
  Progress progress_;
  std::vector<double> losses_;
  RunMetadata metadata_;
};

// Prints the error; what main() returns after it.
int Fail(const Error& error);

}  // namespace examples
