#include "gradient_checker.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

#include "carillon/gradients.h"
#include "carillon/op_builder.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

double ElementAt(const Tensor& tensor, int64_t i) {
  double value = 0;
  DispatchFloating(tensor.dtype(),
                   [&]<typename T>() { value = static_cast<double>(tensor.data<T>()[i]); });
  return value;
}

void SetElement(Tensor* tensor, int64_t i, double value) {
  DispatchFloating(tensor->dtype(), [&]<typename T>() {
    tensor->mutable_data<T>()[i] = static_cast<T>(static_cast<float>(value));
    if constexpr (std::is_same_v<T, double>) tensor->mutable_data<T>()[i] = value;
  });
}

class Checker {
 public:
  Checker(const std::vector<Output>& ys, const std::vector<Output>& xs,
          const std::vector<Tensor>& values, const GradientCheck& check)
      : ys_(ys), xs_(xs), values_(values), check_(check), session_(ys[0].graph(), check.session) {
    const bool is_double = xs[0].dtype() == DType::kDouble;
    if (check_.step == 0) check_.step = is_double ? 1e-5 : 1e-2;
    if (check_.tolerance == 0) check_.tolerance = is_double ? 1e-6 : 1e-2;
  }

  void Run() {
    const std::vector<Tensor> at = session_.Run(ys_, Feed(values_));
    GradientOptions options;
    for (size_t i = 0; i < ys_.size(); ++i) {
      weights_.push_back(RandomTensor(at[i].dtype(), at[i].shape(), check_.seed + i));
      options.grad_ys.push_back(OpBuilder(ys_[i].graph(), "Const")
                                    .Attr("value", weights_[i])
                                    .Attr("dtype", weights_[i].dtype()));
    }
    const std::vector<Gradient> gradients = Gradients(ys_, xs_, options);
    for (size_t i = 0; i < xs_.size(); ++i) CheckOne(i, gradients[i]);
  }

 private:
  Feeds Feed(const std::vector<Tensor>& values) const {
    Feeds feeds = check_.feeds;
    for (size_t i = 0; i < xs_.size(); ++i) feeds.emplace_back(xs_[i], values[i]);
    return feeds;
  }

  double SumAt(const std::vector<Tensor>& values) {
    const std::vector<Tensor> at = session_.Run(ys_, Feed(values));
    double sum = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      for (int64_t j = 0; j < at[i].num_elements(); ++j)
        sum += ElementAt(at[i], j) * ElementAt(weights_[i], j);
    }
    return sum;
  }

  void CheckOne(size_t x, const Gradient& gradient) {
    Tensor computed;
    if (!gradient.empty()) {
      computed = session_.Run(gradient.Dense(), Feed(values_));
      ASSERT_EQ(computed.shape().ToString(), values_[x].shape().ToString()) << xs_[x].name();
    }
    for (int64_t i = 0; i < values_[x].num_elements(); ++i) {
      std::vector<Tensor> moved = values_;
      moved[x] = values_[x].Clone();
      const double here = ElementAt(values_[x], i);
      SetElement(&moved[x], i, here + check_.step);
      const double above = SumAt(moved), high = ElementAt(moved[x], i);
      SetElement(&moved[x], i, here - check_.step);
      const double below = SumAt(moved), low = ElementAt(moved[x], i);
      const double expected = (above - below) / (high - low);
      const double found = gradient.empty() ? 0.0 : ElementAt(computed, i);
      EXPECT_NEAR(found, expected, check_.tolerance * std::max(1.0, std::abs(expected)))
          << "gradient with respect to element " << i << " of " << xs_[x].name();
    }
  }

  const std::vector<Output>& ys_;
  const std::vector<Output>& xs_;
  const std::vector<Tensor>& values_;
  GradientCheck check_;
  Session session_;
  std::vector<Tensor> weights_;
};

}  // namespace

void CheckGradients(const std::vector<Output>& ys, const std::vector<Output>& xs,
                    const std::vector<Tensor>& values, const GradientCheck& check) {
  Checker(ys, xs, values, check).Run();
}

Tensor RandomTensor(DType dtype, const Shape& shape, uint64_t seed, double low, double high) {
  std::mt19937_64 random(seed);
  Tensor tensor(dtype, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    // Not std::uniform_real_distribution, whose numbers depend on the library.
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    SetElement(&tensor, i, low + unit * (high - low));
  }
  return tensor;
}

}  // namespace carillon
