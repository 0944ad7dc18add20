// Data sets that read files: lines of text, TFRecords, records of a fixed length.
#include <optional>

#include "base/strings.h"
#include "kernels/record_file.h"
#include "kernels/ref/dataset_kernels.h"

namespace carillon {
namespace {

class FileDataset final : public GraphDataset {
 public:
  FileDataset(std::vector<std::string> files, ByteStream::Packing packing,
              std::unique_ptr<RecordFormat> format)
      : GraphDataset({{DType::kString}, {Shape{}}}),
        files_(std::move(files)),
        packing_(packing),
        format_(std::move(format)) {}

  StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(const IteratorContext&) const override {
    return std::make_unique<Iterator>(*this);
  }

 private:
  class Iterator final : public IteratorOf<FileDataset> {
   public:
    using IteratorOf::IteratorOf;
    Status GetNext(const IteratorContext& context, Element* element, bool* end) override {
      for (;;) {
        *end = next_file_ >= dataset().files_.size() && !file_.has_value();
        if (*end) return absl::OkStatus();
        if (!file_.has_value()) {
          auto opened =
              RecordFile::Open(PosixEnv(), dataset().files_[next_file_], dataset().packing_,
                               *dataset().format_, context.allocator, next_file_);
          if (!absl::IsCancelled(opened.status())) ++next_file_;
          CARILLON_RETURN_IF_ERROR(opened.status());
          file_.emplace(*std::move(opened));
        }
        std::string record;
        StatusOr<bool> any = file_->Next(&record);
        if (absl::IsCancelled(any.status())) return any.status();
        if (any.ok() && *any) {
          element->assign(1, Tensor::TryAllocate(DType::kString, {}, context.allocator));
          if (!element->front().has_value()) return ResourceExhausted("no memory for a record");
          *element->front().mutable_data<std::string>() = std::move(record);
          return ChargeText(element->front());
        }
        file_.reset();  // after an error the next file is tried
        CARILLON_RETURN_IF_ERROR(any.status());
        CARILLON_RETURN_IF_ERROR(context.CheckCancelled());
      }
    }

   private:
    std::optional<RecordFile> file_;
    size_t next_file_ = 0;
  };
  const std::vector<std::string> files_;
  const ByteStream::Packing packing_;
  const std::unique_ptr<RecordFormat> format_;
};

StatusOr<std::vector<std::string>> FilesInput(const KernelContext& context) {
  const Tensor& files = context.input(0);
  if (files.rank() > 1)
    return InvalidArgument("filenames must be a scalar or a vector, not of shape ",
                           files.shape().ToString());
  return std::vector<std::string>(files.data<std::string>(),
                                  files.data<std::string>() + files.num_elements());
}

StatusOr<ByteStream::Packing> PackingInput(const KernelContext& context, int i) {
  CARILLON_ASSIGN_OR_RETURN(const std::string name, StringInput(context, i, "compression_type"));
  return ByteStream::ParsePacking(name);
}

Status CheckBufferSize(const KernelContext& context, int i) {
  CARILLON_ASSIGN_OR_RETURN(const int64_t size, Int64Input(context, i, "buffer_size"));
  // How much to read at once is our own business.
  if (size >= 0 || (size == -1 && context.node().op().starts_with("TFRecord")))
    return absl::OkStatus();
  return InvalidArgument("buffer_size is ", size, " but must be at least 0 (0: the usual size)");
}

StatusOr<DatasetPtr> MakeTextLine(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(std::vector<std::string> files, FilesInput(context));
  CARILLON_ASSIGN_OR_RETURN(const ByteStream::Packing packing, PackingInput(context, 1));
  CARILLON_RETURN_IF_ERROR(CheckBufferSize(context, 2));
  return std::make_shared<FileDataset>(std::move(files), packing, std::make_unique<TextLines>());
}

StatusOr<DatasetPtr> MakeTfRecord(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(std::vector<std::string> files, FilesInput(context));
  CARILLON_ASSIGN_OR_RETURN(const ByteStream::Packing packing, PackingInput(context, 1));
  CARILLON_RETURN_IF_ERROR(CheckBufferSize(context, 2));
  std::vector<int64_t> offsets;
  if (context.num_inputs() > 3) {
    const Tensor& given = context.input(3);
    offsets.assign(given.data<int64_t>(), given.data<int64_t>() + given.num_elements());
    if (!offsets.empty() && offsets.size() != files.size())
      return InvalidArgument("there are ", offsets.size(), " byte_offsets for ", files.size(),
                             " files");
    for (const int64_t offset : offsets) {
      if (offset < 0) return InvalidArgument("a byte offset is ", offset);
    }
  }
  return std::make_shared<FileDataset>(std::move(files), packing,
                                       std::make_unique<TfRecords>(std::move(offsets)));
}

StatusOr<DatasetPtr> MakeFixedLengthRecord(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(std::vector<std::string> files, FilesInput(context));
  FixedLengthRecords::Options options{.exact = true};
  CARILLON_ASSIGN_OR_RETURN(options.header, Int64Input(context, 1, "header_bytes"));
  CARILLON_ASSIGN_OR_RETURN(options.record, Int64Input(context, 2, "record_bytes"));
  CARILLON_ASSIGN_OR_RETURN(options.footer, Int64Input(context, 3, "footer_bytes"));
  CARILLON_RETURN_IF_ERROR(CheckBufferSize(context, 4));
  CARILLON_RETURN_IF_ERROR(FixedLengthRecords::Check(options));
  auto packing = ByteStream::Packing::kNone;
  if (context.num_inputs() > 5) {
    CARILLON_ASSIGN_OR_RETURN(packing, PackingInput(context, 5));
  }
  return std::make_shared<FileDataset>(std::move(files), packing,
                                       std::make_unique<FixedLengthRecords>(options));
}

}  // namespace

void AddDatasetRecordKernels(KernelTable& table) {
  table.Add({
      {"TextLineDataset", "ref", FromFunction<RunDataset<MakeTextLine>>},
      {"TFRecordDataset", "ref", FromFunction<RunDataset<MakeTfRecord>>},
      {"TFRecordDatasetV2", "ref", FromFunction<RunDataset<MakeTfRecord>>},
      {"FixedLengthRecordDataset", "ref", FromFunction<RunDataset<MakeFixedLengthRecord>>},
      {"FixedLengthRecordDatasetV2", "ref", FromFunction<RunDataset<MakeFixedLengthRecord>>},
  });
}

}  // namespace carillon
