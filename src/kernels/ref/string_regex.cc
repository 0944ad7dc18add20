// Regular expressions, in RE2's syntax.
#include <re2/re2.h>

#include "kernels/ref/string_kernels.h"

namespace carillon {
namespace {

StatusOr<std::unique_ptr<RE2>> Compile(const std::string& pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  auto compiled = std::make_unique<RE2>(pattern, options);
  if (compiled->ok()) return compiled;
  return InvalidArgument("the pattern '", pattern, "' is invalid: ", compiled->error());
}

// RegexReplace, StaticRegexReplace, RegexFullMatch, StaticRegexFullMatch: patterns are compiled
// once where they are attributes.
class RegexKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    auto kernel = std::make_unique<RegexKernel>();
    const std::string& op = request.node.op();
    kernel->replaces_ = op.ends_with("Replace");
    if (kernel->replaces_) kernel->global_ = request.attr<bool>("replace_global");
    if (op.starts_with("Static")) {
      CARILLON_ASSIGN_OR_RETURN(kernel->compiled_, Compile(request.attr<std::string>("pattern")));
      if (kernel->replaces_) kernel->rewrite_ = request.attr<std::string>("rewrite");
    }
    return kernel;
  }

  Status Run(KernelContext& context) override {
    if (compiled_ != nullptr) return RunWith(context, *compiled_, rewrite_);
    CARILLON_ASSIGN_OR_RETURN(const std::string pattern, ScalarString(context, 1, "pattern"));
    CARILLON_ASSIGN_OR_RETURN(const std::unique_ptr<RE2> compiled, Compile(pattern));
    std::string rewrite;
    if (replaces_) {
      CARILLON_ASSIGN_OR_RETURN(rewrite, ScalarString(context, 2, "rewrite"));
    }
    return RunWith(context, *compiled, rewrite);
  }

 private:
  Status RunWith(KernelContext& context, const RE2& pattern, const std::string& rewrite) const {
    const Tensor& in = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, in.shape()));
    for (int64_t i = 0; i < in.num_elements(); ++i) {
      const std::string& text = in.data<std::string>()[i];
      if (!replaces_) {
        out->mutable_data<bool>()[i] = RE2::FullMatch(text, pattern);
        continue;
      }
      std::string& result = out->mutable_data<std::string>()[i];
      result = text;
      if (global_) {
        RE2::GlobalReplace(&result, pattern, rewrite);
      } else {
        RE2::Replace(&result, pattern, rewrite);
      }
    }
    return absl::OkStatus();
  }

  std::unique_ptr<RE2> compiled_;
  std::string rewrite_;
  bool replaces_ = false;
  bool global_ = false;
};

}  // namespace

void AddStringRegexKernels(KernelTable& table) {
  table.Add({
      {"RegexReplace", "ref", FromClass<RegexKernel>},
      {"StaticRegexReplace", "ref", FromClass<RegexKernel>},
      {"RegexFullMatch", "ref", FromClass<RegexKernel>},
      {"StaticRegexFullMatch", "ref", FromClass<RegexKernel>},
  });
}

}  // namespace carillon
