// Readers of files, and the ops on them.
#include <string>
#include <vector>

#include "kernels/named_resource.h"
#include "kernels/reader.h"
#include "kernels/ref/blocking.h"
#include "kernels/ref/file_kernels.h"

namespace carillon {
namespace {

using MakeReader = std::function<std::shared_ptr<Reader>()>;

// WholeFileReader, …, with an old or a new handle. As in TensorFlow, a name that several nodes
// share stands for the reader of whichever ran first, of any kind.
class ReaderKernel final : public NamedResourceKernel<Reader> {
 public:
  ReaderKernel(const KernelRequest& request, MakeReader make)
      : NamedResourceKernel(ResourcePlace::Of(request)), make_(std::move(make)) {}

 private:
  StatusOr<std::shared_ptr<Reader>> Create(KernelContext&) const override { return make_(); }
  Status Check(const Reader&) const override { return absl::OkStatus(); }
  const MakeReader make_;
};

template <ItemReader::Value value>
KernelResult MakeItemReader(const KernelRequest& request) {
  return std::make_unique<ReaderKernel>(request,
                                        [] { return std::make_shared<ItemReader>(value); });
}

KernelResult MakeFormatReader(const KernelRequest& request,
                              std::shared_ptr<const RecordFormat> format,
                              std::string_view packing_name = "") {
  // TensorFlow's readers take a name that they do not know for none.
  const auto packing = ByteStream::ParsePacking(packing_name).value_or(ByteStream::Packing::kNone);
  return std::make_unique<ReaderKernel>(request, [format = std::move(format), packing] {
    return std::make_shared<FormatReader>(format, packing);
  });
}

KernelResult MakeTextLineReader(const KernelRequest& request) {
  const int64_t skipped = request.attr<int64_t>("skip_header_lines");
  if (skipped < 0) return InvalidArgument("skip_header_lines is ", skipped, " but must be >= 0");
  return MakeFormatReader(request, std::make_shared<TextLines>(skipped));
}

KernelResult MakeTfRecordReader(const KernelRequest& request) {
  return MakeFormatReader(request, std::make_shared<TfRecords>(),
                          request.attr<std::string>("compression_type"));
}

template <bool has_encoding>
KernelResult MakeFixedLengthRecordReader(const KernelRequest& request) {
  const FixedLengthRecords::Options options{.header = request.attr<int64_t>("header_bytes"),
                                            .record = request.attr<int64_t>("record_bytes"),
                                            .footer = request.attr<int64_t>("footer_bytes"),
                                            .hop = request.attr<int64_t>("hop_bytes")};
  CARILLON_RETURN_IF_ERROR(FixedLengthRecords::Check(options));
  return MakeFormatReader(request, std::make_shared<FixedLengthRecords>(options),
                          has_encoding ? request.attr<std::string>("encoding") : std::string());
}

// ReaderRead, ReaderReadUpTo: inputs are a reader and a queue of file names.
template <bool many>
class ReadKernel final : public AsyncKernel {
 public:
  explicit ReadKernel(const KernelRequest&) {}
  void RunAsync(KernelContext& context, Done done) override {
    const Status status = Start(context, done);
    if (!status.ok()) done(status);
  }

 private:
  // Calls `done` unless the result is an error.
  static Status Start(KernelContext& context, Done done) {
    CARILLON_ASSIGN_OR_RETURN(const auto reader, context.Resource<Reader>(0));
    CARILLON_ASSIGN_OR_RETURN(auto queue, context.Resource<Queue>(1));
    int64_t most = 1;
    if constexpr (many) {
      const Tensor& count = context.input(2);
      if (count.rank() != 0 || count.data<int64_t>()[0] < 0) {
        return InvalidArgument("num_records must be one number that is not negative, not ",
                               count.ToString());
      }
      most = count.data<int64_t>()[0];
    }
    reader->Read(std::move(queue), most, context.services(),
                 [&context, done = std::move(done)](const Status& status,
                                                    std::vector<Reader::Record> records) {
                   done(status.ok() ? SetOutputs(context, std::move(records)) : status);
                 });
    return absl::OkStatus();
  }

