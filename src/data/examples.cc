// Data sets as TFRecords of tf.train.Example.
#include <utility>

#include "base/throw.h"
#include "checkpoint/record.h"
#include "data/formats.h"
#include "proto/example.pb.h"

namespace carillon {
namespace {

using tensorflow::Example;
using tensorflow::Feature;

constexpr char kImage[] = "image_raw", kHeight[] = "height", kWidth[] = "width", kDepth[] = "depth",
               kLabel[] = "label";

// The value of an int64 feature of length one.
StatusOr<int64_t> IntegerOf(const Example& example, const std::string& name) {
  const auto& features = example.features().feature();
  const auto found = features.find(name);
  if (found == features.end() || found->second.int64_list().value_size() != 1) {
    return DataLoss("expected one int64 in feature ", name);
  }
  return found->second.int64_list().value(0);
}

struct Sample {
  std::string pixels;
  int64_t height = 0, width = 0, depth = 0, label = 0;
};

StatusOr<Sample> Parse(const std::string& record) {
  Example example;
  if (!example.ParseFromString(record)) return DataLoss("expected a tf.train.Example");
  Sample sample;
  CARILLON_ASSIGN_OR_RETURN(sample.height, IntegerOf(example, kHeight));
  CARILLON_ASSIGN_OR_RETURN(sample.width, IntegerOf(example, kWidth));
  CARILLON_ASSIGN_OR_RETURN(sample.depth, IntegerOf(example, kDepth));
  CARILLON_ASSIGN_OR_RETURN(sample.label, IntegerOf(example, kLabel));
  auto& features = *example.mutable_features()->mutable_feature();
  const auto found = features.find(kImage);
  if (found == features.end() || found->second.bytes_list().value_size() != 1) {
    return DataLoss("expected one byte string in feature ", kImage);
  }
  sample.pixels = std::move(*found->second.mutable_bytes_list()->mutable_value(0));
  const int64_t dims[] = {sample.height, sample.width, sample.depth};
  Shape shape;
  if (!Shape::TryMake(dims, &shape) || shape.num_elements() == 0 ||
      static_cast<uint64_t>(shape.num_elements()) != sample.pixels.size()) {
    return DataLoss("expected ", sample.height, " x ", sample.width, " x ", sample.depth,
                    " bytes in feature ", kImage, ", got ", sample.pixels.size());
  }
  if (sample.label < 0) return DataLoss("expected a label of 0 or more, got ", sample.label);
  return sample;
}

void SetInteger(const char* name, int64_t value, Example* example) {
  (*example->mutable_features()->mutable_feature())[name].mutable_int64_list()->add_value(value);
}

}  // namespace

Status ReadExamples(Env& env, const std::vector<std::string>& paths, Dataset* dataset) {
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;
  Sample first;
  for (const std::string& path : paths) {
    CARILLON_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::Open(env, path));
    std::string record;
    for (uint64_t offset = 0;; offset = reader.offset()) {
      CARILLON_ASSIGN_OR_RETURN(const bool more, reader.Next(&record));
      if (!more) break;
      StatusOr<Sample> sample = Parse(record);
      if (!sample.ok()) {
        return Annotate(sample.status(), StrCat(path, ": the record at offset ", offset, ": "));
      }
      if (labels.empty()) first = *sample;
      if (sample->height != first.height || sample->width != first.width ||
          sample->depth != first.depth) {
        return DataLoss(path, ": the record at offset ", offset, ": expected ", first.height, " x ",
                        first.width, " x ", first.depth, " pixels like the first one, got ",
                        sample->height, " x ", sample->width, " x ", sample->depth);
      }
      labels.push_back(sample->label);
      pixels.insert(pixels.end(), sample->pixels.begin(), sample->pixels.end());
    }
  }
  if (labels.empty())
    return DataLoss(paths.empty() ? "no files" : paths.front(), ": no records, expected some");
  const auto n = static_cast<int64_t>(labels.size());
  dataset->images = TensorOf(std::move(pixels), Shape{n, first.height, first.width, first.depth});
  dataset->labels = TensorOf(std::move(labels), Shape{n});
  return absl::OkStatus();
}

Status WriteExamples(Env& env, const Dataset& dataset, const std::string& path) {
  CARILLON_ASSIGN_OR_RETURN(RecordWriter writer, RecordWriter::Open(env, path));
  const Tensor& images = dataset.images;
  const int64_t image_bytes = images.dim(1) * images.dim(2) * images.dim(3);
  for (int64_t i = 0; i < dataset.size(); ++i) {
    Example example;
    SetInteger(kHeight, images.dim(1), &example);
    SetInteger(kWidth, images.dim(2), &example);
    SetInteger(kDepth, images.dim(3), &example);
    SetInteger(kLabel, dataset.labels.data<int64_t>()[i], &example);
    (*example.mutable_features()->mutable_feature())[kImage].mutable_bytes_list()->add_value(
        images.data<uint8_t>() + i * image_bytes, static_cast<size_t>(image_bytes));
    CARILLON_RETURN_IF_ERROR(writer.Append(example.SerializeAsString()));
  }
  return writer.Close();
}

}  // namespace carillon
