// Softmax and cross entropies of float matrices. Rows are often short (ten classes), so
// exponentials are taken over blocks of rows at once.
#include <algorithm>
#include <array>

#include "base/parallel.h"
#include "kernels/cpu/nn.h"
#include "kernels/cpu/simd_math.h"

namespace carillon {
namespace {

constexpr int64_t kBlockRows = 64;

struct RowBlock {
  std::array<float, kBlockRows> sums;  // of exp(logit - largest of the row)
  std::array<float, kBlockRows> logs;  // log of these
};

void ExpInPlace(float* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) values[i] = simd::Exp(values[i]);
}

// shifted[r][c] = logit - largest logit of row r. NaN stays NaN.
void ShiftRows(const float* logits, int64_t rows, int64_t classes, float* shifted) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = logits + r * classes;
    float largest = row[0];
    for (int64_t c = 1; c < classes; ++c) largest = row[c] > largest ? row[c] : largest;
    for (int64_t c = 0; c < classes; ++c) shifted[r * classes + c] = row[c] - largest;
  }
}

void SumRows(const float* values, int64_t rows, int64_t classes, RowBlock* block) {
  for (int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += values[r * classes + c];
    block->sums[static_cast<size_t>(r)] = sum;
  }
}

void LogSums(int64_t rows, RowBlock* block) {
  for (int64_t r = 0; r < rows; ++r) {
    block->logs[static_cast<size_t>(r)] = simd::Log(block->sums[static_cast<size_t>(r)]);
  }
}

// Calls body(first row, rows) for blocks of at most kBlockRows rows, shared among threads.
template <typename Body>
void ForEachBlock(int64_t rows, int64_t classes, const Body& body) {
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, classes));
  ParallelFor(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r += kBlockRows) body(r, std::min(kBlockRows, end - r));
  });
}

Status RunSoftmax(KernelContext& context) {
  const Tensor& logits = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.ReuseOrAllocateOutput(0, {0}, logits.shape()));
  const int64_t classes = logits.dim(logits.rank() - 1);
  const float* const from = logits.data<float>();
  float* const to = output->mutable_data<float>();
  ForEachBlock(logits.num_elements() / classes, classes, [&](int64_t first, int64_t rows) {
    RowBlock block;
    float* const out = to + first * classes;
    ShiftRows(from + first * classes, rows, classes, out);
    ExpInPlace(out, rows * classes);
    SumRows(out, rows, classes, &block);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < classes; ++c)
        out[r * classes + c] /= block.sums[static_cast<size_t>(r)];
    }
  });
  return absl::OkStatus();
}

Status RunCrossEntropy(KernelContext& context) {
  const Tensor& features = context.input(0);
  const Tensor& labels = context.input(1);
  const int64_t classes = features.dim(1);
  CARILLON_ASSIGN_OR_RETURN(Tensor * loss, context.AllocateOutput(0, Shape{features.dim(0)}));
  CARILLON_ASSIGN_OR_RETURN(Tensor * backprop,
                            context.ReuseOrAllocateOutput(1, {0}, features.shape()));
  const float* const logits = features.data<float>();
  const float* const wanted = labels.data<float>();
  float* const losses = loss->mutable_data<float>();
  float* const gradients = backprop->mutable_data<float>();
  ForEachBlock(features.dim(0), classes, [&](int64_t first, int64_t rows) {
    RowBlock block;
    float* const out = gradients + first * classes;
    const float* const label = wanted + first * classes;
    ShiftRows(logits + first * classes, rows, classes, out);
    // -sum(label * shifted) now, log(sum) * sum(label) below: the shifted logits are overwritten.
    for (int64_t r = 0; r < rows; ++r) {
      float sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += label[r * classes + c] * out[r * classes + c];
      losses[first + r] = -sum;
    }
    ExpInPlace(out, rows * classes);
    SumRows(out, rows, classes, &block);
    LogSums(rows, &block);
    for (int64_t r = 0; r < rows; ++r) {
      const float log_sum = block.logs[static_cast<size_t>(r)];
      const float sum = block.sums[static_cast<size_t>(r)];
      float label_sum = 0;
      for (int64_t c = r * classes; c < (r + 1) * classes; ++c) {
        label_sum += label[c];
        out[c] = out[c] / sum - label[c];
      }
      losses[first + r] += label_sum * log_sum;
    }
  });
  return absl::OkStatus();
}

