// Layers, and how to stack them.
//
// A layer applied at once reads like the mathematics:
//
//   Output hidden = Relu(nn::Dense(x, 100)), logits = nn::Dense(hidden, 10);
//
// A layer made without its input is an object. It makes its variables when it is first applied, and
// shares them when it is applied again, so that one network serves training and evaluation:
//
//   nn::Layer network = nn::Sequential({nn::Conv2D(32, 5, {.activation = Relu}), nn::MaxPool(2),
//                                       nn::Flatten(), nn::Dropout(0.5), nn::Dense(10)});
//   Output loss = Mean(SparseSoftmaxCrossEntropy(network(x, nn::kTraining), labels));
//   Output accuracy = Accuracy(network(x), labels);
//
// Images are [batch, height, width, channels]. Names of variables are those of tf.layers:
// "conv2d/kernel", "conv2d_1/bias", "batch_normalization/moving_mean".
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "carillon/graph.h"
#include "carillon/initializers.h"
#include "carillon/variable.h"

namespace carillon::nn {

// Whether a network is being trained: known when it is built, or a bool scalar that is fed.
class Training {
 public:
  Training(bool known) : known_(known) {}     // NOLINT
  Training(const Output& fed) : fed_(fed) {}  // NOLINT
  bool is_known() const { return !fed_.valid(); }
  bool known() const { return known_; }
  const Output& fed() const { return fed_; }

 private:
  bool known_ = false;
  Output fed_;
};
inline const Training kTraining{true};
inline const Training kEvaluation{false};

// A function of one tensor, with the variables that belong to it. Any callable that takes an Output
// (and a Training, if it cares) is one: Relu, a lambda. Copies share their variables, which belong
// to the graph of the first input.
class Layer {
 public:
  template <typename F>
  requires std::invocable<const F&, const Output&, const Training&> Layer(F apply)
      : apply_(std::move(apply)) {}  // NOLINT
  template <typename F>
  requires(std::invocable<const F&, const Output&> && !std::same_as<F, Layer>)
      Layer(F apply)  // NOLINT
      : apply_([apply = std::move(apply)](const Output& x, const Training&) -> Output {
          return apply(x);
        }) {}

  Output operator()(const Output& x, const Training& training = kEvaluation) const {
    return apply_(x, training);
  }

 private:
  std::function<Output(const Output&, const Training&)> apply_;
};

using Activation = std::function<Output(const Output&)>;

// One layer after the other.
Layer Sequential(std::vector<Layer> layers);

struct DenseOptions {
  Activation activation;  // none: linear
  bool use_bias = true;
  Initializer kernel_initializer = init::GlorotUniform();
  Initializer bias_initializer = init::Zeros();
  bool trainable = true;
  std::string name = "dense";
};
// x * kernel + bias, over the last dimension of x.
Layer Dense(int64_t units, const DenseOptions& options = {});
Output Dense(const Output& x, int64_t units, const DenseOptions& options = {});

// A window or a stride: one number for a square.
struct Extent {
  Extent(int64_t both) : height(both), width(both) {}  // NOLINT
  Extent(int64_t height, int64_t width) : height(height), width(width) {}
  int64_t height, width;
};

struct ConvOptions {
  Extent stride = 1;
  std::string padding = "SAME";  // or "VALID"
  Activation activation;
  bool use_bias = true;
  Initializer kernel_initializer = init::GlorotUniform();
  Initializer bias_initializer = init::Zeros();
  bool trainable = true;
  std::string name = "conv2d";
};
Layer Conv2D(int64_t filters, Extent size, const ConvOptions& options = {});
Output Conv2D(const Output& x, int64_t filters, Extent size, const ConvOptions& options = {});

struct PoolingOptions {
  Extent stride = 0;  // 0: the size of the window
  std::string padding = "SAME";
};
// The largest or the mean value of each window.
Layer MaxPool(Extent size, const PoolingOptions& options = {});
Output MaxPool(const Output& x, Extent size, const PoolingOptions& options = {});
Layer AvgPool(Extent size, const PoolingOptions& options = {});
Output AvgPool(const Output& x, Extent size, const PoolingOptions& options = {});
// The mean of each channel over the whole image: [batch, channels].
Layer GlobalAvgPool();
Output GlobalAvgPool(const Output& x);

// All dimensions but the first become one.
Layer Flatten();
Output Flatten(const Output& x);

struct BatchNormOptions {
  float momentum = 0.99f;  // of the moving averages
  float epsilon = 1e-3f;
  bool center = true;  // has a beta to add
  bool scale = true;   // has a gamma to multiply with
  Initializer beta_initializer = init::Zeros();
  Initializer gamma_initializer = init::Ones();
  bool trainable = true;
  std::string name = "batch_normalization";
};
// Each channel (last dimension) with mean beta and standard deviation gamma: those of the batch in
// training, of all that was trained on (by moving averages) in evaluation. The ops that update the
// averages are in the collection "update_ops", which Optimizer::Minimize runs.
Layer BatchNorm(const BatchNormOptions& options = {});
Output BatchNorm(const Output& x, const Training& training, const BatchNormOptions& options = {});

// In training each element is kept with probability keep_prob, and then divided by it; the others
// become 0. In evaluation nothing changes.
Layer Dropout(const Input& keep_prob, init::Seed seed = {});
// The same, always: for a keep_prob that is fed, or a PlaceholderWithDefault of 1.
Output Dropout(const Output& x, const Input& keep_prob, init::Seed seed = {});

struct EmbeddingOptions {
  Initializer initializer = init::RandomUniform();
  bool trainable = true;
  std::string name = "embedding";
};
// A row of `dimension` trainable numbers for each id, an integer below `ids`.
Layer Embedding(int64_t ids, int64_t dimension, const EmbeddingOptions& options = {});
// Rows of a variable; of several, when the rows are dealt out to them in turn (id i is row
// i / n of tables[i % n]). Gradients are IndexedSlices.
Output EmbeddingLookup(const Variable& table, const Input& ids);
Output EmbeddingLookup(const std::vector<Variable>& tables, const Input& ids);

}  // namespace carillon::nn
