// Substr: parts of strings, counted in bytes or in UTF-8 characters.
#include <algorithm>

#include "kernels/ref/broadcast.h"
#include "kernels/ref/index_values.h"
#include "kernels/ref/string_kernels.h"
#include "kernels/work.h"

namespace carillon {
namespace {

// Where character `n` from `begin` on starts; the end of the text when there are fewer.
size_t SkipCharacters(std::string_view text, size_t begin, int64_t n) {
  size_t at = begin;
  for (; n > 0 && at < text.size(); --n) {
    do ++at;
    while (at < text.size() && IsContinuation(text[at]));
  }
  return at;
}

class SubstrKernel final : public Kernel {
 public:
  explicit SubstrKernel(const KernelRequest& request)
      : characters_(request.attr<std::string>("unit") == "UTF8_CHAR") {}

  Status Run(KernelContext& context) override {
    const Tensor &in = context.input(0), &pos = context.input(1), &len = context.input(2);
    if (pos.shape() != len.shape()) {
      return InvalidArgument("pos has shape ", pos.shape().ToString(), " but len ",
                             len.shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(const Broadcast broadcast,
                              Broadcast::Make({&in.shape(), &pos.shape()}));
    const bool plain = pos.rank() == 0 || pos.shape() == in.shape();
    if (!plain && broadcast.shape.rank() > 2) {
      return Unimplemented("Substr broadcasts only up to 2 dimensions, not to shape ",
                           broadcast.shape.ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, broadcast.shape));
    Status status;
    broadcast.ForEachRun(
        0, broadcast.shape.num_elements(), [&](const auto& offsets, int64_t at, int64_t n) {
          for (int64_t i = 0; i < n && status.ok(); ++i) {
            if (status = CheckWanted(); !status.ok()) return;
            const auto last = static_cast<size_t>(broadcast.rank - 1);
            const int64_t from = offsets[0] + i * broadcast.strides[0][last];
            const int64_t where = offsets[1] + i * broadcast.strides[1][last];
            status = Cut(in.data<std::string>()[from], IndexAt(pos, where), IndexAt(len, where),
                         &out->mutable_data<std::string>()[at + i]);
          }
        });
    return status;
  }

 private:
  Status Cut(std::string_view text, int64_t pos, int64_t len, std::string* out) const {
    const auto size = static_cast<int64_t>(
        characters_ ? std::ranges::count_if(text, [](char c) { return !IsContinuation(c); })
                    : static_cast<std::ptrdiff_t>(text.size()));
    const int64_t begin = pos < 0 ? pos + size : pos;
    if (begin < 0 || begin > size) {
      return InvalidArgument("pos ", pos, " lies outside of a string of length ", size);
    }
    if (characters_) {
      const size_t first = SkipCharacters(text, 0, begin);
      *out = text.substr(first, SkipCharacters(text, first, len) - first);
    } else {
      // A negative length means all that is left.
      *out = text.substr(static_cast<size_t>(begin),
                         len < 0 ? std::string_view::npos : static_cast<size_t>(len));
    }
    return absl::OkStatus();
  }

  const bool characters_;
};

}  // namespace

void AddStringSubstrKernels(KernelTable& table) {
  table.Add({"Substr", "ref", FromClass<SubstrKernel>});
}

}  // namespace carillon