  static Status SetOutputs(KernelContext& context, std::vector<Reader::Record> records) {
    const Shape shape = many ? Shape{static_cast<int64_t>(records.size())} : Shape{};
    CARILLON_ASSIGN_OR_RETURN(Tensor * keys, context.AllocateOutput(0, shape));
    CARILLON_ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(1, shape));
    for (size_t i = 0; i < records.size(); ++i) {
      keys->mutable_data<std::string>()[i] = std::move(records[i].key);
      values->mutable_data<std::string>()[i] = std::move(records[i].value);
    }
    return absl::OkStatus();
  }
};

Status RunRecordsProduced(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto reader, context.Resource<Reader>(0));
  context.set_output(0, Tensor::Scalar(reader->records_produced()));
  return absl::OkStatus();
}

Status RunFilesFinished(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto reader, context.Resource<Reader>(0));
  context.set_output(0, Tensor::Scalar(reader->files_finished()));
  return absl::OkStatus();
}

Status RunReset(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto reader, context.Resource<Reader>(0));
  reader->Reset();
  return absl::OkStatus();
}

Status RunSerialize(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto reader, context.Resource<Reader>(0));
  CARILLON_ASSIGN_OR_RETURN(std::string state, reader->SerializeState());
  context.set_text(0, std::move(state));
  return absl::OkStatus();
}

Status RunRestore(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto reader, context.Resource<Reader>(0));
  if (context.input(1).rank() != 0) {
    return InvalidArgument("state should be a scalar but has shape ",
                           context.input(1).shape().ToString());
  }
  return reader->RestoreState(context.input(1).scalar<std::string>());
}

}  // namespace

void AddFileReaderKernels(KernelTable& table) {
  using enum ItemReader::Value;
  table.Add({
      {"WholeFileReader", "ref", MakeItemReader<kContent>},
      {"WholeFileReaderV2", "ref", MakeItemReader<kContent>},
      {"IdentityReader", "ref", MakeItemReader<kName>},
      {"IdentityReaderV2", "ref", MakeItemReader<kName>},
      {"TextLineReader", "ref", MakeTextLineReader},
      {"TextLineReaderV2", "ref", MakeTextLineReader},
      {"TFRecordReader", "ref", MakeTfRecordReader},
      {"TFRecordReaderV2", "ref", MakeTfRecordReader},
      {"FixedLengthRecordReader", "ref", MakeFixedLengthRecordReader<false>},
      {"FixedLengthRecordReaderV2", "ref", MakeFixedLengthRecordReader<true>},
      {"ReaderRead", "ref", FromClass<ReadKernel<false>>},
      {"ReaderReadV2", "ref", FromClass<ReadKernel<false>>},
      {"ReaderReadUpTo", "ref", FromClass<ReadKernel<true>>},
      {"ReaderReadUpToV2", "ref", FromClass<ReadKernel<true>>},
      {"ReaderNumRecordsProduced", "ref", FromBlockingFunction<RunRecordsProduced>},
      {"ReaderNumRecordsProducedV2", "ref", FromBlockingFunction<RunRecordsProduced>},
      {"ReaderNumWorkUnitsCompleted", "ref", FromBlockingFunction<RunFilesFinished>},
      {"ReaderNumWorkUnitsCompletedV2", "ref", FromBlockingFunction<RunFilesFinished>},
      {"ReaderSerializeState", "ref", FromBlockingFunction<RunSerialize>},
      {"ReaderSerializeStateV2", "ref", FromBlockingFunction<RunSerialize>},
      {"ReaderRestoreState", "ref", FromBlockingFunction<RunRestore>},
      {"ReaderRestoreStateV2", "ref", FromBlockingFunction<RunRestore>},
      {"ReaderReset", "ref", FromBlockingFunction<RunReset>},
      {"ReaderResetV2", "ref", FromBlockingFunction<RunReset>},
  });
}

}  // namespace carillon
