// Softmax, its logarithm, and the cross entropies built on it, row by row.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/ref/nn.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// The row's largest element; NaN when the row has one.
template <typename T>
Accumulator<T> RowMax(const T* row, int64_t n) {
  using A = Accumulator<T>;
  A largest = static_cast<A>(row[0]);
  for (int64_t i = 1; i < n; ++i) {
    const A value = static_cast<A>(row[i]);
    if (!(value <= largest)) largest = value;
    if (value != value) return value;
  }
  return largest;
}

template <typename T>
void SoftmaxRow(const T* logits, int64_t n, T* out) {
  using A = Accumulator<T>;
  const A shift = RowMax(logits, n);
  A sum{};
  for (int64_t i = 0; i < n; ++i) {
    const A e = std::exp(static_cast<A>(logits[i]) - shift);
    sum += e;
    if constexpr (std::is_same_v<A, T>) out[i] = e;
  }
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<A, T>) {
      out[i] /= sum;
    } else {
      out[i] = static_cast<T>(std::exp(static_cast<A>(logits[i]) - shift) / sum);
    }
  }
}

// log(sum(exp(row))) without overflow, as `shift` + log of the sum of exp(row - shift).
template <typename T>
Accumulator<T> LogSum(const T* row, int64_t n, Accumulator<T> shift) {
  using A = Accumulator<T>;
  A sum{};
  for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<A>(row[i]) - shift);
  return std::log(sum);
}

template <typename T>
void LogSoftmaxRow(const T* logits, int64_t n, T* out) {
  using A = Accumulator<T>;
  const A shift = RowMax(logits, n);
  const A log_sum = LogSum(logits, n, shift);
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<T>(static_cast<A>(logits[i]) - shift - log_sum);
}

template <bool log>
Status RunSoftmax(KernelContext& context) {
  const Tensor& logits = context.input(0);
  if (logits.rank() < 1) return InvalidArgument("the logits must have at least one dimension");
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.ReuseOrAllocateOutput(0, {0}, logits.shape()));
  const int64_t classes = logits.dim(logits.rank() - 1);
  if (logits.num_elements() == 0) return absl::OkStatus();
  const int64_t rows = logits.num_elements() / classes;
  if (!DispatchFloating(logits.dtype(), [&]<typename T>() {
        const T* from = logits.data<T>();
        T* to = out->mutable_data<T>();
        ParallelFor(rows, GrainFor(static_cast<double>(classes) * 8),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t r = begin; r < end; ++r) {
                        if constexpr (log) {
                          LogSoftmaxRow(from + r * classes, classes, to + r * classes);
                        } else {
                          SoftmaxRow(from + r * classes, classes, to + r * classes);
                        }
                      }
                    });
      })) {
    return NoSuchType(context.node(), logits.dtype());
  }
  return absl::OkStatus();
}

// A matrix, or something that broadcasts to one: strides of 0 where it does.
struct BroadcastMatrix {
  int64_t row_stride, column_stride;
};

StatusOr<BroadcastMatrix> ViewAsMatrix(std::string_view what, const Shape& shape, int64_t rows,
                                       int64_t columns) {
  const int rank = shape.rank();
  const int64_t own_columns = rank >= 1 ? shape.dim(rank - 1) : 1;
  const int64_t own_rows = rank == 2 ? shape.dim(0) : 1;
  if (rank > 2 || (own_columns != columns && own_columns != 1) ||
      (own_rows != rows && own_rows != 1)) {
    return InvalidArgument(what, " of shape ", shape.ToString(), " do not broadcast to [", rows,
                           ",", columns, "]");
  }
  return BroadcastMatrix{own_rows == 1 && rows != 1 ? 0 : own_columns,
                         own_columns == 1 && columns != 1 ? 0 : 1};
}

int64_t BroadcastSize(int64_t a, int64_t b) { return a == 1 ? b : a; }

