// AsString and StringToNumber.
#include <algorithm>
#include <cstdio>

#include "absl/strings/escaping.h"
#include "kernels/ref/number_text.h"
#include "kernels/ref/string_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

constexpr int64_t kMaxWidth = 1 << 16;  // of a number, and of its precision

class AsStringKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const DType dtype = request.attr<DType>("T");
    const bool scientific = request.attr<bool>("scientific"),
               shortest = request.attr<bool>("shortest");
    const int64_t precision = request.attr<int64_t>("precision"),
                  width = request.attr<int64_t>("width");
    const std::string& fill = request.attr<std::string>("fill");
    if (!IsPlainData(dtype) && dtype != DType::kString) {
      return Unimplemented("tensors of dtype ", DTypeName(dtype), " cannot be printed");
    }
    if (scientific && shortest) {
      return InvalidArgument("scientific and shortest cannot both be set");
    }
    if ((scientific || shortest) && !IsFloating(dtype)) {
      return InvalidArgument("scientific and shortest are for floats, not for ", DTypeName(dtype));
    }
    if (precision >= 0 && !IsFloating(dtype) && dtype != DType::kString) {
      return InvalidArgument("precision is for floats, not for ", DTypeName(dtype));
    }
    if (fill.size() > 1 ||
        (!fill.empty() && std::string_view(" +-0#").find(fill[0]) == std::string_view::npos)) {
      return InvalidArgument("fill should be one of ' ', '+', '-', '0', '#' or nothing but is '",
                             fill, "'");
    }
    if (width > kMaxWidth || precision > kMaxWidth) {
      return InvalidArgument("width and precision can be ", kMaxWidth, " at most");
    }
    return std::make_unique<AsStringKernel>(request);
  }

  explicit AsStringKernel(const KernelRequest& request)
      : fill_(request.attr<std::string>("fill")),
        width_(static_cast<int>(std::max<int64_t>(request.attr<int64_t>("width"), 0))),
        precision_(static_cast<int>(std::max<int64_t>(request.attr<int64_t>("precision"), -1))),
        style_(request.attr<bool>("scientific") ? "e"
               : request.attr<bool>("shortest") ? "g"
                                                : "f") {}

  Status Run(KernelContext& context) override {
    const Tensor& in = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, in.shape()));
    auto* text = out->mutable_data<std::string>();
    if (in.dtype() == DType::kString) {
      for (const std::string& value : in.values<std::string>()) *text++ = Pad(value);
      return absl::OkStatus();
    }
    DispatchPlain(in.dtype(), [&]<typename T>() {
      for (const T value : in.values<T>()) *text++ = Print(value);
    });
    return absl::OkStatus();
  }

 private:
  template <typename T>
  std::string Print(T value) const {
    if constexpr (std::is_same_v<T, bool>) {
      return value ? "true" : "false";
    } else if constexpr (!std::is_integral_v<T>) {
      return Format(
          StrCat("%", fill_, "*.*", style_), width_, precision_,
          static_cast<double>(
              static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(value)));
    } else if constexpr (std::is_signed_v<T>) {
      return Format(StrCat("%", fill_, "*lld"), width_, static_cast<long long>(value));
    } else {
      return Format(StrCat("%", fill_, "*llu"), width_, static_cast<unsigned long long>(value));
    }
  }

  std::string Pad(const std::string& text) const {
    const auto width = static_cast<size_t>(width_);
    if (text.size() >= width) return text;
    const std::string spaces(width - text.size(), ' ');
    return fill_ == "-" ? text + spaces : spaces + text;
  }

  template <typename... Args>
  static std::string Format(const std::string& format, Args... args) {
    std::string text(static_cast<size_t>(std::snprintf(nullptr, 0, format.c_str(), args...)), '\0');
    std::snprintf(text.data(), text.size() + 1, format.c_str(), args...);
    return text;
  }

  const std::string fill_;
  const int width_;
  const int precision_;
  const std::string style_;
};

Status RunStringToNumber(KernelContext& context) {
  const Tensor& in = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, in.shape()));
  Status status;
  DispatchAmong<float, double, int32_t, int64_t, uint32_t, uint64_t>(
      out->dtype(), [&]<typename T>() {
        T* number = out->mutable_data<T>();
        for (const std::string& text : in.values<std::string>()) {
          if (ParseNumber(text, number++)) continue;
          status = InvalidArgument("'", absl::CHexEscape(text), "' is no ", DTypeName(out->dtype()),
                                   " number");
          return;
        }
      });
  return status;
}

}  // namespace

void AddStringNumberKernels(KernelTable& table) {
  table.Add({
      {"AsString", "ref", FromClass<AsStringKernel>},
      {"StringToNumber", "ref", FromFunction<RunStringToNumber>},
  });
}

}  // namespace carillon
