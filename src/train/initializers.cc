#include "carillon/initializers.h"

#include <cmath>

#include "base/throw.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "carillon/ops/random.h"

namespace carillon::init {
namespace {

Output Dims(Graph& graph, const Shape& shape) {
  return Const(graph,
               Tensor::FromVector(std::vector<int64_t>(shape.dims().begin(), shape.dims().end())),
               "shape");
}

struct Fans {
  double in = 1, out = 1;
};

// A kernel's last two dimensions are its inputs and outputs; the ones before are its window.
Fans FansOf(const Shape& shape) {
  if (shape.rank() == 0) return {};
  if (shape.rank() == 1)
    return {static_cast<double>(shape.dim(0)), static_cast<double>(shape.dim(0))};
  double window = 1;
  for (int i = 0; i < shape.rank() - 2; ++i) window *= static_cast<double>(shape.dim(i));
  return {window * static_cast<double>(shape.dim(shape.rank() - 2)),
          window * static_cast<double>(shape.dim(shape.rank() - 1))};
}

double FanOf(const Shape& shape, Fan fan) {
  const Fans fans = FansOf(shape);
  const double n = fan == Fan::kIn    ? fans.in
                   : fan == Fan::kOut ? fans.out
                                      : (fans.in + fans.out) / 2;
  return std::max(1.0, n);
}

// The standard deviation of a normal distribution cut off at two standard deviations.
constexpr double kTruncatedStddev = 0.87962566103423978;

}  // namespace

Initializer Zeros() { return Constant(0); }
Initializer Ones() { return Constant(1); }
Initializer Constant(double value) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    return Fill(Dims(graph, shape), Cast(Const(graph, Tensor::Scalar(value)), dtype));
  };
}
Initializer FromTensor(const Tensor& value) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    if (value.shape() != shape || value.dtype() != dtype) {
      Throw(InvalidArgument("init::FromTensor: the tensor is ", DTypeName(value.dtype()),
                            value.shape().ToString(), " but the variable is ", DTypeName(dtype),
                            shape.ToString()));
    }
    return Const(graph, value);
  };
}

Initializer RandomUniform(float least, float below, Seed seed) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    const NameScope scope(graph, "random_uniform");
    return carillon::RandomUniform(graph, Dims(graph, shape), dtype, {seed}) * (below - least) +
           least;
  };
}
Initializer RandomNormal(float stddev, float mean, Seed seed) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    const NameScope scope(graph, "random_normal");
    return carillon::RandomStandardNormal(graph, Dims(graph, shape), dtype, {seed}) * stddev + mean;
  };
}
Initializer TruncatedNormal(float stddev, float mean, Seed seed) {
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    const NameScope scope(graph, "truncated_normal");
    return carillon::TruncatedNormal(graph, Dims(graph, shape), dtype, {seed}) * stddev + mean;
  };
}

Initializer VarianceScaling(float scale, Fan fan, Distribution distribution, Seed seed) {
  if (!(scale > 0)) Throw(InvalidArgument("init::VarianceScaling: scale must be above 0"));
  return [=](Graph& graph, const Shape& shape, DType dtype) {
    const double variance = scale / FanOf(shape, fan);
    switch (distribution) {
      case Distribution::kUniform: {
        const auto limit = static_cast<float>(std::sqrt(3 * variance));
        return RandomUniform(-limit, limit, seed)(graph, shape, dtype);
      }
      case Distribution::kNormal:
        return RandomNormal(static_cast<float>(std::sqrt(variance)), 0, seed)(graph, shape, dtype);
      default:
        return TruncatedNormal(static_cast<float>(std::sqrt(variance) / kTruncatedStddev), 0, seed)(
            graph, shape, dtype);
    }
  };
}
Initializer GlorotUniform(Seed seed) {
  return VarianceScaling(1, Fan::kAverage, Distribution::kUniform, seed);
}
Initializer GlorotNormal(Seed seed) {
  return VarianceScaling(1, Fan::kAverage, Distribution::kTruncatedNormal, seed);
}
Initializer HeUniform(Seed seed) {
  return VarianceScaling(2, Fan::kIn, Distribution::kUniform, seed);
}
Initializer HeNormal(Seed seed) {
  return VarianceScaling(2, Fan::kIn, Distribution::kTruncatedNormal, seed);
}
Initializer LecunUniform(Seed seed) {
  return VarianceScaling(1, Fan::kIn, Distribution::kUniform, seed);
}
Initializer LecunNormal(Seed seed) {
  return VarianceScaling(1, Fan::kIn, Distribution::kTruncatedNormal, seed);
}

}  // namespace carillon::init
