// Which elements are largest: ArgMax, ArgMin, TopK, InTopK.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "kernels/ref/arithmetic.h"
#include "kernels/ref/index_values.h"
#include "kernels/ref/math.h"
#include "kernels/work.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// Places are found as int64 and stored in whatever the output holds.
void StorePlace(int64_t place, int64_t at, Tensor& out) {
  void* data = out.mutable_raw_data();
  switch (out.dtype()) {
    case DType::kInt32:
      static_cast<int32_t*>(data)[at] = static_cast<int32_t>(place);
      return;
    case DType::kInt16:
    case DType::kUint16:
      static_cast<uint16_t*>(data)[at] = static_cast<uint16_t>(place);
      return;
    default:
      static_cast<int64_t*>(data)[at] = place;
  }
}

// Whether x comes before y as the extreme. NaN comes before nothing.
template <bool largest, typename C>
bool IsBefore(C x, C y) {
  return largest ? x > y : x < y;
}
template <bool largest, typename C>
constexpr C LastOfAll() {
  using Limits = std::numeric_limits<C>;
  if constexpr (Limits::has_infinity) {
    return largest ? -Limits::infinity() : Limits::infinity();
  } else {
    return largest ? Limits::lowest() : Limits::max();
  }
}

// The place of the first extreme among n neighbours: first which value, many at a time, then where.
template <bool largest, typename T>
int64_t PlaceInRow(const T* row, int64_t n) {
  using C = Compute<T>;
  constexpr int64_t kLanes = kIsRare<T> ? 1 : 32;
  constexpr C kLast = LastOfAll<largest, C>();
  if (n < kLanes) {
    int64_t place = 0;
    C best = kLast;
    for (int64_t i = 0; i < n; ++i) {
      const C x = row[i];
      place = IsBefore<largest>(x, best) ? i : place;
      best = IsBefore<largest>(x, best) ? x : best;
    }
    return place;
  }
  C lanes[kLanes];
  std::fill_n(lanes, kLanes, kLast);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const C x = row[i + lane];
      lanes[lane] = IsBefore<largest>(x, lanes[lane]) ? x : lanes[lane];
    }
  }
  C best = kLast;
  for (; i < n; ++i) best = IsBefore<largest>(static_cast<C>(row[i]), best) ? C(row[i]) : best;
  for (const C lane : lanes) best = IsBefore<largest>(lane, best) ? lane : best;
  if (best == kLast) return 0;  // nothing came before it, perhaps because all is NaN
  int64_t place = 0;
  while (!(static_cast<C>(row[place]) == best)) ++place;
  return place;
}

constexpr int64_t kColumns = 256;  // extremes that are looked for side by side

// The places of the first extremes in `width` columns of n elements, `stride` apart.
template <bool largest, typename T>
void PlacesInColumns(const T* in, int64_t n, int64_t stride, int64_t width, int64_t* places) {
  using C = Compute<T>;
  C best[kColumns];
  std::fill_n(best, width, LastOfAll<largest, C>());
  std::fill_n(places, width, 0);
  for (int64_t i = 0; i < n; ++i) {
    const T* row = in + i * stride;
    for (int64_t j = 0; j < width; ++j) {
      const C x = row[j];
      const bool is_before = IsBefore<largest>(x, best[j]);
      best[j] = is_before ? x : best[j];
      places[j] = is_before ? i : places[j];
    }
  }
}

template <bool largest, typename T>
void FindExtremes(const Tensor& in, const AxisView& view, Tensor* out) {
  const T* elements = in.data<T>();
  const int64_t grain = std::max<int64_t>(1, 16 * 1024 / view.size);
  if (view.inner == 1) {
    ParallelFor(view.outer, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        StorePlace(PlaceInRow<largest>(elements + i * view.size, view.size), i, *out);
    });
    return;
  }
  const int64_t chunks = (view.inner + kColumns - 1) / kColumns;
  ParallelFor(view.outer * chunks, std::max<int64_t>(1, grain / kColumns),
              [&](int64_t begin, int64_t end) {
                int64_t places[kColumns];
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t slice = i / chunks;
                  const int64_t column = i % chunks * kColumns;
                  const int64_t width = std::min(kColumns, view.inner - column);
                  PlacesInColumns<largest>(elements + slice * view.size * view.inner + column,
                                           view.size, view.inner, width, places);
                  for (int64_t j = 0; j < width; ++j)
                    StorePlace(places[j], slice * view.inner + column + j, *out);
                }
              });
}

template <bool largest>
Status RunArgExtreme(KernelContext& context) {
  const Tensor& in = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(const int axis, ScalarAxis(context.input(1), in.rank(), "dimension"));
  if (in.dim(axis) == 0)
    return InvalidArgument("Reduction axis ", axis, " is empty in shape ", in.shape().ToString());
  const AxisView view(in.shape(), axis);
  Shape shape = in.shape();
  shape.RemoveDim(axis);
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
  DispatchPlain(in.dtype(), [&]<typename T>() { FindExtremes<largest, T>(in, view, out); });
  return absl::OkStatus();
}

