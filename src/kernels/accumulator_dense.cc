// Accumulators of whole gradients.
#include <utility>

#include "base/strings.h"
#include "kernels/accumulator.h"
#include "kernels/ref/accumulate.h"

namespace carillon {
namespace {

class DenseAccumulator final : public Accumulator {
 public:
  explicit DenseAccumulator(AccumulatorOptions options) : Accumulator(std::move(options)) {}

 private:
  Status Check(const AccumulatedGradient& gradient) const override {
    const PartialShape expected = sum_.has_value() ? PartialShape(sum_.shape()) : options().shape;
    if (expected.IsCompatibleWith(gradient.values.shape())) return absl::OkStatus();
    return InvalidArgument("Shape mismatch: expected ", expected.ToString(), ", got ",
                           gradient.values.shape().ToString());
  }

  Status Add(AccumulatedGradient gradient, int64_t count, Allocator* allocator) override {
    if (count > 0) return AddTo(sum_, gradient.values, allocator);
    sum_ = std::move(gradient.values);
    return absl::OkStatus();
  }

  StatusOr<AccumulatedGradient> Release(int64_t count, Allocator* allocator) override {
    if (options().mean) CARILLON_RETURN_IF_ERROR(DivideBy(sum_, count, allocator));
    return AccumulatedGradient{.values = std::exchange(sum_, Tensor())};
  }

  Tensor sum_;
};

}  // namespace

std::shared_ptr<Accumulator> MakeDenseAccumulator(AccumulatorOptions options) {
  return std::make_shared<DenseAccumulator>(std::move(options));
}

}  // namespace carillon