template <typename Index>
Status CheckLabels(const Tensor& labels, int64_t classes) {
  for (const Index label : labels.values<Index>()) {
    if (label < 0 || static_cast<int64_t>(label) >= classes) {
      return InvalidArgument("label ", static_cast<int64_t>(label), " is outside [0, ", classes,
                             "), the range of the classes");
    }
  }
  return absl::OkStatus();
}

Status RunSparseCrossEntropy(KernelContext& context) {
  const Tensor& features = context.input(0);
  const Tensor& labels = context.input(1);
  const int64_t classes = features.dim(1);
  const bool narrow = labels.dtype() == DType::kInt32;
  CARILLON_RETURN_IF_ERROR(narrow ? CheckLabels<int32_t>(labels, classes)
                                  : CheckLabels<int64_t>(labels, classes));
  const auto label_of = [&](int64_t row) {
    return narrow ? int64_t{labels.data<int32_t>()[row]} : labels.data<int64_t>()[row];
  };
  CARILLON_ASSIGN_OR_RETURN(Tensor * loss, context.AllocateOutput(0, Shape{features.dim(0)}));
  CARILLON_ASSIGN_OR_RETURN(Tensor * backprop,
                            context.ReuseOrAllocateOutput(1, {0}, features.shape()));
  const float* const logits = features.data<float>();
  float* const losses = loss->mutable_data<float>();
  float* const gradients = backprop->mutable_data<float>();
  ForEachBlock(features.dim(0), classes, [&](int64_t first, int64_t rows) {
    RowBlock block;
    float* const out = gradients + first * classes;
    ShiftRows(logits + first * classes, rows, classes, out);
    for (int64_t r = 0; r < rows; ++r) losses[first + r] = -out[r * classes + label_of(first + r)];
    ExpInPlace(out, rows * classes);
    SumRows(out, rows, classes, &block);
    LogSums(rows, &block);
    for (int64_t r = 0; r < rows; ++r) {
      losses[first + r] += block.logs[static_cast<size_t>(r)];
      for (int64_t c = r * classes; c < (r + 1) * classes; ++c)
        out[c] /= block.sums[static_cast<size_t>(r)];
      out[r * classes + label_of(first + r)] -= 1.0f;
    }
  });
  return absl::OkStatus();
}

// Known shapes with elements; broadcasting and other dtypes are left to the plain kernels.
KernelResult MakeSoftmax(const KernelRequest& request) {
  Shape logits;
  if (request.input_dtype(0) != DType::kFloat) return Unimplemented("only float");
  if (!request.InputShape(0, &logits)) return Unimplemented("the shapes are not known");
  if (logits.rank() < 1 || logits.num_elements() == 0)
    return Unimplemented("there are no elements");
  KernelTraits traits;
  traits.reuses.push_back({0, 0});
  return MakeFunctionKernel(RunSoftmax, std::move(traits));
}

template <KernelFn run, bool sparse>
KernelResult MakeCrossEntropy(const KernelRequest& request) {
  Shape features, labels;
  if (request.input_dtype(0) != DType::kFloat) return Unimplemented("only float");
  if (!request.InputShape(0, &features) || !request.InputShape(1, &labels))
    return Unimplemented("the shapes are not known");
  if (features.rank() != 2 || features.num_elements() == 0)
    return Unimplemented("the features are no matrix with elements");
  if (sparse ? labels != Shape{features.dim(0)} : labels != features)
    return Unimplemented("the labels have another shape than the features");
  KernelTraits traits;
  traits.reuses.push_back({0, 1});
  return MakeFunctionKernel(run, std::move(traits));
}

}  // namespace

void AddSoftmaxCpuKernels(KernelTable& table) {
  table.Add({
      {"Softmax", "simd", MakeSoftmax},
      {"SoftmaxCrossEntropyWithLogits", "simd", MakeCrossEntropy<RunCrossEntropy, false>},
      {"SparseSoftmaxCrossEntropyWithLogits", "simd",
       MakeCrossEntropy<RunSparseCrossEntropy, true>},
  });
}

}  // namespace carillon
