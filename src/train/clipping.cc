#include "carillon/clipping.h"

#include "base/throw.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "carillon/ops/nn.h"

namespace carillon {
namespace {

// `gradient` with its tensor, or the rows it has, replaced by change(it).
template <typename Change>
Gradient Changed(const Gradient& gradient, Change&& change) {
  if (gradient.empty()) return gradient;
  if (!gradient.is_slices()) return change(gradient.tensor());
  IndexedSlices slices = gradient.slices();
  slices.values = change(slices.values);
  return slices;
}

template <typename Change>
std::vector<GradientAndVariable> EachChanged(const std::vector<GradientAndVariable>& pairs,
                                             Change&& change) {
  std::vector<GradientAndVariable> changed;
  for (const auto& [gradient, variable] : pairs)
    changed.push_back({Changed(gradient, change), variable});
  return changed;
}

const Output& Elements(const Gradient& gradient) {
  return gradient.is_slices() ? gradient.slices().values : gradient.tensor();
}

// The Euclidean norm; the gradient at 0 is 0, not NaN.
Output Norm(const Output& sum_of_squares) {
  const Output positive = Greater(sum_of_squares, 0);
  const Output safe = Select(positive, sum_of_squares, OnesLike(sum_of_squares));
  return Select(positive, Sqrt(safe), sum_of_squares);
}

}  // namespace

Output ClipByNorm(const Input& value, const Input& limit, const std::vector<int64_t>& axes) {
  const NameScope scope(value.output().graph(), "clip_by_norm");
  const Output squares = Square(value);
  const Output sum =
      axes.empty() ? Sum(squares) : Sum(squares, Tensor::FromVector(axes), /*keep_dims=*/true);
  return Mul(value, limit) / Maximum(Norm(sum), limit);
}

Output ClipByAverageNorm(const Input& value, const Input& limit) {
  const NameScope scope(value.output().graph(), "clip_by_average_norm");
  const Output count = Cast(Size(value), value.output().dtype());
  const Output inverse_norm = count / Norm(Sum(Square(value)));
  return Mul(value, limit) * Minimum(inverse_norm, RealDiv(OnesLike(inverse_norm), limit));
}

Output GlobalNorm(const std::vector<Gradient>& gradients) {
  std::vector<Output> half_squares;
  for (const Gradient& gradient : gradients) {
    if (gradient.empty()) continue;
    const NameScope scope(Elements(gradient).graph(), "global_norm");
    half_squares.push_back(L2Loss(Elements(gradient)));
  }
  if (half_squares.empty())
    Throw(InvalidArgument("GlobalNorm: all ", gradients.size(), " gradients are empty"));
  const NameScope scope(half_squares.front().graph(), "global_norm");
  return Sqrt(AddN(half_squares) * 2);
}

ClippedGradients ClipByGlobalNorm(const std::vector<Gradient>& gradients, const Input& limit,
                                  const Output& global_norm) {
  const Output norm = global_norm.valid() ? global_norm : GlobalNorm(gradients);
  const NameScope scope(norm.graph(), "clip_by_global_norm");
  const Output finite_scale = Mul(Minimum(1 / norm, RealDiv(OnesLike(norm), limit)), limit);
  const Output scale = finite_scale + (norm - norm);  // NaN when the norm is not finite
  ClippedGradients clipped{.global_norm = norm};
  for (const Gradient& gradient : gradients) {
    clipped.gradients.push_back(
        Changed(gradient, [&](const Output& value) { return value * scale; }));
  }
  return clipped;
}

std::vector<GradientAndVariable> ClipByValue(const std::vector<GradientAndVariable>& pairs,
                                             const Input& least, const Input& most) {
  return EachChanged(pairs, [&](const Output& value) { return ClipByValue(value, least, most); });
}

std::vector<GradientAndVariable> ClipByNorm(const std::vector<GradientAndVariable>& pairs,
                                            const Input& limit) {
  return EachChanged(pairs, [&](const Output& value) { return ClipByNorm(value, limit); });
}

std::vector<GradientAndVariable> ClipByGlobalNorm(const std::vector<GradientAndVariable>& pairs,
                                                  const Input& limit) {
  std::vector<Gradient> gradients;
  for (const GradientAndVariable& pair : pairs) gradients.push_back(pair.gradient);
  const std::vector<Gradient> clipped = ClipByGlobalNorm(gradients, limit).gradients;
  std::vector<GradientAndVariable> result;
  for (size_t i = 0; i < pairs.size(); ++i) result.push_back({clipped[i], pairs[i].variable});
  return result;
}

}  // namespace carillon
