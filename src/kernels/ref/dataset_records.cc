// Data sets that read files: lines of text, TFRecords, records of a fixed length.
#include <array>
#include <limits>
#include <optional>

#include "base/strings.h"
#include "checkpoint/crc32c.h"
#include "kernels/byte_stream.h"
#include "kernels/ref/dataset_kernels.h"

namespace carillon {
namespace {

// How the records of one file are found.
class RecordFormat {
 public:
  virtual ~RecordFormat() = default;
  // Called once, in front of the first record.
  virtual Status Start(ByteStream&, size_t file) const { return absl::OkStatus(); }
  // False at the end of the file. `state` is the format's, empty at the start of a file.
  virtual StatusOr<bool> Next(ByteStream& stream, std::string* record,
                              std::string* state) const = 0;
};

class FileDataset final : public Dataset {
 public:
  FileDataset(std::vector<std::string> files, ByteStream::Packing packing,
              std::unique_ptr<RecordFormat> format)
      : Dataset({{DType::kString}, {Shape{}}}),
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
        *end = next_file_ >= dataset().files_.size() && !stream_.has_value();
        if (*end) return absl::OkStatus();
        if (!stream_.has_value()) {
          const size_t file = next_file_++;
          CARILLON_ASSIGN_OR_RETURN(
              ByteStream opened,
              ByteStream::Open(PosixEnv(), dataset().files_[file], dataset().packing_));
          stream_.emplace(std::move(opened));
          state_.clear();
          if (const Status status = dataset().format_->Start(*stream_, file); !status.ok()) {
            stream_.reset();
            return status;
          }
        }
        std::string record;
        StatusOr<bool> any = dataset().format_->Next(*stream_, &record, &state_);
        if (any.ok() && *any) {
          element->assign(1, Tensor::Scalar(std::move(record)));
          return absl::OkStatus();
        }
        stream_.reset();  // after an error the next file is tried
        CARILLON_RETURN_IF_ERROR(any.status());
        if (context.cancellation->IsCancelled())
          return absl::CancelledError("the step was cancelled");
      }
    }

   private:
    std::optional<ByteStream> stream_;
    size_t next_file_ = 0;
    std::string state_;
  };
  const std::vector<std::string> files_;
  const ByteStream::Packing packing_;
  const std::unique_ptr<RecordFormat> format_;
};

class TextLines final : public RecordFormat {
 public:
  StatusOr<bool> Next(ByteStream& stream, std::string* record, std::string*) const override {
    return stream.ReadLine(record);
  }
};

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Length, checksum of the length, data, checksum of the data: see checkpoint/record.h.
class TfRecords final : public RecordFormat {
 public:
  explicit TfRecords(std::vector<int64_t> offsets) : offsets_(std::move(offsets)) {}

  Status Start(ByteStream& stream, size_t file) const override {
    if (offsets_.empty()) return absl::OkStatus();
    CARILLON_ASSIGN_OR_RETURN(const bool there, stream.Skip(static_cast<uint64_t>(offsets_[file])));
    if (there) return absl::OkStatus();
    return OutOfRange(stream.path(), ": ends before the byte offset ", offsets_[file]);
  }

  StatusOr<bool> Next(ByteStream& stream, std::string* record, std::string*) const override {
    const uint64_t start = stream.offset();
    std::array<char, kHeader> header;
    CARILLON_ASSIGN_OR_RETURN(const size_t got, stream.Read(header));
    if (got < kHeader) return false;  // TensorFlow takes a header that was cut short for the end
    const std::string_view length_bytes(header.data(), 8);
    if (MaskCrc(Crc32c(length_bytes)) != LittleEndian({header.data() + 8, 4}))
      return Corrupt(stream, start, "length");
    const uint64_t length = LittleEndian(length_bytes);
    if (length > std::numeric_limits<uint64_t>::max() - kFooter) return Truncated(stream, start);
    CARILLON_RETURN_IF_ERROR(stream.ReadUpTo(length + kFooter, record));
    if (record->size() < length + kFooter) return Truncated(stream, start);
    const uint64_t stored = LittleEndian(std::string_view(*record).substr(length));
    record->resize(length);
    if (MaskCrc(Crc32c(*record)) != stored) return Corrupt(stream, start, "data");
    return true;
  }

 private:
  static constexpr size_t kHeader = 12, kFooter = 4;
  static Status Truncated(const ByteStream& stream, uint64_t start) {
    return DataLoss(stream.path(), ": truncated record at ", start, ": the file ends at ",
                    stream.offset());
  }
  static Status Corrupt(const ByteStream& stream, uint64_t start, const char* what) {
    return DataLoss(stream.path(), ": corrupted record at ", start, ": the checksum of its ", what,
                    " is wrong");
  }
  const std::vector<int64_t> offsets_;  // by file; empty: the start of each
};

class FixedLengthRecords final : public RecordFormat {
 public:
  FixedLengthRecords(int64_t header, int64_t record, int64_t footer)
      : header_(static_cast<uint64_t>(header)),
        record_(static_cast<uint64_t>(record)),
        footer_(static_cast<uint64_t>(footer)) {}

  Status Start(ByteStream& stream, size_t) const override {
    CARILLON_ASSIGN_OR_RETURN(const bool there, stream.Skip(header_));
    if (there) return absl::OkStatus();
    return InvalidArgument(stream.path(), ": shorter than its header of ", header_, " bytes");
  }

  // `ahead` holds the bytes that may turn out to be the footer.
  StatusOr<bool> Next(ByteStream& stream, std::string* record, std::string* ahead) const override {
    const uint64_t wanted = record_ + footer_;
    CARILLON_RETURN_IF_ERROR(stream.ReadUpTo(wanted - ahead->size(), ahead));
    if (ahead->size() == wanted) {
      record->assign(*ahead, 0, record_);
      ahead->erase(0, record_);
      return true;
    }
    if (ahead->size() == footer_) return false;
    return InvalidArgument("Excluding the header (", header_, " bytes) and footer (", footer_,
                           " bytes), input file \"", stream.path(), "\", which ends at offset ",
                           stream.offset(), ", is not an exact multiple of the record length (",
                           record_, " bytes) long.");
  }

 private:
  const uint64_t header_, record_, footer_;
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
  CARILLON_ASSIGN_OR_RETURN(const int64_t header, Int64Input(context, 1, "header_bytes"));
  CARILLON_ASSIGN_OR_RETURN(const int64_t record, Int64Input(context, 2, "record_bytes"));
  CARILLON_ASSIGN_OR_RETURN(const int64_t footer, Int64Input(context, 3, "footer_bytes"));
  CARILLON_RETURN_IF_ERROR(CheckBufferSize(context, 4));
  if (header < 0 || footer < 0 || record < 1)
    return InvalidArgument("header_bytes (", header, ") and footer_bytes (", footer,
                           ") must be at least 0, record_bytes (", record, ") greater than 0");
  if (record > std::numeric_limits<int64_t>::max() - footer)
    return InvalidArgument("record_bytes and footer_bytes are too large");
  auto packing = ByteStream::Packing::kNone;
  if (context.num_inputs() > 5) {
    CARILLON_ASSIGN_OR_RETURN(packing, PackingInput(context, 5));
  }
  return std::make_shared<FileDataset>(
      std::move(files), packing, std::make_unique<FixedLengthRecords>(header, record, footer));
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
