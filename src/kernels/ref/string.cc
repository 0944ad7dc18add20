// Kernels of the string family: joins, lengths, letters, and the list of the others.
#include <algorithm>
#include <unicode/unistr.h>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/foreign_memory.h"
#include "kernels/families.h"
#include "kernels/ref/string_kernels.h"
#include "tensor/text_memory.h"

namespace carillon {

StatusOr<std::string> ScalarString(const KernelContext& context, int i, std::string_view what) {
  const Tensor& tensor = context.input(i);
  if (tensor.rank() != 0) {
    return InvalidArgument(what, " should be a scalar but has shape ", tensor.shape().ToString());
  }
  return tensor.scalar<std::string>();
}

namespace {

class StringJoinKernel final : public Kernel {
 public:
  explicit StringJoinKernel(const KernelRequest& request)
      : separator_(request.attr<std::string>("separator")) {}

  Status Run(KernelContext& context) override {
    Shape shape;  // of all inputs that are no scalars
    for (int i = 0; i < context.num_inputs(); ++i) {
      const Shape& input = context.input(i).shape();
      if (input.rank() == 0) continue;
      if (shape.rank() != 0 && shape != input) {
        return InvalidArgument("strings to join have shapes ", shape.ToString(), " and ",
                               input.ToString());
      }
      shape = input;
    }
    // A few joins of joins could fill any memory: what will be made is counted first.
    Allocator* const allocator = context.services().allocator;
    int64_t bytes = 0;
    for (int i = 0; i < context.num_inputs(); ++i) {
      const Tensor& input = context.input(i);
      const int64_t times = input.rank() == 0 ? shape.num_elements() : 1;
      int64_t size = 0;
      for (const std::string& text : input.values<std::string>())
        size += static_cast<int64_t>(text.size() + separator_.size());
      CARILLON_RETURN_IF_ERROR(CheckRoomOutside(allocator, times, size));
      bytes += times * size;
      CARILLON_RETURN_IF_ERROR(CheckRoomOutside(allocator, 1, bytes));
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    for (int64_t at = 0; at < shape.num_elements(); ++at) {
      std::string& joined = out->mutable_data<std::string>()[at];
      joined.clear();
      for (int i = 0; i < context.num_inputs(); ++i) {
        const Tensor& input = context.input(i);
        if (i > 0) joined += separator_;
        joined += input.data<std::string>()[input.rank() == 0 ? 0 : at];
      }
    }
    return absl::OkStatus();
  }

 private:
  const std::string separator_;
};

class StringLengthKernel final : public Kernel {
 public:
  explicit StringLengthKernel(const KernelRequest& request)
      : characters_(request.attr<std::string>("unit") == "UTF8_CHAR") {}

  Status Run(KernelContext& context) override {
    const Tensor& in = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, in.shape()));
    std::ranges::transform(
        in.values<std::string>(), out->mutable_data<int32_t>(), [&](const std::string& text) {
          return characters_ ? static_cast<int32_t>(std::ranges::count_if(
                                   text, [](char c) { return !IsContinuation(c); }))
                             : static_cast<int32_t>(text.size());
        });
    return absl::OkStatus();
  }

 private:
  const bool characters_;
};

// StringLower, StringUpper.
class LetterCaseKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const std::string& encoding = request.attr<std::string>("encoding");
    if (!encoding.empty() && encoding != "utf-8") {
      return InvalidArgument("the encoding should be 'utf-8' or '' but is '", encoding, "'");
    }
    return std::make_unique<LetterCaseKernel>(request.node.op() == "StringUpper",
                                              !encoding.empty());
  }
  LetterCaseKernel(bool upper, bool utf8) : upper_(upper), utf8_(utf8) {}

  Status Run(KernelContext& context) override {
    const Tensor& in = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, in.shape()));
    std::ranges::transform(in.values<std::string>(), out->mutable_data<std::string>(),
                           [&](const std::string& text) { return Convert(text); });
    return absl::OkStatus();
  }

 private:
  std::string Convert(const std::string& text) const {
    if (!utf8_) return upper_ ? absl::AsciiStrToUpper(text) : absl::AsciiStrToLower(text);
    // As given and as converted: two bytes for most characters each. ICU has more, and loses it if
    // the text throws, unless that has room.
    const ForeignMemory memory(4 * text.size());
    icu::UnicodeString letters = icu::UnicodeString::fromUTF8(text);
    if (upper_) {
      letters.toUpper();
    } else {
      letters.toLower();
    }
    std::string converted;
    constexpr size_t kMostBytes = 3;  // of UTF-8, for two of UTF-16
    converted.reserve(kMostBytes * static_cast<size_t>(letters.length()));
    letters.toUTF8String(converted);
    return converted;
  }

  const bool upper_, utf8_;
};

Status RunStrip(KernelContext& context) {
  const Tensor& in = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, in.shape()));
  std::ranges::transform(
      in.values<std::string>(), out->mutable_data<std::string>(),
      [](const std::string& text) { return std::string(absl::StripAsciiWhitespace(text)); });
  return absl::OkStatus();
}

}  // namespace

void AddStringReferenceKernels(KernelTable& table) {
  table.Add({
      {"StringJoin", "ref", FromClass<StringJoinKernel>},
      {"StringLength", "ref", FromClass<StringLengthKernel>},
      {"StringLower", "ref", FromClass<LetterCaseKernel>},
      {"StringUpper", "ref", FromClass<LetterCaseKernel>},
      {"StringStrip", "ref", FromFunction<RunStrip>},
  });
  AddStringSplitKernels(table);
  AddStringSubstrKernels(table);
  AddStringNumberKernels(table);
  AddStringReduceKernels(table);
  AddStringRegexKernels(table);
  AddStringEncodeKernels(table);
}

}  // namespace carillon
