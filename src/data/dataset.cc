// The parts of the public API that load and store whole data sets.
#include <algorithm>
#include <utility>

#include "base/parallel.h"
#include "base/throw.h"
#include "carillon/data.h"
#include "checkpoint/record.h"
#include "data/catalog.h"
#include "data/digits.h"
#include "data/formats.h"

namespace carillon {
namespace {

// Samples [first, first + n) of the endless sequence that the seed names.
Dataset DrawRange(const char* name, uint64_t seed, int64_t first, int64_t n) {
  Dataset dataset;
  dataset.name = name;
  for (int digit = 0; digit < 10; ++digit) dataset.class_names.push_back(std::to_string(digit));
  dataset.images = Tensor(kUint8, Shape{n, kDigitSize, kDigitSize, 1});
  dataset.labels = Tensor(kInt64, Shape{n});
  uint8_t* pixels = dataset.images.mutable_data<uint8_t>();
  int64_t* labels = dataset.labels.mutable_data<int64_t>();
  constexpr int64_t kGrain = 64;
  ParallelFor(n, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const std::span<uint8_t, kDigitPixels> picture(pixels + i * kDigitPixels, kDigitPixels);
      labels[i] = DrawDigit(seed, static_cast<uint64_t>(first + i), picture);
    }
  });
  return dataset;
}

}  // namespace

std::vector<std::string> DatasetNames() {
  std::vector<std::string> names;
  for (const CatalogEntry& entry : Catalog()) names.emplace_back(entry.name);
  return names;
}

DataSplits LoadDataset(std::string_view name, const std::string& data_dir) {
  const CatalogEntry* entry = ValueOrThrow(FindEntry(name));
  Env& env = PosixEnv();
  const Location location = ValueOrThrow(Locate(env, *entry, DataPlaces::Of(data_dir)));
  DataSplits splits;
  splits.train = ValueOrThrow(ReadSplit(env, *entry, Split::kTrain, location));
  splits.test = ValueOrThrow(ReadSplit(env, *entry, Split::kTest, location));
  return splits;
}

DataSplits DrawDigits(const DigitsOptions& options) {
  if (options.train_size < 0 || options.test_size < 0) {
    Throw(InvalidArgument("DrawDigits: ", options.train_size, " + ", options.test_size,
                          " samples, expected 0 or more of each"));
  }
  // The test set starts where no train set reaches, so that the size of one does not change the
  // other.
  constexpr int64_t kTestStart = int64_t{1} << 40;
  return {DrawRange("digits train", options.seed, 0, options.train_size),
          DrawRange("digits test", options.seed, kTestStart, options.test_size)};
}

void SaveAsTFRecords(const Dataset& dataset, const std::string& path) {
  if (dataset.images.dtype() != kUint8 || dataset.images.rank() != 4 ||
      dataset.labels.dtype() != kInt64 || dataset.images.dim(0) != dataset.size()) {
    Throw(InvalidArgument(
        "SaveAsTFRecords: expected uint8 images [n,height,width,channels] and n "
        "int64 labels, got ",
        DTypeName(dataset.images.dtype()), dataset.images.shape().ToString(), " and ",
        DTypeName(dataset.labels.dtype()), dataset.labels.shape().ToString()));
  }
  ThrowIfError(WriteExamples(PosixEnv(), dataset, path));
}

Dataset LoadTFRecords(const std::vector<std::string>& paths,
                      const std::vector<std::string>& class_names) {
  Dataset dataset;
  ThrowIfError(ReadExamples(PosixEnv(), paths, &dataset));
  dataset.name = paths.front();
  dataset.class_names = class_names;
  const std::span<const int64_t> labels = dataset.labels.values<int64_t>();
  const int64_t most = *std::max_element(labels.begin(), labels.end());
  constexpr int64_t kMostClasses = 1'000'000;
  if (class_names.empty() && most < kMostClasses) {
    for (int64_t i = 0; i <= most; ++i) dataset.class_names.push_back(std::to_string(i));
  } else if (most >= dataset.num_classes()) {
    Throw(DataLoss(paths.front(), ": label ", most, ", expected 0 to ",
                   (class_names.empty() ? kMostClasses : dataset.num_classes()) - 1));
  }
  return dataset;
}

struct TFRecordReader::Impl {
  RecordReader reader;
};
TFRecordReader::TFRecordReader(const std::string& path)
    : impl_(new Impl{ValueOrThrow(RecordReader::Open(PosixEnv(), path))}) {}
TFRecordReader::~TFRecordReader() = default;
bool TFRecordReader::Next(std::string* record) { return ValueOrThrow(impl_->reader.Next(record)); }

struct TFRecordWriter::Impl {
  RecordWriter writer;
};
TFRecordWriter::TFRecordWriter(const std::string& path)
    : impl_(new Impl{ValueOrThrow(RecordWriter::Open(PosixEnv(), path))}) {}
TFRecordWriter::~TFRecordWriter() = default;
void TFRecordWriter::Write(std::string_view record) { ThrowIfError(impl_->writer.Append(record)); }
void TFRecordWriter::Close() { ThrowIfError(impl_->writer.Close()); }

}  // namespace carillon
