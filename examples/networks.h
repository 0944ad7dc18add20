// The networks of the example programs and of bench/local.
#pragma once

#include <cstdint>

#include "carillon/carillon.h"

namespace networks {

using namespace carillon;

// One hidden layer between 784 pixels and ten digits.
inline nn::Layer Mlp(int64_t hidden = 100) {
  const nn::DenseOptions relu{.activation = Relu,
                              .kernel_initializer = init::TruncatedNormal(0.1f),
                              .bias_initializer = init::Constant(0.1)};
  const nn::DenseOptions linear{.kernel_initializer = init::TruncatedNormal(0.1f),
                                .bias_initializer = init::Constant(0.1)};
  return nn::Sequential({nn::Flatten(), nn::Dense(hidden, relu), nn::Dense(10, linear)});
}

// Two convolutions of 5 x 5, each with pooling …
inline nn::Layer MnistFeatures() {
  const nn::ConvOptions conv{.activation = Relu,
                             .kernel_initializer = init::TruncatedNormal(0.1f),
                             .bias_initializer = init::Constant(0.1)};
  return nn::Sequential({nn::Conv2D(32, 5, conv), nn::MaxPool(2),    // 28 x 28 to 14 x 14
                         nn::Conv2D(64, 5, conv), nn::MaxPool(2)});  // to 7 x 7
}
// … and a large hidden layer with dropout.
inline nn::Layer MnistClassifier(double keep_prob = 0.5) {
  const nn::DenseOptions relu{.activation = Relu,
                              .kernel_initializer = init::TruncatedNormal(0.1f),
                              .bias_initializer = init::Constant(0.1)};
  const nn::DenseOptions linear{.kernel_initializer = init::TruncatedNormal(0.1f),
                                .bias_initializer = init::Constant(0.1)};
  return nn::Sequential(
      {nn::Flatten(), nn::Dense(1024, relu), nn::Dropout(keep_prob), nn::Dense(10, linear)});
}
inline nn::Layer MnistCnn(double keep_prob = 0.5) {
  return nn::Sequential({MnistFeatures(), MnistClassifier(keep_prob)});
}

// Two pairs of convolutions of 3 x 3, with pooling by four after each pair.
inline nn::Layer SvhnCnn() {
  const nn::ConvOptions conv{.activation = Relu, .kernel_initializer = init::HeNormal()};
  const nn::DenseOptions relu{.activation = Relu, .kernel_initializer = init::HeNormal()};
  return nn::Sequential({nn::Conv2D(32, 3, conv), nn::Conv2D(64, 3, conv), nn::MaxPool(4),
                         nn::Conv2D(128, 3, conv), nn::Conv2D(256, 3, conv), nn::MaxPool(4),
                         nn::Flatten(), nn::Dense(128, relu), nn::Dense(10)});
}

// Residual networks for images of 32 x 32 (He et al., 2015 and 2016): three stages of blocks of two
// convolutions each, with 16, 32 and 64 channels. Each block adds to what it was given; where the
// size changes, a convolution of 1 x 1 brings that to the new size.

inline nn::Layer Conv(int64_t filters, int64_t size, int64_t stride = 1) {
  return nn::Conv2D(filters, size,
                    {.stride = stride,
                     .use_bias = false,  // batch normalisation has one
                     .kernel_initializer = init::HeNormal()});
}
inline nn::Layer Norm() { return nn::BatchNorm({.momentum = 0.9f}); }

// Version 1: relu comes after the sum.
inline nn::Layer ResidualBlockV1(int64_t filters, int64_t stride) {
  const nn::Layer residual =
      nn::Sequential({Conv(filters, 3, stride), Norm(), Relu, Conv(filters, 3), Norm()});
  const nn::Layer shortcut =
      stride == 1 ? nn::Sequential({}) : nn::Sequential({Conv(filters, 1, stride), Norm()});
  return [=](const Output& x, const nn::Training& training) {
    return Relu(residual(x, training) + shortcut(x, training));
  };
}

// Version 2: normalisation and relu come before each convolution, and the sum stays as it is.
inline nn::Layer ResidualBlockV2(int64_t filters, int64_t stride) {
  const nn::Layer activate = nn::Sequential({Norm(), Relu});
  const nn::Layer residual =
      nn::Sequential({Conv(filters, 3, stride), Norm(), Relu, Conv(filters, 3)});
  const nn::Layer projection = Conv(filters, 1, stride);
  return [=](const Output& x, const nn::Training& training) {
    const Output active = activate(x, training);
    return residual(active, training) + (stride == 1 ? x : projection(active, training));
  };
}

// `layers` is 6n + 2: the first convolution, three stages of n blocks, the classifier.
inline nn::Layer ResNet(int64_t layers, int version = 1, int64_t classes = 10) {
  const bool v1 = version == 1;
  std::vector<nn::Layer> all = {Conv(16, 3)};
  if (v1) all.insert(all.end(), {Norm(), Relu});
  for (const int64_t filters : {16, 32, 64}) {
    for (int64_t block = 0; block < (layers - 2) / 6; ++block) {
      const int64_t stride = block == 0 && filters > 16 ? 2 : 1;
      all.push_back(v1 ? ResidualBlockV1(filters, stride) : ResidualBlockV2(filters, stride));
    }
  }
  if (!v1) all.insert(all.end(), {Norm(), Relu});
  all.insert(all.end(), {nn::GlobalAvgPool(), nn::Dense(classes)});
  return nn::Sequential(std::move(all));
}

}  // namespace networks
