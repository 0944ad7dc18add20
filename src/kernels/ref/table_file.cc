// InitializeTableFromTextFile: a table from the lines of a file.
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "base/background.h"
#include "base/env.h"
#include "kernels/lookup_table.h"
#include "kernels/ref/table_kernels.h"
#include "kernels/work.h"

namespace carillon {
namespace {

constexpr int64_t kLineNumber = -1;

// Where one side of the table comes from: a column, the whole line, or its number.
struct Field {
  const char* what;
  int64_t index;
  DType dtype;
};

struct TextFile {
  std::string path;
  int64_t vocab_size;  // -1: all lines
  char delimiter;
  int64_t offset;  // of line numbers
};

Status CheckField(const Field& field) {
  if (field.index == kLineNumber && field.dtype != DType::kInt64) {
    return InvalidArgument(field.what, " index for line number requires table ", field.what,
                           " dtype of int64, got ", DTypeName(field.dtype));
  }
  return absl::OkStatus();
}

Status BadField(std::string_view text, int64_t line, DType dtype) {
  return InvalidArgument("Field ", text, " in line ", line, " is not a valid ", DTypeName(dtype),
                         ".");
}

// Sets element `at` of `column`.
Status SetField(const Field& field, std::string_view text, int64_t line, int64_t offset, int64_t at,
                Tensor& column) {
  if (field.index == kLineNumber) {
    column.mutable_data<int64_t>()[at] = offset + line;
    return absl::OkStatus();
  }
  const absl::string_view view(text.data(), text.size());
  switch (field.dtype) {
    case DType::kString:
      column.mutable_data<std::string>()[at] = std::string(text);
      return absl::OkStatus();
    case DType::kInt64:
      return absl::SimpleAtoi(view, &column.mutable_data<int64_t>()[at])
                 ? absl::OkStatus()
                 : BadField(text, line, field.dtype);
    case DType::kInt32:
      return absl::SimpleAtoi(view, &column.mutable_data<int32_t>()[at])
                 ? absl::OkStatus()
                 : BadField(text, line, field.dtype);
    case DType::kFloat:
      return absl::SimpleAtof(view, &column.mutable_data<float>()[at])
                 ? absl::OkStatus()
                 : BadField(text, line, field.dtype);
    case DType::kDouble:
      return absl::SimpleAtod(view, &column.mutable_data<double>()[at])
                 ? absl::OkStatus()
                 : BadField(text, line, field.dtype);
    default:
      return InvalidArgument("a table of ", DTypeName(field.dtype), " cannot be read from a file");
  }
}

StatusOr<std::string_view> TextOf(const Field& field, std::string_view line, int64_t number,
                                  const TextFile& file) {
  if (field.index < 0) return line;
  std::string_view rest = line;
  for (int64_t column = 0;; ++column) {
    const size_t end = rest.find(file.delimiter);
    if (column == field.index) return rest.substr(0, end);
    if (end == std::string_view::npos) {
      return InvalidArgument("Invalid number of columns in ", file.path, " line ", number, " (",
                             line, ") : expected at least ", field.index + 1, " got ", column + 1);
    }
    rest.remove_prefix(end + 1);
  }
}

StatusOr<std::vector<std::string_view>> LinesOf(std::string_view text, const TextFile& file) {
  std::vector<std::string_view> lines;
  while (!text.empty() && static_cast<int64_t>(lines.size()) != file.vocab_size) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) {
      return InvalidArgument("Invalid content in ", file.path, ": empty line found at position ",
                             lines.size(), ".");
    }
    lines.push_back(line);
  }
  if (lines.empty()) return OutOfRange("there are no lines to read in ", file.path);
  if (file.vocab_size >= 0 && static_cast<int64_t>(lines.size()) < file.vocab_size) {
    return InvalidArgument("Invalid vocab_size in ", file.path, ": expected ", file.vocab_size,
                           " but got ", lines.size());
  }
  return lines;
}

Status InitializeFrom(const TextFile& file, const Field& key, const Field& value,
                      Allocator* allocator, LookupTable& table) {
  CARILLON_RETURN_IF_ERROR(CheckField(key));
  CARILLON_RETURN_IF_ERROR(CheckField(value));
  CARILLON_ASSIGN_OR_RETURN(const std::string text, PosixEnv().ReadFile(file.path));
  CARILLON_ASSIGN_OR_RETURN(const std::vector<std::string_view> lines, LinesOf(text, file));
  const Shape shape{static_cast<int64_t>(lines.size())};
  Tensor keys = Tensor::TryAllocate(key.dtype, shape, allocator);
  Tensor values = Tensor::TryAllocate(value.dtype, shape, allocator);
  if (!keys.has_value() || !values.has_value())
    return ResourceExhausted("no memory for the ", lines.size(), " lines of ", file.path);
  for (int64_t i = 0; i < shape.dim(0); ++i) {
    const std::string_view line = lines[static_cast<size_t>(i)];
    CARILLON_ASSIGN_OR_RETURN(const std::string_view key_text, TextOf(key, line, i, file));
    CARILLON_ASSIGN_OR_RETURN(const std::string_view value_text, TextOf(value, line, i, file));
    CARILLON_RETURN_IF_ERROR(SetField(key, key_text, i, file.offset, i, keys));
    CARILLON_RETURN_IF_ERROR(SetField(value, value_text, i, file.offset, i, values));
  }
  return table.Initialize(keys, values);
}

class InitializeFromFileKernel final : public AsyncKernel {
 public:
  explicit InitializeFromFileKernel(const KernelRequest& request)
      : key_index_(request.attr<int64_t>("key_index")),
        value_index_(request.attr<int64_t>("value_index")),
        vocab_size_(request.attr<int64_t>("vocab_size")),
        delimiter_(request.attr<std::string>("delimiter")),
        offset_(request.attr<int64_t>("offset")) {}

  void RunAsync(KernelContext& context, Done done) override {
    StatusOr<std::shared_ptr<LookupTable>> table = context.Resource<LookupTable>(0);
    if (!table.ok()) return done(table.status());
    const Tensor& path = context.input(1);
    if (path.rank() != 0) {
      return done(
          InvalidArgument("filename should be a single string, but got ", path.shape().ToString()));
    }
    if (delimiter_.size() != 1) return done(InvalidArgument("delimiter should be only 1 char"));
    auto work = [this, &context, table = std::move(*table), path = path.scalar<std::string>(),
                 done = std::move(done)] {
      done(RunOnAccount(context.services(), [&] {
        return InitializeFrom({path, vocab_size_, delimiter_[0], offset_},
                              {"Key", key_index_, table->options().key_dtype},
                              {"Value", value_index_, table->options().value_dtype},
                              context.services().allocator, *table);
      }));
    };
    context.services().background->Start(std::move(work));
  }

 private:
  const int64_t key_index_, value_index_, vocab_size_;
  const std::string delimiter_;
  const int64_t offset_;
};

}  // namespace

void AddTableFileKernels(KernelTable& table) {
  table.Add({
      {"InitializeTableFromTextFile", "ref", FromClass<InitializeFromFileKernel>},
      {"InitializeTableFromTextFileV2", "ref", FromClass<InitializeFromFileKernel>},
  });
}

}  // namespace carillon
