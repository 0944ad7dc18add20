// Kernels of the ops that fill a tensor from a distribution, stateful and stateless.
#include <random>

#include "kernels/families.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/random_fill.h"
#include "kernels/ref/random_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {

Philox GeneratorState::Reserve(uint64_t blocks) {
  std::lock_guard lock(mutex_);
  const Philox reserved = next_;
  next_.Skip(blocks);
  return reserved;
}

StatusOr<std::shared_ptr<GeneratorState>> SessionGenerator(const KernelRequest& request) {
  auto seed = static_cast<uint64_t>(request.attr<int64_t>("seed"));
  auto seed2 = static_cast<uint64_t>(request.attr<int64_t>("seed2"));
  return FindOrMakeResource<GeneratorState>(
      *request.session_state, "random", request.node.name(),
      [&]() -> StatusOr<std::shared_ptr<Resource>> {
        if (seed == 0 && seed2 == 0) {
          std::random_device entropy;
          seed = uint64_t{entropy()} << 32 | entropy();
          seed2 = uint64_t{entropy()} << 32 | entropy();
        }
        return std::make_shared<GeneratorState>(Philox::FromSeeds(seed, seed2));
      });
}

StatusOr<Philox> PhiloxFromSeedInput(const Tensor& seed) {
  if (seed.shape() != Shape{2}) {
    return InvalidArgument("seed must have shape [2], not ", seed.shape().ToString());
  }
  Philox philox;
  const bool known = DispatchAmong<int32_t, int64_t>(seed.dtype(), [&]<typename T>() {
    const T* values = seed.data<T>();
    philox = Philox::FromStatelessSeed(static_cast<uint64_t>(int64_t{values[0]}),
                                       static_cast<uint64_t>(int64_t{values[1]}));
  });
  if (!known) return InvalidArgument("a seed cannot be of type ", DTypeName(seed.dtype()));
  return philox;
}

namespace {

template <Distribution distribution>
class RandomKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(auto generator, SessionGenerator(request));
    return std::make_unique<RandomKernel>(std::move(generator));
  }
  explicit RandomKernel(std::shared_ptr<GeneratorState> generator)
      : generator_(std::move(generator)) {}

  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, ReadShape(context.input(0), "shape"));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    FillRandom(distribution, generator_->ReserveOutputs(out->num_elements()), *out);
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<GeneratorState> generator_;
};

// The bounds of a uniform integer op, in inputs `first` and `first` + 1.
struct IntRange {
  int64_t lo = 0, hi = 0;
};
StatusOr<IntRange> ReadRange(const KernelContext& context, int first) {
  IntRange range;
  int64_t* const targets[2] = {&range.lo, &range.hi};
  for (int i = 0; i < 2; ++i) {
    const Tensor& bound = context.input(first + i);
    if (bound.rank() != 0) {
      return InvalidArgument(i == 0 ? "minval" : "maxval", " must be 0-D, got shape ",
                             bound.shape().ToString());
    }
    DispatchAmong<int32_t, int64_t>(bound.dtype(),
                                    [&]<typename T>() { *targets[i] = bound.data<T>()[0]; });
  }
  return range;
}

Status FillRange(const IntRange& range, const Philox& philox, Tensor& out) {
  if (out.num_elements() == 0) return absl::OkStatus();
  if (range.lo >= range.hi) {
    return InvalidArgument("Need minval < maxval, got ", range.lo, " >= ", range.hi);
  }
  FillRandomInt(range.lo, range.hi, philox, out);
  return absl::OkStatus();
}

class RandomUniformIntKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(auto generator, SessionGenerator(request));
    return std::make_unique<RandomUniformIntKernel>(std::move(generator));
  }
  explicit RandomUniformIntKernel(std::shared_ptr<GeneratorState> generator)
      : generator_(std::move(generator)) {}

  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const IntRange range, ReadRange(context, 1));
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, ReadShape(context.input(0), "shape"));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    return FillRange(range, generator_->ReserveOutputs(out->num_elements()), *out);
  }

 private:
  const std::shared_ptr<GeneratorState> generator_;
};

// Stateless ops take (shape, seed, …); their V2 forms (shape, key, counter, alg, …).
using PhiloxSource = StatusOr<Philox> (*)(const KernelContext& context);

StatusOr<Philox> FromSeed(const KernelContext& context) {
  return PhiloxFromSeedInput(context.input(1));
}

constexpr int32_t kAlgorithmPhilox = 1, kAlgorithmAuto = 3;

StatusOr<Philox> FromKeyAndCounter(const KernelContext& context) {
  const Tensor &key = context.input(1), &counter = context.input(2), &alg = context.input(3);
  if (alg.rank() != 0) {
    return InvalidArgument("alg must be a scalar, not of shape ", alg.shape().ToString());
  }
  const int32_t algorithm = alg.data<int32_t>()[0];
  if (algorithm != kAlgorithmPhilox && algorithm != kAlgorithmAuto) {
    return InvalidArgument("Unsupported algorithm id: ", algorithm, "; this device has Philox (",
                           kAlgorithmPhilox, ")");
  }
  if (key.shape() != Shape{1}) {
    return InvalidArgument("key must have shape [1], not ", key.shape().ToString());
  }
  if (counter.rank() != 1 || counter.dim(0) < 2) {
    return InvalidArgument("counter must be a vector with length at least 2, not of shape ",
                           counter.shape().ToString());
  }
  const uint64_t* words = counter.data<uint64_t>();
  return Philox(key.data<uint64_t>()[0], words[0], words[1]);
}

