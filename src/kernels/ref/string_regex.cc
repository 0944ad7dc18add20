// Regular expressions, in RE2's syntax.
#include <algorithm>
#include <mutex>
#include <optional>
#include <re2/re2.h>

#include "kernels/ref/string_kernels.h"
#include "kernels/work.h"
#include "tensor/memory_charge.h"

namespace carillon {
namespace {

// What RE2 may take for a pattern. TensorFlow gives every one the second, but to a short program
// more than the first is of no use.
constexpr int64_t kLittleMemory = 1 << 20, kMostMemory = 8 << 20;
constexpr int kShortProgram = 1000;

struct Compiled {
  std::unique_ptr<RE2> pattern;
  int64_t limit = 0;  // of what it takes with what it remembers of the texts that it has seen
};

// RE2 has a limit of memory of its own, and is not made for what operator new throws: it runs
// outside of the thread's scope. `least`: the limit to begin with, where it is known what is
// needed.
StatusOr<Compiled> Compile(const std::string& pattern, int64_t least = kLittleMemory) {
  const WorkPause pause;
  RE2::Options options;
  options.set_log_errors(false);
  for (int64_t limit = least;; limit = kMostMemory) {
    options.set_max_mem(limit);
    Compiled compiled{std::make_unique<RE2>(pattern, options), limit};
    const RE2& made = *compiled.pattern;
    const bool is_tight = made.ok() ? made.ProgramSize() > kShortProgram
                                    : made.error_code() == RE2::ErrorPatternTooLarge;
    if (is_tight && limit < kMostMemory) continue;
    if (made.ok()) return compiled;
    return InvalidArgument("the pattern '", pattern, "' is invalid: ", made.error());
  }
}

constexpr int kMostGroups = 16;  // that a rewrite may name, as in RE2

bool Match(const RE2& pattern, std::string_view text, size_t begin, re2::StringPiece* groups,
           int num_groups, RE2::Anchor anchor) {
  const WorkPause pause;
  return pattern.Match(re2::StringPiece(text.data(), text.size()), begin, text.size(), anchor,
                       groups, num_groups);
}

// Where the character at `at` ends; a byte that begins none stands for itself.
size_t EndOfCharacter(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  size_t end = at + 1;
  while (end < text.size() && end < at + length && IsContinuation(text[end])) ++end;
  return end == at + length ? end : at + 1;
}

// `text` with the first match of the pattern, or all, rewritten. As RE2's own functions do it: a
// match of nothing right behind another match does not count.
std::string Replace(const RE2& pattern, const std::string& rewrite, bool all,
                    const std::string& text) {
  const int num_groups = 1 + RE2::MaxSubmatch(rewrite);
  if (num_groups > 1 + pattern.NumberOfCapturingGroups() || num_groups > 1 + kMostGroups)
    return text;
  re2::StringPiece groups[1 + kMostGroups];
  std::string out;
  size_t at = 0;
  const char* last_end = nullptr;
  while (at <= text.size() && !WorkIsCancelled()) {
    if (!Match(pattern, text, at, groups, num_groups, RE2::UNANCHORED)) break;
    const auto begin = static_cast<size_t>(groups[0].data() - text.data());
    out.append(text, at, begin - at);
    at = begin;
    if (groups[0].empty() && groups[0].data() == last_end) {
      if (at == text.size()) break;
      const size_t end = EndOfCharacter(text, at);
      out.append(text, at, end - at);
      at = end;
      continue;
    }
    if (!pattern.Rewrite(&out, re2::StringPiece(rewrite), groups, num_groups) && !all) return text;
    at = begin + groups[0].size();
    last_end = text.data() + at;
    if (!all) break;
  }
  out.append(text, std::min(at, text.size()), std::string::npos);
  return out;
}

// RegexReplace, StaticRegexReplace, RegexFullMatch, StaticRegexFullMatch: patterns are compiled
// once where they are attributes, by the first step, which has somebody to count it for.
class RegexKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    auto kernel = std::make_unique<RegexKernel>();
    const std::string& op = request.node.op();
    kernel->replaces_ = op.ends_with("Replace");
    if (kernel->replaces_) kernel->global_ = request.attr<bool>("replace_global");
    if (op.starts_with("Static")) {
      kernel->pattern_ = request.attr<std::string>("pattern");
      CARILLON_ASSIGN_OR_RETURN(const Compiled compiled, Compile(*kernel->pattern_));
      kernel->limit_ = compiled.limit;
      if (kernel->replaces_) kernel->rewrite_ = request.attr<std::string>("rewrite");
    }
    return kernel;
  }

  Status Run(KernelContext& context) override {
    if (pattern_.has_value()) {
      CARILLON_ASSIGN_OR_RETURN(const RE2* compiled, FindCompiled(context));
      return RunWith(context, *compiled, rewrite_);
    }
    CARILLON_ASSIGN_OR_RETURN(const std::string pattern, ScalarString(context, 1, "pattern"));
    CARILLON_ASSIGN_OR_RETURN(const Compiled compiled, Compile(pattern));
    std::string rewrite;
    if (replaces_) {
      CARILLON_ASSIGN_OR_RETURN(rewrite, ScalarString(context, 2, "rewrite"));
    }
    return RunWith(context, *compiled.pattern, rewrite);
  }

 private:
  struct Kept {
    explicit Kept(Allocator* allocator) : charge(allocator) {}
    MemoryCharge charge;
    std::unique_ptr<RE2> pattern;
  };

  StatusOr<const RE2*> FindCompiled(KernelContext& context) {
    const WorkPause pause;
    std::lock_guard lock(mutex_);
    if (kept_ == nullptr) {
      auto kept = std::make_unique<Kept>(context.services().allocator);
      // The limit is without the pattern itself, which is kept as a tree, too.
      constexpr int64_t kPerByte = 64;
      CARILLON_RETURN_IF_ERROR(
          kept->charge.Add(limit_ + kPerByte * static_cast<int64_t>(pattern_->size())));
      CARILLON_ASSIGN_OR_RETURN(Compiled compiled, Compile(*pattern_, limit_));
      kept->pattern = std::move(compiled.pattern);
      kept_ = std::move(kept);
    }
    return kept_->pattern.get();
  }

  Status RunWith(KernelContext& context, const RE2& pattern, const std::string& rewrite) const {
    const Tensor& in = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, in.shape()));
    for (int64_t i = 0; i < in.num_elements(); ++i) {
      CARILLON_RETURN_IF_ERROR(CheckWanted());
      const std::string& text = in.data<std::string>()[i];
      if (!replaces_) {
        out->mutable_data<bool>()[i] = Match(pattern, text, 0, nullptr, 0, RE2::ANCHOR_BOTH);
        continue;
      }
      out->mutable_data<std::string>()[i] = Replace(pattern, rewrite, global_, text);
    }
    return CheckWanted();
  }

  std::optional<std::string> pattern_;  // where it is an attribute
  int64_t limit_ = 0;                   // that it needs
  std::mutex mutex_;
  std::unique_ptr<Kept> kept_;  // under mutex_; once it is there, until the end
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
