// StringSplit and StringSplitV2: a vector of strings into a sparse matrix of their parts.
#include <algorithm>
#include <bitset>
#include <cstring>
#include <vector>

#include "absl/strings/ascii.h"
#include "kernels/ref/string_kernels.h"

namespace carillon {
namespace {

using Parts = std::vector<std::string_view>;

// `parts[i]` are row i.
Status SetSparse(KernelContext& context, const std::vector<Parts>& parts) {
  int64_t count = 0, widest = 0;
  for (const Parts& row : parts) {
    count += static_cast<int64_t>(row.size());
    widest = std::max(widest, static_cast<int64_t>(row.size()));
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(0, Shape{count, 2}));
  CARILLON_ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(1, Shape{count}));
  CARILLON_ASSIGN_OR_RETURN(Tensor * shape, context.AllocateOutput(2, Shape{2}));
  auto* index = indices->mutable_data<int64_t>();
  auto* value = values->mutable_data<std::string>();
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t j = 0; j < parts[i].size(); ++j) {
      *index++ = static_cast<int64_t>(i);
      *index++ = static_cast<int64_t>(j);
      *value++ = parts[i][j];
    }
  }
  shape->mutable_data<int64_t>()[0] = static_cast<int64_t>(parts.size());
  shape->mutable_data<int64_t>()[1] = widest;
  return absl::OkStatus();
}

Status CheckVector(const Tensor& input) {
  if (input.rank() == 1) return absl::OkStatus();
  return InvalidArgument("the strings to split should be a vector but have shape ",
                         input.shape().ToString());
}

// At any of the bytes of the delimiter; without one, into single bytes.
class StringSplitKernel final : public Kernel {
 public:
  explicit StringSplitKernel(const KernelRequest& request)
      : skip_empty_(request.attr<bool>("skip_empty")) {}

  Status Run(KernelContext& context) override {
    CARILLON_RETURN_IF_ERROR(CheckVector(context.input(0)));
    CARILLON_ASSIGN_OR_RETURN(const std::string delimiter, ScalarString(context, 1, "delimiter"));
    std::bitset<256> is_delimiter;
    for (const char c : delimiter) is_delimiter.set(static_cast<unsigned char>(c));
    std::vector<Parts> parts;
    for (const std::string& text : context.input(0).values<std::string>()) {
      parts.push_back(Split(text, is_delimiter));
    }
    return SetSparse(context, parts);
  }

 private:
  Parts Split(std::string_view text, const std::bitset<256>& is_delimiter) const {
    Parts parts;
    if (text.empty()) return parts;
    if (is_delimiter.none()) {
      for (size_t i = 0; i < text.size(); ++i) parts.push_back(text.substr(i, 1));
      return parts;
    }
    for (size_t begin = 0; begin <= text.size();) {
      size_t end = begin;
      while (end < text.size() && !is_delimiter[static_cast<unsigned char>(text[end])]) ++end;
      if (end > begin || !skip_empty_) parts.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
    return parts;
  }

  const bool skip_empty_;
};

// As Python's str.split: at a separator, or at any white space when it is empty.
class StringSplitV2Kernel final : public Kernel {
 public:
  explicit StringSplitV2Kernel(const KernelRequest& request)
      : max_split_(request.attr<int64_t>("maxsplit")) {}

  Status Run(KernelContext& context) override {
    CARILLON_RETURN_IF_ERROR(CheckVector(context.input(0)));
    CARILLON_ASSIGN_OR_RETURN(const std::string separator, ScalarString(context, 1, "sep"));
    std::vector<Parts> parts;
    for (const std::string& text : context.input(0).values<std::string>()) {
      if (max_split_ == 0) {
        parts.push_back({text});
      } else {
        parts.push_back(separator.empty() ? SplitAtSpace(text) : SplitAt(text, separator));
      }
    }
    return SetSparse(context, parts);
  }

 private:
  bool IsLast(const Parts& parts) const {
    return max_split_ > 0 && static_cast<int64_t>(parts.size()) == max_split_;
  }

  Parts SplitAt(std::string_view text, std::string_view separator) const {
    Parts parts;
    while (!IsLast(parts)) {
      // In linear time, whatever the two are.
      const void* found = memmem(text.data(), text.size(), separator.data(), separator.size());
      if (found == nullptr) break;
      const auto end = static_cast<size_t>(static_cast<const char*>(found) - text.data());
      parts.push_back(text.substr(0, end));
      text.remove_prefix(end + separator.size());
    }
    parts.push_back(text);
    return parts;
  }

  Parts SplitAtSpace(std::string_view text) const {
    const auto is_space = [](char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); };
    Parts parts;
    while (true) {
      text.remove_prefix(
          static_cast<size_t>(std::ranges::find_if_not(text, is_space) - text.begin()));
      if (IsLast(parts)) break;
      const auto size = static_cast<size_t>(std::ranges::find_if(text, is_space) - text.begin());
      if (size == 0) return parts;
      parts.push_back(text.substr(0, size));
      text.remove_prefix(size);
    }
    parts.push_back(text);
    return parts;
  }

  const int64_t max_split_;
};

}  // namespace

void AddStringSplitKernels(KernelTable& table) {
  table.Add({
      {"StringSplit", "ref", FromClass<StringSplitKernel>},
      {"StringSplitV2", "ref", FromClass<StringSplitV2Kernel>},
  });
}

}  // namespace carillon
