// DecodeRaw and DecodePaddedRaw: the bytes of strings as numbers.
#include <algorithm>
#include <cstring>

#include "kernels/ref/index_values.h"
#include "kernels/ref/parsing_kernels.h"

namespace carillon {
namespace {

// Brings numbers that were copied byte by byte into the machine's form.
void FixElements(DType dtype, bool swap, char* bytes, size_t size) {
  const size_t element = DTypeSize(dtype);
  if (dtype == DType::kBool) {  // any byte but 0 and 1 would be undefined behaviour
    std::transform(bytes, bytes + size, bytes, [](char c) { return static_cast<char>(c != 0); });
  } else if (swap && element > 1) {
    for (size_t i = 0; i < size; i += element) std::reverse(bytes + i, bytes + i + element);
  }
}

StatusOr<Tensor*> AllocateRows(KernelContext& context, const Shape& rows, int64_t width) {
  std::vector<int64_t> dims(rows.dims().begin(), rows.dims().end());
  dims.push_back(width);
  Shape shape;
  if (!Shape::TryMake(dims, &shape)) {
    return InvalidArgument("strings of shape ", rows.ToString(), " cannot hold ", width,
                           " numbers each: the result is too large");
  }
  return context.AllocateOutput(0, shape);
}

class DecodeRawKernel final : public Kernel {
 public:
  explicit DecodeRawKernel(const KernelRequest& request)
      : swap_(!request.attr<bool>("little_endian")) {}

  Status Run(KernelContext& context) override {
    const Tensor& in = context.input(0);
    const DType dtype = context.output_dtype(0);
    const size_t size = in.num_elements() == 0 ? 0 : in.data<std::string>()[0].size();
    for (const std::string& text : in.values<std::string>()) {
      if (text.size() != size) {
        return InvalidArgument("strings to decode should have one length, but there are ", size,
                               " and ", text.size());
      }
    }
    if (size % DTypeSize(dtype) != 0) {
      return InvalidArgument("strings of ", size, " bytes do not hold whole ", DTypeName(dtype),
                             " numbers");
    }
    CARILLON_ASSIGN_OR_RETURN(
        Tensor * out,
        AllocateRows(context, in.shape(), static_cast<int64_t>(size / DTypeSize(dtype))));
    auto* bytes = static_cast<char*>(out->mutable_raw_data());
    for (const std::string& text : in.values<std::string>()) {
      std::memcpy(bytes, text.data(), size);
      bytes += size;
    }
    FixElements(dtype, swap_, static_cast<char*>(out->mutable_raw_data()), out->num_bytes());
    return absl::OkStatus();
  }

 private:
  const bool swap_;
};

class DecodePaddedRawKernel final : public Kernel {
 public:
  explicit DecodePaddedRawKernel(const KernelRequest& request)
      : swap_(!request.attr<bool>("little_endian")) {}

  Status Run(KernelContext& context) override {
    const Tensor& in = context.input(0);
    const DType dtype = context.output_dtype(0);
    CARILLON_ASSIGN_OR_RETURN(const int64_t length, ScalarIndex(context.input(1), "fixed_length"));
    const auto element = static_cast<int64_t>(DTypeSize(dtype));
    if (length <= 0 || length % element != 0) {
      return InvalidArgument("fixed_length should be a positive multiple of the ", element,
                             " bytes of a ", DTypeName(dtype), " but is ", length);
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, AllocateRows(context, in.shape(), length / element));
    auto* bytes = static_cast<char*>(out->mutable_raw_data());
    std::fill(bytes, bytes + out->num_bytes(), '\0');
    for (const std::string& text : in.values<std::string>()) {
      const size_t used = std::min(text.size(), static_cast<size_t>(length));
      // A number that the string ends in the middle of stays zero where it is not there.
      std::memcpy(bytes, text.data(), used);
      bytes += length;
    }
    FixElements(dtype, swap_, static_cast<char*>(out->mutable_raw_data()), out->num_bytes());
    return absl::OkStatus();
  }

 private:
  const bool swap_;
};

}  // namespace

void AddParsingRawKernels(KernelTable& table) {
  table.Add({
      {"DecodeRaw", "ref", FromClass<DecodeRawKernel>},
      {"DecodePaddedRaw", "ref", FromClass<DecodePaddedRawKernel>},
  });
}

}  // namespace carillon