Status RunSoftmaxCrossEntropy(KernelContext& context) {
  const Tensor& features = context.input(0);
  const Tensor& labels = context.input(1);
  const auto rows_of = [](const Tensor& t) { return t.rank() == 2 ? t.dim(0) : int64_t{1}; };
  const auto columns_of = [](const Tensor& t) {
    return t.rank() >= 1 ? t.dim(t.rank() - 1) : int64_t{1};
  };
  if (std::max(features.rank(), labels.rank()) != 2) {
    return InvalidArgument("features and labels must be matrices or broadcast to one but are ",
                           features.shape().ToString(), " and ", labels.shape().ToString());
  }
  const int64_t rows = BroadcastSize(rows_of(features), rows_of(labels));
  const int64_t classes = BroadcastSize(columns_of(features), columns_of(labels));
  CARILLON_ASSIGN_OR_RETURN(const BroadcastMatrix f,
                            ViewAsMatrix("features", features.shape(), rows, classes));
  CARILLON_ASSIGN_OR_RETURN(const BroadcastMatrix l,
                            ViewAsMatrix("labels", labels.shape(), rows, classes));
  CARILLON_ASSIGN_OR_RETURN(Tensor * loss, context.AllocateOutput(0, Shape{rows}));
  CARILLON_ASSIGN_OR_RETURN(Tensor * backprop, context.AllocateOutput(1, Shape{rows, classes}));
  if (!DispatchFloating(features.dtype(), [&]<typename T>() {
        using A = Accumulator<T>;
        const T* feature_data = features.data<T>();
        const T* label_data = labels.data<T>();
        T* losses = loss->mutable_data<T>();
        T* gradients = backprop->mutable_data<T>();
        ParallelFor(rows, GrainFor(static_cast<double>(classes) * 16),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t r = begin; r < end; ++r) {
                        const T* row = feature_data + r * f.row_stride;
                        const T* wanted = label_data + r * l.row_stride;
                        T* gradient = gradients + r * classes;
                        const auto logit = [&](int64_t c) {
                          return static_cast<A>(row[c * f.column_stride]);
                        };
                        const auto label = [&](int64_t c) {
                          return static_cast<A>(wanted[c * l.column_stride]);
                        };
                        A shift = classes == 0 ? A{} : logit(0);
                        for (int64_t c = 1; c < classes; ++c) shift = std::max(shift, logit(c));
                        A sum{};
                        for (int64_t c = 0; c < classes; ++c) sum += std::exp(logit(c) - shift);
                        const A log_sum = std::log(sum);
                        A total{};
                        for (int64_t c = 0; c < classes; ++c) {
                          total += label(c) * (log_sum - (logit(c) - shift));
                          gradient[c] = static_cast<T>(std::exp(logit(c) - shift) / sum - label(c));
                        }
                        losses[r] = static_cast<T>(total);
                      }
                    });
      })) {
    return NoSuchType(context.node(), features.dtype());
  }
  return absl::OkStatus();
}

template <typename Index>
Status CheckLabels(const Tensor& labels, int64_t classes) {
  for (Index label : labels.values<Index>()) {
    if (label < 0 || static_cast<int64_t>(label) >= classes) {
      return InvalidArgument("label ", static_cast<int64_t>(label), " is outside [0, ", classes,
                             "), the range of the classes");
    }
  }
  return absl::OkStatus();
}

Status RunSparseSoftmaxCrossEntropy(KernelContext& context) {
  const Tensor& features = context.input(0);
  const Tensor& labels = context.input(1);
  if (features.rank() != 2 || labels.rank() != 1 || features.dim(0) != labels.dim(0)) {
    return InvalidArgument("features should be a matrix with one row for each label but are ",
                           features.shape().ToString(), " for labels ", labels.shape().ToString());
  }
  const int64_t rows = features.dim(0);
  const int64_t classes = features.dim(1);
  const bool narrow = labels.dtype() == DType::kInt32;
  CARILLON_RETURN_IF_ERROR(narrow ? CheckLabels<int32_t>(labels, classes)
                                  : CheckLabels<int64_t>(labels, classes));
  CARILLON_ASSIGN_OR_RETURN(Tensor * loss, context.AllocateOutput(0, Shape{rows}));
  CARILLON_ASSIGN_OR_RETURN(Tensor * backprop, context.AllocateOutput(1, Shape{rows, classes}));
  if (!DispatchFloating(features.dtype(), [&]<typename T>() {
        using A = Accumulator<T>;
        const T* feature_data = features.data<T>();
        T* losses = loss->mutable_data<T>();
        T* gradients = backprop->mutable_data<T>();
        ParallelFor(
            rows, GrainFor(static_cast<double>(classes) * 16), [&](int64_t begin, int64_t end) {
              for (int64_t r = begin; r < end; ++r) {
                const T* row = feature_data + r * classes;
                const int64_t label =
                    narrow ? labels.data<int32_t>()[r] : labels.data<int64_t>()[r];
                const A shift = RowMax(row, classes);
                A sum{};
                for (int64_t c = 0; c < classes; ++c)
                  sum += std::exp(static_cast<A>(row[c]) - shift);
                losses[r] = static_cast<T>(std::log(sum) - (static_cast<A>(row[label]) - shift));
                for (int64_t c = 0; c < classes; ++c) {
                  gradients[r * classes + c] =
                      static_cast<T>(std::exp(static_cast<A>(row[c]) - shift) / sum -
                                     static_cast<A>(c == label ? 1 : 0));
                }
              }
            });
      })) {
    return NoSuchType(context.node(), features.dtype());
  }
  return absl::OkStatus();
}

}  // namespace

void AddSoftmaxReferenceKernels(KernelTable& table) {
  table.Add({
      {"Softmax", "ref", FromElementwise<RunSoftmax<false>>},
      {"LogSoftmax", "ref", FromElementwise<RunSoftmax<true>>},
      {"SoftmaxCrossEntropyWithLogits", "ref", FromFunction<RunSoftmaxCrossEntropy>},
      {"SparseSoftmaxCrossEntropyWithLogits", "ref", FromFunction<RunSparseSoftmaxCrossEntropy>},
  });
}

}  // namespace carillon
