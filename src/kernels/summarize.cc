#include "kernels/summarize.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/escaping.h"
#include "base/strings.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// The short form when it reads back as the same number, else enough digits that it does.
std::string FormatNumber(double value, int digits, int all_digits, bool is_float) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  const bool exact = is_float ? std::strtof(text, nullptr) == static_cast<float>(value)
                              : std::strtod(text, nullptr) == value;
  if (!exact) std::snprintf(text, sizeof text, "%.*g", all_digits, value);
  return text;
}

template <typename T>
std::string FormatElement(const T& element, bool quote) {
  if constexpr (std::is_same_v<T, std::string>) {
    const std::string escaped = absl::Utf8SafeCEscape(element);
    return quote ? StrCat("\"", escaped, "\"") : escaped;
  } else if constexpr (std::is_same_v<T, ResourceHandle>) {
    return StrCat("<resource ", element.container, "/", element.name, ">");
  } else if constexpr (std::is_same_v<T, Variant>) {
    return element.value == nullptr ? "<empty variant>" : element.value->DebugString();
  } else if constexpr (std::is_same_v<T, double>) {
    return FormatNumber(element, 15, 17, false);
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, Half> ||
                       std::is_same_v<T, Bfloat16>) {
    return FormatNumber(static_cast<double>(static_cast<float>(element)), 6, 9, true);
  } else if constexpr (std::is_unsigned_v<T>) {
    return StrCat(static_cast<uint64_t>(element));
  } else {
    return StrCat(static_cast<int64_t>(element));
  }
}

std::string FormatAt(const Tensor& value, int64_t index, bool quote) {
  std::string text;
  DispatchAnyType(value.dtype(),
                  [&]<typename T>() { text = FormatElement(value.data<T>()[index], quote); });
  return text;
}

class FlatPrinter {
 public:
  FlatPrinter(const Tensor& value, int64_t limit) : value_(value), limit_(limit) {}

  std::string Print() {
    if (value_.rank() == 0) {
      if (limit_ > 0) text_ = FormatAt(value_, 0, false);
    } else {
      PrintDim(0);
    }
    if (value_.num_elements() > limit_) text_ += "...";
    return std::move(text_);
  }

 private:
  void PrintDim(int dim) {
    if (next_ >= limit_) return;
    if (dim + 1 == value_.rank()) {
      for (int64_t i = 0; i < value_.dim(dim); ++i) {
        if (next_ >= limit_) {
          if (dim != 0) text_ += "...";
          return;
        }
        if (i > 0) text_ += " ";
        text_ += FormatAt(value_, next_++, false);
      }
      return;
    }
    for (int64_t i = 0; i < value_.dim(dim) && next_ < limit_; ++i) {
      text_ += "[";
      PrintDim(dim + 1);
      text_ += "]";
    }
  }

  const Tensor& value_;
  const int64_t limit_;
  int64_t next_ = 0;
  std::string text_;
};

class NestedPrinter {
 public:
  NestedPrinter(const Tensor& value, int64_t edge) : value_(value), edge_(edge) {}

  std::string Print() {
    PrintDim(0, 0);
    return std::move(text_);
  }

 private:
  // `offset`: the first element of this slice, in units of slices of dimension `dim`.
  void PrintDim(int dim, int64_t offset) {
    if (dim == value_.rank()) {
      text_ += FormatAt(value_, offset, true);
      return;
    }
    const int64_t size = value_.dim(dim);
    const bool all = size <= 2 * edge_;
    std::string separator = " ";
    if (dim + 1 < value_.rank()) {
      separator.assign(static_cast<size_t>(value_.rank() - dim - 1), '\n');
      separator.append(static_cast<size_t>(dim + 1), ' ');
    }
    text_ += "[";
    for (int64_t i = 0; i < (all ? size : edge_); ++i) {
      if (i > 0) text_ += separator;
      PrintDim(dim + 1, offset * size + i);
    }
    if (!all) {
      text_ += separator + "...";
      for (int64_t i = size - edge_; i < size; ++i) {
        text_ += separator;
        PrintDim(dim + 1, offset * size + i);
      }
    }
    text_ += "]";
  }

  const Tensor& value_;
  const int64_t edge_;
  std::string text_;
};

int64_t Limit(const Tensor& value, int64_t wanted) {
  const int64_t all = value.num_elements();
  return wanted < 0 ? all : std::min(wanted, all);
}

}  // namespace

std::string SummarizeFlat(const Tensor& value, int64_t max_elements) {
  const int64_t limit = Limit(value, max_elements);
  if (value.num_elements() == 0) return "";
  if (value.dtype() == DType::kBool && limit == 0) return "";  // as TensorFlow has it
  return FlatPrinter(value, limit).Print();
}

std::string SummarizeNested(const Tensor& value, int64_t edge_elements) {
  const int64_t edge = Limit(value, edge_elements);
  if (value.dtype() == DType::kBool && edge == 0) return "";
  if (value.rank() == 0) return edge == 0 ? "..." : FormatAt(value, 0, true);
  return NestedPrinter(value, edge).Print();
}

}  // namespace carillon
