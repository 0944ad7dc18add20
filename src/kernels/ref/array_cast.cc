// Kernels that change the element type: Cast converts values, Bitcast reads the same bytes anew.
#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "base/parallel.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// Floating to integer: towards zero. What does not fit becomes what x86 gives, on every machine:
// the least int32 or int64, cut to the narrower types' bits.
template <typename Wide, typename From>
Wide Truncated(From value) {
  constexpr From limit = -static_cast<From>(std::numeric_limits<Wide>::min());
  return value >= -limit && value < limit ? static_cast<Wide>(value)
                                          : std::numeric_limits<Wide>::min();
}

template <typename To, typename From>
To Convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, uint64_t>) {
      constexpr From half = static_cast<From>(9223372036854775808.0);
      if (value >= half && value < 2 * half) {
        return static_cast<uint64_t>(static_cast<int64_t>(value - half)) + (uint64_t{1} << 63);
      }
      return static_cast<uint64_t>(Truncated<int64_t>(value));
    } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint32_t>) {
      return static_cast<To>(Truncated<int64_t>(value));
    } else {
      return static_cast<To>(Truncated<int32_t>(value));
    }
  } else {
    return static_cast<To>(value);
  }
}

using CastRange = void (*)(const void* from, void* to, int64_t count);

template <typename From, typename To>
void CastElements(const void* from, void* to, int64_t count) {
  const From* source = static_cast<const From*>(from);
  To* target = static_cast<To*>(to);
  for (int64_t i = 0; i < count; ++i) target[i] = Convert<To>(source[i]);
}

// The 16-bit floats convert by way of float: the functions that do are few, and the rest is shared.
template <typename Body>
bool DispatchWide(DType dtype, Body&& body) {
  return DispatchAmong<float, double>(dtype, body) || DispatchInteger(dtype, body) ||
         DispatchAmong<bool>(dtype, body);
}

// Null when there is no such conversion.
CastRange FindCast(DType from, DType to) {
  CastRange cast = nullptr;
  const auto choose = [&]<typename From>() {
    DispatchWide(to, [&]<typename To>() { cast = CastElements<From, To>; });
  };
  if (from == DType::kHalf && to == DType::kFloat) return CastElements<Half, float>;
  if (from == DType::kBfloat16 && to == DType::kFloat) return CastElements<Bfloat16, float>;
  if (from == DType::kFloat && to == DType::kHalf) return CastElements<float, Half>;
  if (from == DType::kFloat && to == DType::kBfloat16) return CastElements<float, Bfloat16>;
  DispatchWide(from, choose);
  return cast;
}

bool IsNarrow(DType dtype) { return dtype == DType::kHalf || dtype == DType::kBfloat16; }

// How many bits of the mantissa a floating type has.
int MantissaBits(DType dtype) {
  switch (dtype) {
    case DType::kDouble:
      return 52;
    case DType::kFloat:
      return 23;
    case DType::kHalf:
      return 10;
    default:
      return 7;
  }
}

class CastKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const DType from = request.attr<DType>("SrcT");
    const DType to = request.attr<DType>("DstT");
    if (from == to) return FromAlias<RunIdentity>(request);
    if (!IsPlainData(from) || !IsPlainData(to)) {
      return Unimplemented("no cast leads from ", DTypeName(from), " to ", DTypeName(to));
    }
    return std::make_unique<CastKernel>(from, to, request.attr<bool>("Truncate"));
  }

  CastKernel(DType from, DType to, bool truncate) {
    // Through float where a 16-bit type stands on the other side of something else.
    if ((IsNarrow(from) && to != DType::kFloat) || (IsNarrow(to) && from != DType::kFloat)) {
      first_ = from == DType::kFloat ? nullptr : FindCast(from, DType::kFloat);
      second_ = FindCast(DType::kFloat, to);
    } else {
      first_ = FindCast(from, to);
    }
    if (truncate && IsFloating(from) && IsFloating(to)) {
      cleared_bits_ = std::max(0, MantissaBits(from) - MantissaBits(to));
    }
    if (DTypeSize(from) == DTypeSize(to)) traits_.reuses.push_back({0, 0});
    from_ = from;
  }

  Status Run(KernelContext& context) override {
    const Tensor& x = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, x.shape()));
    const int64_t bytes =
        static_cast<int64_t>(std::max(DTypeSize(x.dtype()), DTypeSize(y->dtype())));
    ParallelFor(x.num_elements(), GrainFor(bytes), [&](int64_t begin, int64_t end) {
      const char* from = At(x, begin);
      char* to = At(*y, begin);
      if (second_ == nullptr && cleared_bits_ == 0) {
        first_(from, to, end - begin);
      } else {
        InPieces(from, x.dtype(), to, y->dtype(), end - begin);
      }
    });
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kPiece = 256;

  void InPieces(const char* from, DType from_dtype, char* to, DType to_dtype, int64_t count) const {
    alignas(64) double cut[kPiece];
    alignas(64) float between[kPiece];
    while (count > 0) {
      const int64_t n = std::min(count, kPiece);
      const void* source = from;
      if (cleared_bits_ > 0) {
        ClearBits(from, cut, n);
        source = cut;
      }
      if (second_ == nullptr) {
        first_(source, to, n);
      } else {
        first_(source, between, n);
        second_(between, to, n);
      }
      from = At(static_cast<const void*>(from), from_dtype, n);
      to = At(static_cast<void*>(to), to_dtype, n);
      count -= n;
    }
  }

  // Truncate: what the narrower mantissa cannot hold is cut off instead of rounded.
  void ClearBits(const char* from, double* to, int64_t count) const {
    if (from_ == DType::kDouble) {
      const double* source = reinterpret_cast<const double*>(from);
      for (int64_t i = 0; i < count; ++i) {
        to[i] = std::bit_cast<double>(std::bit_cast<uint64_t>(source[i]) >> cleared_bits_
                                                                                << cleared_bits_);
      }
    } else {
      const float* source = reinterpret_cast<const float*>(from);
      float* target = reinterpret_cast<float*>(to);
      for (int64_t i = 0; i < count; ++i) {
        target[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(source[i]) >>
                                         cleared_bits_ << cleared_bits_);
      }
    }
  }

  CastRange first_ = nullptr;
  CastRange second_ = nullptr;  // from float, when the way leads through it
  int cleared_bits_ = 0;
  DType from_ = DType::kInvalid;
};

class BitcastKernel final : public Kernel {
 public:
  explicit BitcastKernel(const KernelRequest& request) : type_(request.attr<DType>("type")) {
    traits_.aliases.push_back({0, 0});
  }

  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    const int64_t from = static_cast<int64_t>(DTypeSize(input.dtype()));
    const int64_t to = static_cast<int64_t>(DTypeSize(type_));
    Ints dims(input.shape().dims().begin(), input.shape().dims().end());
    if (from > to) {
      dims.push_back(from / to);
    } else if (from < to) {
      if (dims.empty() || dims.back() != to / from) {
        return InvalidArgument("a ", DTypeName(input.dtype()), " tensor of shape ",
                               input.shape().ToString(), " can be read as ", DTypeName(type_),
                               " only when its last dimension is ", to / from);
      }
      dims.pop_back();
    }
    CARILLON_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    context.set_output(0, input.Bitcast(type_, shape));
    return absl::OkStatus();
  }

 private:
  const DType type_;
};

}  // namespace

void AddArrayCastKernels(KernelTable& table) {
  table.Add({
      {"Cast", "ref", FromClass<CastKernel>},
      {"Bitcast", "ref", FromClass<BitcastKernel>},
  });
}

}  // namespace carillon
