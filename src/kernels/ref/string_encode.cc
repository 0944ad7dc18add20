// Hash buckets and base64.
#include <algorithm>
#include <array>

#include "kernels/fingerprint.h"
#include "kernels/ref/string_kernels.h"

namespace carillon {
namespace {

// StringToHashBucketFast, StringToHashBucket, StringToHashBucketStrong.
class HashBucketKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    auto kernel = std::make_unique<HashBucketKernel>();
    kernel->buckets_ = static_cast<uint64_t>(request.attr<int64_t>("num_buckets"));
    const std::string& op = request.node.op();
    if (op == "StringToHashBucketFast") {
      kernel->hash_ = [](const HashBucketKernel&, std::string_view text) {
        return Fingerprint64(text);
      };
    } else if (op == "StringToHashBucket") {
      kernel->hash_ = [](const HashBucketKernel&, std::string_view text) { return Murmur64(text); };
    } else {
      const auto& key = request.attr<std::vector<int64_t>>("key");
      if (key.size() != 2)
        return InvalidArgument("the key should have 2 elements, not ", key.size());
      kernel->key_ = {static_cast<uint64_t>(key[0]), static_cast<uint64_t>(key[1])};
      kernel->hash_ = [](const HashBucketKernel& self, std::string_view text) {
        return SipHash(self.key_, text);
      };
    }
    return kernel;
  }

  Status Run(KernelContext& context) override {
    const Tensor& in = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, in.shape()));
    std::ranges::transform(in.values<std::string>(), out->mutable_data<int64_t>(),
                           [&](const std::string& text) {
                             return static_cast<int64_t>(hash_(*this, text) % buckets_);
                           });
    return absl::OkStatus();
  }

 private:
  uint64_t (*hash_)(const HashBucketKernel&, std::string_view) = nullptr;
  uint64_t buckets_ = 1;
  std::array<uint64_t, 2> key_{};
};

// The alphabet that is safe in URLs.
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string ToBase64(std::string_view bytes, bool pad) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  uint32_t bits = 0;
  int count = 0;  // of the bits that wait
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(byte);
    for (count += 8; count >= 6; count -= 6) out += kAlphabet[bits >> (count - 6) & 63];
  }
  if (count > 0) out += kAlphabet[bits << (6 - count) & 63];
  while (pad && out.size() % 4 != 0) out += '=';
  return out;
}

Status FromBase64(std::string_view text, std::string* out) {
  static constexpr std::array<int8_t, 256> kValues = [] {
    std::array<int8_t, 256> values{};
    values.fill(-1);
    for (size_t i = 0; i < kAlphabet.size(); ++i)
      values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
    return values;
  }();
  if (text.size() % 4 == 0) {
    for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) {
    return InvalidArgument("base64 of ", text.size(), " characters is incomplete");
  }
  out->clear();
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = kValues[static_cast<unsigned char>(c)];
    if (value < 0) return InvalidArgument("a character is not among those of base64");
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out->push_back(static_cast<char>(bits >> count));
  }
  return absl::OkStatus();
}

class EncodeBase64Kernel final : public Kernel {
 public:
  explicit EncodeBase64Kernel(const KernelRequest& request) : pad_(request.attr<bool>("pad")) {}
  Status Run(KernelContext& context) override {
    const Tensor& in = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, in.shape()));
    std::ranges::transform(in.values<std::string>(), out->mutable_data<std::string>(),
                           [&](const std::string& bytes) { return ToBase64(bytes, pad_); });
    return absl::OkStatus();
  }

 private:
  const bool pad_;
};

Status RunDecodeBase64(KernelContext& context) {
  const Tensor& in = context.input(0);
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, in.shape()));
  auto* bytes = out->mutable_data<std::string>();
  for (const std::string& text : in.values<std::string>()) {
    CARILLON_RETURN_IF_ERROR(FromBase64(text, bytes++));
  }
  return absl::OkStatus();
}

}  // namespace

void AddStringEncodeKernels(KernelTable& table) {
  table.Add({
      {"StringToHashBucketFast", "ref", FromClass<HashBucketKernel>},
      {"StringToHashBucket", "ref", FromClass<HashBucketKernel>},
      {"StringToHashBucketStrong", "ref", FromClass<HashBucketKernel>},
      {"EncodeBase64", "ref", FromClass<EncodeBase64Kernel>},
      {"DecodeBase64", "ref", FromFunction<RunDecodeBase64>},
  });
}

}  // namespace carillon