// The first k places of a row in the order of falling values, equal ones from left to right. NaN
// counts as largest.
template <typename T>
void TopOfRow(const T* row, int64_t n, int64_t k, std::vector<int64_t>& order) {
  const auto before = [row](int64_t a, int64_t b) {
    const Compute<T> x = row[a], y = row[b];
    if (x > y) return true;
    if (x < y) return false;
    if constexpr (kIsFloating<T>) {
      if ((x != x) != (y != y)) return x != x;
    }
    return a < b;
  };
  if (k == 1) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i) {
      if (before(i, best)) best = i;
    }
    order.assign(1, best);
    return;
  }
  order.resize(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  if (k < n / 16) {
    std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
  } else {
    std::nth_element(order.begin(), order.begin() + (k - 1), order.end(), before);
    std::sort(order.begin(), order.begin() + k, before);
  }
}

Status TopK(KernelContext& context, int64_t k) {
  const Tensor& in = context.input(0);
  if (k < 0) return InvalidArgument("Need k >= 0, got ", k);
  if (in.rank() == 0) return InvalidArgument("input must be >= 1-D, got shape []");
  const int64_t n = in.dim(in.rank() - 1);
  if (n < k) return InvalidArgument("input must have at least k columns. Had ", n, ", needed ", k);
  const DType place_type = context.output_dtype(1);
  const int64_t most_places = place_type == DType::kInt16 ? std::numeric_limits<int16_t>::max()
                              : place_type == kInt32      ? std::numeric_limits<int32_t>::max()
                                                          : std::numeric_limits<int64_t>::max();
  if (n - 1 > most_places) {
    return InvalidArgument("the last of ", n, " columns has no index of type ",
                           DTypeName(place_type));
  }
  Shape shape = in.shape();
  shape.set_dim(in.rank() - 1, k);
  CARILLON_ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(0, shape));
  CARILLON_ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(1, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const int64_t rows = shape.num_elements() / k;
  DispatchNumber(in.dtype(), [&]<typename T>() {
    const T* from = in.data<T>();
    T* to = values->mutable_data<T>();
    ParallelFor(rows, std::max<int64_t>(1, 4 * 1024 / n), [&](int64_t begin, int64_t end) {
      std::vector<int64_t> order;
      for (int64_t row = begin; row < end; ++row) {
        if (WorkIsCancelled()) return;
        TopOfRow(from + row * n, n, k, order);
        for (int64_t i = 0; i < k; ++i) {
          const int64_t place = order[static_cast<size_t>(i)];
          to[row * k + i] = from[row * n + place];
          StorePlace(place, row * k + i, *indices);
        }
      }
    });
  });
  return CheckWanted();
}

class TopKKernel final : public Kernel {
 public:
  explicit TopKKernel(const KernelRequest& request) : k_(request.attr<int64_t>("k")) {}
  Status Run(KernelContext& context) override { return TopK(context, k_); }

 private:
  const int64_t k_;
};

Status RunTopKV2(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t k, ScalarIndex(context.input(1), "k"));
  return TopK(context, k);
}

// A row whose values are not all finite says nothing about which are largest.
bool IsInTopOfRow(const float* row, int64_t n, int64_t target, int64_t k) {
  if (target < 0 || target >= n) return false;
  int64_t larger = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!std::isfinite(row[i])) return false;
    larger += row[i] > row[target];
  }
  return larger < k;
}

Status InTopK(KernelContext& context, int64_t k) {
  const Tensor& predictions = context.input(0);
  const Tensor& targets = context.input(1);
  if (predictions.rank() != 2) return InvalidArgument("predictions must be 2-dimensional");
  if (targets.rank() != 1) return InvalidArgument("targets must be 1-dimensional");
  if (predictions.dim(0) != targets.dim(0)) {
    return InvalidArgument("First dimension of predictions ", predictions.dim(0),
                           " must match length of targets ", targets.dim(0));
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, targets.shape()));
  const int64_t n = predictions.dim(1);
  for (int64_t row = 0; row < targets.dim(0); ++row) {
    out->mutable_data<bool>()[row] =
        IsInTopOfRow(predictions.data<float>() + row * n, n, IndexAt(targets, row), k);
  }
  return absl::OkStatus();
}

class InTopKKernel final : public Kernel {
 public:
  explicit InTopKKernel(const KernelRequest& request) : k_(request.attr<int64_t>("k")) {}
  Status Run(KernelContext& context) override { return InTopK(context, k_); }

 private:
  const int64_t k_;
};

Status RunInTopKV2(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t k, ScalarIndex(context.input(2), "k"));
  return InTopK(context, k);
}

}  // namespace

void AddMathOrderKernels(KernelTable& table) {
  table.Add({
      {"ArgMax", "ref", FromFunction<RunArgExtreme<true>>},
      {"ArgMin", "ref", FromFunction<RunArgExtreme<false>>},
      {"TopK", "ref", FromClass<TopKKernel>},
      {"TopKV2", "ref", FromFunction<RunTopKV2>},
      {"InTopK", "ref", FromClass<InTopKKernel>},
      {"InTopKV2", "ref", FromFunction<RunInTopKV2>},
  });
}

}  // namespace carillon