template <Distribution distribution, PhiloxSource source>
Status RunStateless(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, ReadShape(context.input(0), "shape"));
  CARILLON_ASSIGN_OR_RETURN(const Philox philox, source(context));
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
  FillRandom(distribution, philox, *out);
  return absl::OkStatus();
}

template <PhiloxSource source>
Status RunStatelessFullInt(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, ReadShape(context.input(0), "shape"));
  CARILLON_ASSIGN_OR_RETURN(const Philox philox, source(context));
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
  FillRandomFullInt(philox, *out);
  return absl::OkStatus();
}

template <PhiloxSource source, int first_bound>
Status RunStatelessInt(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, ReadShape(context.input(0), "shape"));
  CARILLON_ASSIGN_OR_RETURN(const Philox philox, source(context));
  CARILLON_ASSIGN_OR_RETURN(const IntRange range, ReadRange(context, first_bound));
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
  return FillRange(range, philox, *out);
}

template <PhiloxSource source, int first_bound>
KernelResult MakeStatelessInt(const KernelRequest& request) {
  const DType dtype = request.output_dtype(0);
  if (dtype != DType::kInt32 && dtype != DType::kInt64) {
    return Unimplemented("bounds of type ", DTypeName(dtype));
  }
  return MakeFunctionKernel(RunStatelessInt<source, first_bound>);
}

// StatelessRandomGetKeyCounter, StatelessRandomGetKeyCounterAlg: the last output is only the
// latter's.
Status RunGetKeyCounter(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const Philox philox, PhiloxFromSeedInput(context.input(0)));
  CARILLON_ASSIGN_OR_RETURN(Tensor * key, context.AllocateOutput(0, Shape{1}));
  key->mutable_data<uint64_t>()[0] = philox.key();
  CARILLON_ASSIGN_OR_RETURN(Tensor * counter, context.AllocateOutput(1, Shape{2}));
  counter->mutable_data<uint64_t>()[0] = philox.counter_low();
  counter->mutable_data<uint64_t>()[1] = philox.counter_high();
  if (context.num_outputs() > 2) {
    CARILLON_ASSIGN_OR_RETURN(Tensor * alg, context.AllocateOutput(2, Shape{}));
    alg->mutable_data<int32_t>()[0] = kAlgorithmPhilox;
  }
  return absl::OkStatus();
}

Status RunGetAlg(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(Tensor * alg, context.AllocateOutput(0, Shape{}));
  alg->mutable_data<int32_t>()[0] = kAlgorithmPhilox;
  return absl::OkStatus();
}

}  // namespace

void AddRandomReferenceKernels(KernelTable& table) {
  using enum Distribution;
  table.Add({
      {"RandomUniform", "ref", FromClass<RandomKernel<kUniform>>},
      {"RandomStandardNormal", "ref", FromClass<RandomKernel<kNormal>>},
      {"TruncatedNormal", "ref", FromClass<RandomKernel<kTruncatedNormal>>},
      {"RandomUniformInt", "ref", FromClass<RandomUniformIntKernel>},

      {"StatelessRandomUniform", "ref", FromFunction<RunStateless<kUniform, FromSeed>>},
      {"StatelessRandomNormal", "ref", FromFunction<RunStateless<kNormal, FromSeed>>},
      {"StatelessTruncatedNormal", "ref", FromFunction<RunStateless<kTruncatedNormal, FromSeed>>},
      {"StatelessRandomUniformInt", "ref", MakeStatelessInt<FromSeed, 2>},
      {"StatelessRandomUniformFullInt", "ref", FromFunction<RunStatelessFullInt<FromSeed>>},

      {"StatelessRandomUniformV2", "ref", FromFunction<RunStateless<kUniform, FromKeyAndCounter>>},
      {"StatelessRandomNormalV2", "ref", FromFunction<RunStateless<kNormal, FromKeyAndCounter>>},
      {"StatelessTruncatedNormalV2", "ref",
       FromFunction<RunStateless<kTruncatedNormal, FromKeyAndCounter>>},
      {"StatelessRandomUniformIntV2", "ref", MakeStatelessInt<FromKeyAndCounter, 4>},
      {"StatelessRandomUniformFullIntV2", "ref",
       FromFunction<RunStatelessFullInt<FromKeyAndCounter>>},

      {"StatelessRandomGetKeyCounter", "ref", FromFunction<RunGetKeyCounter>},
      {"StatelessRandomGetKeyCounterAlg", "ref", FromFunction<RunGetKeyCounter>},
      {"StatelessRandomGetAlg", "ref", FromFunction<RunGetAlg>},
  });
  AddSamplingKernels(table);
  AddTruncatedNormalKernels(table);
}

}  // namespace carillon
