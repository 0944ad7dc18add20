// What all optimizer updates share: UpdateKernel finds and checks the arguments and holds the
// locks, RuleKernel<…> walks the elements, and an update itself is a formula for one element.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "base/parallel.h"
#include "base/status.h"
#include "kernels/kernel.h"
#include "kernels/ref/arithmetic.h"
#include "kernels/variable.h"
#include "tensor/dispatch.h"

namespace carillon {

inline constexpr int kMaxSlots = 3;
inline constexpr int kMaxHyperparameters = 8;

// The hyperparameters in the order of the op's inputs.
using Hyperparameters = std::array<double, kMaxHyperparameters>;

// The attributes that change a formula; false where the op has none.
struct UpdateFlags {
  bool use_nesterov = false;
  bool update_slots = true;
  bool multiply_linear_by_lr = false;
};

// Memory of one update, element by element: the variable as it was and as it will be (the same
// memory, most often), its slots, the gradient.
struct UpdateMemory {
  const void* from = nullptr;
  void* to = nullptr;
  std::array<void*, kMaxSlots> slots{};
  const void* gradient = nullptr;
};

// An update op in any of its four forms: on references or handles, dense or sparse. Which inputs
// are variables, hyperparameters, gradient and indices follows from the op's spec.
class UpdateKernel : public Kernel {
 public:
  explicit UpdateKernel(const KernelRequest& request);
  Status Run(KernelContext& context) final;

 protected:
  DType dtype() const { return dtype_; }
  const UpdateFlags& flags() const { return flags_; }

 private:
  virtual Status CheckHyperparameters(const Hyperparameters& values) const = 0;
  // Updates `n` elements.
  virtual void UpdateAll(const Hyperparameters& values, const UpdateMemory& memory,
                         int64_t n) const = 0;
  // Updates the rows `indices`, of `row` elements each, one after the other; the gradient has a row
  // for each.
  virtual void UpdateRows(const Hyperparameters& values, const UpdateMemory& memory,
                          std::span<const int64_t> indices, int64_t row) const = 0;

  using Variables =
      absl::InlinedVector<std::shared_ptr<VariableResource>, kMaxSlots + 1>;  // slots last
  StatusOr<Variables> FindVariables(const KernelContext& context) const;
  StatusOr<Hyperparameters> ReadHyperparameters(const KernelContext& context) const;
  Status CheckShapes(const KernelContext& context, const VariableLock& lock,
                     const Variables& variables) const;

  const DType dtype_;
  UpdateFlags flags_;
  absl::InlinedVector<int, kMaxSlots + 1> variables_;  // inputs; the variable itself first
  absl::InlinedVector<int, kMaxHyperparameters> hyperparameters_;  // inputs
  int gradient_ = -1;
  int indices_ = -1;  // -1 when dense
};

// One element of the memory through a formula. Formula<C>, for the type C to compute in, has
//   kSlots,
//   Formula(const Hyperparameters&, const UpdateFlags&), and
//   void operator()(C& variable, C& slot…, C gradient) const, without branches that depend on
//   elements, so that the compiler turns the loop into vector code.
template <typename T, typename Formula, size_t... slot>
void UpdateElements(const Formula& formula, const UpdateMemory& memory, int64_t begin, int64_t end,
                    int64_t gradient_begin, std::index_sequence<slot...>) {
  using C = Compute<T>;
  const T* const from = static_cast<const T*>(memory.from) + begin;
  T* const to = static_cast<T*>(memory.to) + begin;
  [[maybe_unused]] T* const slots[sizeof...(slot) + 1] = {
      (static_cast<T*>(memory.slots[slot]) + begin)...};
  const T* const gradient = static_cast<const T*>(memory.gradient) + gradient_begin;
  const int64_t n = end - begin;
  // Every iteration reads and writes its own elements only, whatever the arrays share.
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    C variable = from[i];
    [[maybe_unused]] C values[sizeof...(slot) + 1] = {C(slots[slot][i])...};
    formula(variable, values[slot]..., C(gradient[i]));
    to[i] = variable;
    ((slots[slot][i] = values[slot]), ...);
  }
}

template <template <typename> typename Formula>
class RuleKernel final : public UpdateKernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const DType dtype = request.attr<DType>("T");
    if (!IsFloating(dtype)) return Unimplemented("updates of ", DTypeName(dtype), " variables");
    return std::make_unique<RuleKernel>(request);
  }
  explicit RuleKernel(const KernelRequest& request) : UpdateKernel(request) {}

 private:
  static constexpr int64_t kGrain = 8192;  // elements worth a thread
  static constexpr auto kSlotSequence = std::make_index_sequence<Formula<float>::kSlots>();

  Status CheckHyperparameters(const Hyperparameters& values) const override {
    if constexpr (requires { Formula<float>::Check(values, flags()); }) {
      return Formula<float>::Check(values, flags());
    }
    return absl::OkStatus();
  }

  void UpdateAll(const Hyperparameters& values, const UpdateMemory& memory,
                 int64_t n) const override {
    DispatchFloating(dtype(), [&]<typename T>() {
      const Formula<Compute<T>> formula(values, flags());
      ParallelFor(n, kGrain, [&](int64_t begin, int64_t end) {
        UpdateElements<T>(formula, memory, begin, end, begin, kSlotSequence);
      });
    });
  }

  // Rows may come twice: each thread walks all indices and takes its share of the rows, so that the
  // updates of one row happen in order.
  void UpdateRows(const Hyperparameters& values, const UpdateMemory& memory,
                  std::span<const int64_t> indices, int64_t row) const override {
    const auto work = static_cast<int64_t>(indices.size()) * row;
    const int64_t shares = std::clamp<int64_t>(work / kGrain, 1, KernelThreads());
    DispatchFloating(dtype(), [&]<typename T>() {
      const Formula<Compute<T>> formula(values, flags());
      ParallelFor(shares, 1, [&](int64_t first, int64_t last) {
        for (size_t i = 0; i < indices.size(); ++i) {
          const int64_t share = indices[i] % shares;
          if (share < first || share >= last) continue;
          const int64_t begin = indices[i] * row;
          UpdateElements<T>(formula, memory, begin, begin + row, static_cast<int64_t>(i) * row,
                            kSlotSequence);
        }
      });
    });
  }
};

void AddSimpleUpdateKernels(KernelTable& table);    // GradientDescent, Momentum, proximal ones
void AddAdaptiveUpdateKernels(KernelTable& table);  // Adagrad, Adadelta, RMSProp, Adam, AdaMax
void AddFtrlUpdateKernels(KernelTable& table);

}  // namespace carillon
