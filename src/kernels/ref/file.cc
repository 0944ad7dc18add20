// Kernels that read, write and find files.
#include <algorithm>
#include <climits>
#include <fnmatch.h>
#include <set>

#include "base/env.h"
#include "kernels/families.h"
#include "kernels/ref/blocking.h"
#include "kernels/ref/file_kernels.h"

namespace carillon {
namespace {

constexpr uint64_t kMaxFile = uint64_t{1} << 34;

Status RunReadFile(KernelContext& context) {
  if (context.input(0).rank() != 0) {
    return InvalidArgument("filename should be a scalar but has shape ",
                           context.input(0).shape().ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(std::string contents,
                            PosixEnv().ReadFile(context.input(0).scalar<std::string>(), kMaxFile));
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, Shape{}));
  out->mutable_data<std::string>()[0] = std::move(contents);
  return absl::OkStatus();
}

Status RunWriteFile(KernelContext& context) {
  for (const int i : {0, 1}) {
    if (context.input(i).rank() == 0) continue;
    return InvalidArgument(i == 0 ? "filename" : "contents", " should be a scalar but has shape ",
                           context.input(i).shape().ToString());
  }
  const std::string& path = context.input(0).scalar<std::string>();
  Env& env = PosixEnv();
  const std::string directory(Dirname(path));
  if (!env.Exists(directory)) CARILLON_RETURN_IF_ERROR(env.MakeDirectories(directory));
  return env.WriteFile(path, context.input(1).scalar<std::string>());
}

// Adds the files that match `pattern`, in which *, ?, [...] and \ have their usual meaning within a
// part of the path, to *found. What cannot be listed holds no matches. An error ends it.
Status Match(KernelContext& context, const std::string& directory, std::string_view pattern,
             std::set<std::string>* found) {
  if (context.services().cancellation->IsCancelled())
    return absl::CancelledError("the step was cancelled");
  const size_t slash = pattern.find('/');
  const std::string part(pattern.substr(0, slash));
  const bool is_last = slash == std::string_view::npos;
  const auto go_on = [&](const std::string& name) -> Status {
    std::string path = JoinPath(directory, name);
    if (!is_last) return Match(context, path, pattern.substr(slash + 1), found);
    found->insert(std::move(path));
    return absl::OkStatus();
  };
  if (part.empty()) {
    return is_last ? absl::OkStatus() : Match(context, directory, pattern.substr(slash + 1), found);
  }
  if (part == "." || part == "..") return go_on(part);
  const auto names = PosixEnv().List(directory.empty() ? "." : directory);
  if (!names.ok()) return absl::OkStatus();
  for (const std::string& name : *names) {
    if (::fnmatch(part.c_str(), name.c_str(), 0) == 0) CARILLON_RETURN_IF_ERROR(go_on(name));
  }
  return absl::OkStatus();
}

Status RunMatchingFiles(KernelContext& context) {
  if (context.input(0).rank() > 1) {
    return InvalidArgument("pattern should be a scalar or a vector but has shape ",
                           context.input(0).shape().ToString());
  }
  std::vector<std::string> paths;
  for (const std::string& pattern : context.input(0).values<std::string>()) {
    if (pattern.size() >= PATH_MAX)
      return InvalidArgument("a pattern of ", pattern.size(), " bytes is longer than any path");
    std::set<std::string> found;
    const bool absolute = pattern.starts_with('/');
    CARILLON_RETURN_IF_ERROR(Match(context, absolute ? "/" : "",
                                   std::string_view(pattern).substr(absolute ? 1 : 0), &found));
    paths.insert(paths.end(), found.begin(), found.end());
  }
  std::sort(paths.begin(), paths.end());
  CARILLON_ASSIGN_OR_RETURN(Tensor * out,
                            context.AllocateOutput(0, Shape{static_cast<int64_t>(paths.size())}));
  std::ranges::move(paths, out->mutable_data<std::string>());
  return absl::OkStatus();
}

}  // namespace

void AddFileReferenceKernels(KernelTable& table) {
  table.Add({
      {"ReadFile", "ref", FromBlockingFunction<RunReadFile>},
      {"WriteFile", "ref", FromBlockingFunction<RunWriteFile>},
      {"MatchingFiles", "ref", FromBlockingFunction<RunMatchingFiles>},
  });
  AddFileReaderKernels(table);
}

}  // namespace carillon
