// DecodeCSV: lines of fields into columns.
#include <algorithm>
#include <vector>

#include "absl/strings/escaping.h"
#include "kernels/ref/number_text.h"
#include "kernels/ref/parsing_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

class DecodeCsvKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    const std::string& delimiter = request.attr<std::string>("field_delim");
    if (delimiter.size() != 1) {
      return InvalidArgument("field_delim should be one character but is '", delimiter, "'");
    }
    const auto& columns = request.attr<std::vector<int64_t>>("select_cols");
    const size_t fields = request.attr<std::vector<DType>>("OUT_TYPE").size();
    if (!columns.empty() && columns.size() != fields) {
      return InvalidArgument("select_cols names ", columns.size(), " columns for ", fields,
                             " outputs");
    }
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] < 0 || (i > 0 && columns[i] <= columns[i - 1])) {
        return InvalidArgument("select_cols should be increasing and not negative");
      }
    }
    return std::make_unique<DecodeCsvKernel>(request);
  }

  explicit DecodeCsvKernel(const KernelRequest& request)
      : delimiter_(request.attr<std::string>("field_delim")[0]),
        quotes_(request.attr<bool>("use_quote_delim")),
        missing_(request.attr<std::string>("na_value")),
        columns_(request.attr<std::vector<int64_t>>("select_cols")) {}

  Status Run(KernelContext& context) override {
    const Tensor& records = context.input(0);
    const int fields = context.num_outputs();
    std::vector<Tensor*> outputs;
    for (int f = 0; f < fields; ++f) {
      const Tensor& standard = context.input(f + 1);
      if (standard.rank() > 1 || standard.num_elements() > 1) {
        return InvalidArgument("record_defaults[", f, "] should have one element or none but is ",
                               standard.ToString());
      }
      CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(f, records.shape()));
      outputs.push_back(output);
    }
    std::vector<std::string> values;
    for (int64_t i = 0; i < records.num_elements(); ++i) {
      values.clear();
      CARILLON_RETURN_IF_ERROR(Annotated(i, Split(records.data<std::string>()[i], &values)));
      if (values.size() != outputs.size()) {
        return InvalidArgument("record ", i, " has ", values.size(), " fields, expected ", fields);
      }
      for (int f = 0; f < fields; ++f) {
        CARILLON_RETURN_IF_ERROR(
            Annotated(i, Store(std::move(values[static_cast<size_t>(f)]), f, context.input(f + 1),
                               i, outputs[static_cast<size_t>(f)])));
      }
    }
    return absl::OkStatus();
  }

 private:
  static Status Annotated(int64_t record, const Status& status) {
    return status.ok() ? status : Annotate(status, StrCat("record ", record, ": "));
  }

  Status Store(std::string value, int field, const Tensor& standard, int64_t at,
               Tensor* out) const {
    const bool is_missing = value.empty() || value == missing_;
    if (is_missing && standard.num_elements() == 0) {
      return InvalidArgument("field ", field, " is required but missing");
    }
    Status status;
    DispatchAmong<float, double, int32_t, int64_t, std::string>(out->dtype(), [&]<typename T>() {
      T& target = out->mutable_data<T>()[at];
      if (is_missing) {
        target = standard.data<T>()[0];
      } else if constexpr (std::is_same_v<T, std::string>) {
        target = std::move(value);
      } else if (!ParseNumber(value, &target)) {
        status = InvalidArgument("field ", field, " is '", absl::CHexEscape(value),
                                 "', which is no ", DTypeName(out->dtype()));
      }
    });
    return status;
  }

  bool IsWanted(int64_t column, size_t taken) const {
    return columns_.empty() || columns_[taken] == column;
  }

  // The wanted fields of a record. Line ends before a field are skipped.
  Status Split(std::string_view text, std::vector<std::string>* values) const {
    if (text.empty()) return absl::OkStatus();
    int64_t column = 0;
    for (size_t at = 0; at < text.size();) {
      if (text[at] == '\n' || text[at] == '\r') {
        ++at;
        continue;
      }
      std::string field;
      CARILLON_RETURN_IF_ERROR(quotes_ && text[at] == '"' ? TakeQuoted(text, &at, &field)
                                                          : TakePlain(text, &at, &field));
      if (IsWanted(column++, values->size())) {
        values->push_back(std::move(field));
        if (values->size() == columns_.size()) return absl::OkStatus();
      }
    }
    if (text.back() == delimiter_ && IsWanted(column, values->size())) values->emplace_back();
    return absl::OkStatus();
  }

  // Each takes the field at *at and moves on behind the delimiter.
  Status TakePlain(std::string_view text, size_t* at, std::string* field) const {
    const size_t end = std::min(text.find(delimiter_, *at), text.size());
    *field = text.substr(*at, end - *at);
    if (field->find_first_of(quotes_ ? "\"\r\n" : "\r\n") != std::string::npos) {
      return InvalidArgument("a field without quotes cannot contain quotes or line ends");
    }
    *at = end + 1;
    return absl::OkStatus();
  }

  Status TakeQuoted(std::string_view text, size_t* at, std::string* field) const {
    for (size_t i = *at + 1; i < text.size(); ++i) {
      if (text[i] != '"') {
        field->push_back(text[i]);
      } else if (i + 1 == text.size() || text[i + 1] == delimiter_) {
        *at = i + 2;
        return absl::OkStatus();
      } else if (text[++i] == '"') {
        field->push_back('"');
      } else {
        return InvalidArgument("a quote inside of a quoted field must be doubled");
      }
    }
    return InvalidArgument("a quoted field should end with a quote");
  }

  const char delimiter_;
  const bool quotes_;
  const std::string missing_;
  const std::vector<int64_t> columns_;  // empty: all
};

}  // namespace

void AddParsingCsvKernels(KernelTable& table) {
  table.Add({"DecodeCSV", "ref", FromClass<DecodeCsvKernel>});
}

}  // namespace carillon
