// Assert, Print, PrintV2 and StringFormat.
#include <atomic>
#include <cstdio>

#include "absl/strings/str_split.h"
#include "base/env.h"
#include "base/logging.h"
#include "kernels/kernel.h"
#include "kernels/ref/control_flow.h"
#include "kernels/summarize.h"

namespace carillon {
namespace {

class AssertKernel final : public Kernel {
 public:
  explicit AssertKernel(const KernelRequest& request)
      : summarize_(request.attr<int64_t>("summarize")) {}

  Status Run(KernelContext& context) override {
    const Tensor& condition = context.input(0);
    if (condition.rank() != 0) {
      return InvalidArgument("the condition should be a scalar but has shape ",
                             condition.shape().ToString());
    }
    if (condition.scalar<bool>()) return absl::OkStatus();
    std::string message = "assertion failed:";
    for (int i = 1; i < context.num_inputs(); ++i) {
      StrAppend(&message, " [", SummarizeFlat(context.input(i), summarize_), "]");
    }
    return InvalidArgument(message);
  }

 private:
  const int64_t summarize_;
};

// How often a Print has printed, over all steps of a session.
class PrintCount final : public Resource {
 public:
  bool Take(int64_t limit) { return limit < 0 || count_.fetch_add(1) < limit; }
  std::string DebugString() const override { return "PrintCount"; }

 private:
  std::atomic<int64_t> count_ = 0;
};

class PrintKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    std::shared_ptr<PrintCount> count;
    if (request.session_state == nullptr) {
      count = std::make_shared<PrintCount>();
    } else {
      CARILLON_ASSIGN_OR_RETURN(count, FindOrMakeResource<PrintCount>(
                                           *request.session_state, "Print", request.node.name(),
                                           []() -> StatusOr<std::shared_ptr<Resource>> {
                                             return std::make_shared<PrintCount>();
                                           }));
    }
    return std::make_unique<PrintKernel>(request, std::move(count));
  }

  PrintKernel(const KernelRequest& request, std::shared_ptr<PrintCount> count)
      : message_(request.attr<std::string>("message")),
        first_n_(request.attr<int64_t>("first_n")),
        summarize_(request.attr<int64_t>("summarize")),
        count_(std::move(count)) {
    traits_.aliases.push_back({0, 0});
  }

  Status Run(KernelContext& context) override {
    context.set_output(0, context.input(0));
    if (!count_->Take(first_n_)) return absl::OkStatus();
    std::string line = message_;
    for (int i = 1; i < context.num_inputs(); ++i) {
      StrAppend(&line, "[", SummarizeFlat(context.input(i), summarize_), "]");
    }
    line += "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
    return absl::OkStatus();
  }

 private:
  const std::string message_;
  const int64_t first_n_;
  const int64_t summarize_;
  const std::shared_ptr<PrintCount> count_;
};

class PrintV2Kernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const auto& stream = request.attr<std::string>("output_stream");
    const auto& end = request.attr<std::string>("end");
    if (stream.starts_with("file://"))
      return std::make_unique<PrintV2Kernel>(Stream::kFile, stream.substr(7), end);
    if (stream == "stdout") return std::make_unique<PrintV2Kernel>(Stream::kStdout, "", end);
    if (stream == "stderr") return std::make_unique<PrintV2Kernel>(Stream::kStderr, "", end);
    if (stream == "log(info)") return std::make_unique<PrintV2Kernel>(Stream::kInfo, "", end);
    if (stream == "log(warning)") return std::make_unique<PrintV2Kernel>(Stream::kWarning, "", end);
    if (stream == "log(error)") return std::make_unique<PrintV2Kernel>(Stream::kError, "", end);
    return InvalidArgument("output_stream '", stream,
                           "' is not one of stdout, stderr, log(info), log(warning), log(error) "
                           "and file://PATH");
  }

  enum class Stream { kStdout, kStderr, kInfo, kWarning, kError, kFile };
  PrintV2Kernel(Stream stream, std::string path, std::string end)
      : stream_(stream), path_(std::move(path)), end_(std::move(end)) {}

  Status Run(KernelContext& context) override {
    const Tensor& input = context.input(0);
    if (input.rank() != 0) {
      return InvalidArgument("the input should be a scalar but has shape ",
                             input.shape().ToString());
    }
    const std::string text = input.scalar<std::string>() + end_;
    switch (stream_) {
      case Stream::kStdout:
        Write(text, stdout);
        break;
      case Stream::kStderr:
        Write(text, stderr);
        break;
      case Stream::kInfo:
        LogLine(LogLevel::kInfo, input.scalar<std::string>());
        break;
      case Stream::kWarning:
        LogLine(LogLevel::kWarning, input.scalar<std::string>());
        break;
      case Stream::kError:
        LogLine(LogLevel::kError, input.scalar<std::string>());
        break;
      case Stream::kFile:
        return AppendToFile(text);
    }
    return absl::OkStatus();
  }

 private:
  static void Write(const std::string& text, std::FILE* file) {
    std::fwrite(text.data(), 1, text.size(), file);
    std::fflush(file);
  }
  Status AppendToFile(const std::string& text) const {
    const auto append = [&]() -> Status {
      CARILLON_ASSIGN_OR_RETURN(auto file,
                                PosixEnv().OpenForWriting(path_, Env::WriteMode::kAppend));
      CARILLON_RETURN_IF_ERROR(file->Append(text));
      return file->Close();
    };
    const Status status = append();
    if (status.ok()) return status;
    return InvalidArgument("cannot append to file '", path_, "': ", std::string(status.message()));
  }

  const Stream stream_;
  const std::string path_;
  const std::string end_;
};

class StringFormatKernel final : public Kernel {
 public:
  explicit StringFormatKernel(const KernelRequest& request)
      : parts_(absl::StrSplit(request.attr<std::string>("template"),
                              request.attr<std::string>("placeholder"))),
        summarize_(request.attr<int64_t>("summarize")) {}

  Status Run(KernelContext& context) override {
    if (parts_.size() != static_cast<size_t>(context.num_inputs()) + 1) {
      return InvalidArgument("the template has ", parts_.size() - 1, " placeholders but there are ",
                             context.num_inputs(), " inputs");
    }
    std::string text = parts_[0];
    for (int i = 0; i < context.num_inputs(); ++i) {
      StrAppend(&text, SummarizeNested(context.input(i), summarize_),
                parts_[static_cast<size_t>(i) + 1]);
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, Shape{}));
    *output->mutable_data<std::string>() = std::move(text);
    return absl::OkStatus();
  }

 private:
  const std::vector<std::string> parts_;
  const int64_t summarize_;
};

}  // namespace

void AddPrintKernels(KernelTable& table) {
  table.Add({
      {"Assert", "ref", FromClass<AssertKernel>},
      {"Print", "ref", FromClass<PrintKernel>},
      {"PrintV2", "ref", FromClass<PrintV2Kernel>},
      {"StringFormat", "ref", FromClass<StringFormatKernel>},
  });
}

}  // namespace carillon
