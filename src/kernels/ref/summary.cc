// Kernels that write summaries for TensorBoard: scalars, histograms, tensors, and several in one.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <set>
#include <vector>

#include "base/foreign_memory.h"
#include "kernels/families.h"
#include "kernels/ref/summary_kernels.h"
#include "tensor/dispatch.h"
#include "tensor/parsed_bytes.h"
#include "tensor/tensor_proto.h"
#include "tensor/text_memory.h"

namespace carillon {

void SetSummary(KernelContext& context, const tensorflow::Summary& summary) {
  context.set_text(0, summary.SerializeAsString());
}

size_t BytesOfSummary(const KernelContext& context) {
  constexpr size_t kValue = 128;  // an element that is one, with its tag
  size_t bytes = 0;
  for (int i = 0; i < context.num_inputs(); ++i) {
    const Tensor& input = context.input(i);
    bytes += 2 * (input.num_bytes() + static_cast<size_t>(TextBytes(input)));
    if (input.dtype() == DType::kString)
      bytes += static_cast<size_t>(input.num_elements()) * kValue;
  }
  return bytes;
}

StatusOr<std::string> ScalarTag(const KernelContext& context, int i) {
  const Tensor& tag = context.input(i);
  if (tag.rank() != 0) {
    return InvalidArgument("the tag should be a scalar but has shape ", tag.shape().ToString());
  }
  return tag.scalar<std::string>();
}

namespace {

Status RunScalarSummary(KernelContext& context) {
  const Tensor &tags = context.input(0), &values = context.input(1);
  if (tags.shape() != values.shape()) {
    return InvalidArgument("tags have shape ", tags.shape().ToString(), " but values ",
                           values.shape().ToString());
  }
  const ForeignWork work(BytesOfSummary(context));
  tensorflow::Summary summary;
  DispatchNumber(values.dtype(), [&]<typename T>() {
    for (int64_t i = 0; i < tags.num_elements(); ++i) {
      tensorflow::Summary::Value* value = summary.add_value();
      value->set_tag(tags.data<std::string>()[i]);
      value->set_simple_value(static_cast<float>(values.data<T>()[i]));
    }
  });
  SetSummary(context, summary);
  return absl::OkStatus();
}

// Upper ends of the buckets: powers of 1.1 from 1e-12 to 1e20 on both sides of zero, and the rest.
std::vector<double> BucketLimits() {
  std::vector<double> positive;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(DBL_MAX);
  std::vector<double> limits;
  for (size_t i = positive.size(); i-- > 0;) limits.push_back(-positive[i]);
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

class HistogramKernel final : public Kernel {
 public:
  explicit HistogramKernel(const KernelRequest&) : limits_(BucketLimits()) {}

  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const std::string tag, ScalarTag(context, 0));
    const ForeignWork work(BytesOfSummary(context));
    tensorflow::Summary summary;
    tensorflow::Summary::Value* value = summary.add_value();
    value->set_tag(tag);
    Status status;
    DispatchNumber(context.input(1).dtype(), [&]<typename T>() {
      status = Fill(context.input(1).values<T>(), tag, value->mutable_histo());
    });
    CARILLON_RETURN_IF_ERROR(status);
    SetSummary(context, summary);
    return absl::OkStatus();
  }

 private:
  template <typename T>
  Status Fill(std::span<const T> values, const std::string& tag,
              tensorflow::HistogramProto* histogram) const {
    std::vector<double> counts(limits_.size());
    double least = DBL_MAX, most = -DBL_MAX, sum = 0, sum_of_squares = 0;
    for (const T element : values) {
      const auto value = static_cast<double>(element);
      if (!std::isfinite(value)) {
        return InvalidArgument(std::isnan(value) ? "NaN" : "infinity", " in the histogram of '",
                               tag, "'");
      }
      const auto above = std::upper_bound(limits_.begin(), limits_.end(), value);
      counts[std::min(static_cast<size_t>(above - limits_.begin()), limits_.size() - 1)] += 1;
      least = std::min(least, value);
      most = std::max(most, value);
      sum += value;
      sum_of_squares += value * value;
    }
    histogram->set_min(least);
    histogram->set_max(most);
    histogram->set_num(static_cast<double>(values.size()));
    histogram->set_sum(sum);
    histogram->set_sum_squares(sum_of_squares);
    // A row of empty buckets becomes one.
    for (size_t i = 0; i < limits_.size(); ++i) {
      const double count = counts[i];
      while (count == 0 && i + 1 < limits_.size() && counts[i + 1] == 0) ++i;
      histogram->add_bucket_limit(limits_[i]);
      histogram->add_bucket(count);
    }
    return absl::OkStatus();
  }

  const std::vector<double> limits_;
};

void FillTensor(const Tensor& tensor, tensorflow::TensorProto* proto) {
  if (!IsPlainData(tensor.dtype())) return TensorToProto(tensor, proto);
  proto->set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
  ShapeToProto(tensor.shape(), proto->mutable_tensor_shape());
  proto->set_tensor_content(tensor.raw_data(), tensor.num_bytes());
}

Status CheckWritable(const Tensor& tensor) {
  if (IsPlainData(tensor.dtype()) || tensor.dtype() == DType::kString) return absl::OkStatus();
  return Unimplemented("a tensor of dtype ", DTypeName(tensor.dtype()),
                       " cannot be written to a summary");
}

Status RunTensorSummary(KernelContext& context) {
  CARILLON_RETURN_IF_ERROR(CheckWritable(context.input(0)));
  const ForeignWork work(BytesOfSummary(context));
  tensorflow::Summary summary;
  tensorflow::Summary::Value* value = summary.add_value();
  value->set_node_name(context.node().name());
  FillTensor(context.input(0), value->mutable_tensor());
  SetSummary(context, summary);
  return absl::OkStatus();
}

Status RunTensorSummaryV2(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const std::string tag, ScalarTag(context, 0));
  CARILLON_RETURN_IF_ERROR(CheckWritable(context.input(1)));
  CARILLON_ASSIGN_OR_RETURN(const std::string metadata, ScalarTag(context, 2));
  const ForeignWork work(BytesOfSummary(context) +
                         MostParsedBytes<tensorflow::SummaryMetadata>(metadata));
  tensorflow::Summary summary;
  tensorflow::Summary::Value* value = summary.add_value();
  value->set_tag(tag);
  // Of metadata that cannot be read the readable part is kept, as in TensorFlow.
  static_cast<void>(value->mutable_metadata()->ParseFromString(metadata));
  FillTensor(context.input(1), value->mutable_tensor());
  SetSummary(context, summary);
  return absl::OkStatus();
}

Status RunMergeSummary(KernelContext& context) {
  size_t parsed = 0;
  for (int i = 0; i < context.num_inputs(); ++i) {
    for (const std::string& bytes : context.input(i).values<std::string>())
      parsed += MostParsedBytes<tensorflow::Summary>(bytes);
  }
  const ForeignWork work(BytesOfSummary(context) + parsed);
  tensorflow::Summary merged;
  std::set<std::string> tags;
  for (int i = 0; i < context.num_inputs(); ++i) {
    for (const std::string& bytes : context.input(i).values<std::string>()) {
      tensorflow::Summary summary;
      if (!summary.ParseFromString(bytes)) return InvalidArgument("input ", i, " is no summary");
      for (tensorflow::Summary::Value& value : *summary.mutable_value()) {
        // A value that is known by its node has no tag.
        if (!value.tag().empty() && !tags.insert(value.tag()).second) {
          return InvalidArgument("the tag '", value.tag(),
                                 "' comes twice in the summaries to merge");
        }
        merged.add_value()->Swap(&value);
      }
    }
  }
  SetSummary(context, merged);
  return absl::OkStatus();
}

}  // namespace

void AddSummaryReferenceKernels(KernelTable& table) {
  table.Add({
      {"ScalarSummary", "ref", FromFunction<RunScalarSummary>},
      {"HistogramSummary", "ref", FromClass<HistogramKernel>},
      {"TensorSummary", "ref", FromFunction<RunTensorSummary>},
      {"TensorSummaryV2", "ref", FromFunction<RunTensorSummaryV2>},
      {"MergeSummary", "ref", FromFunction<RunMergeSummary>},
  });
  AddSummaryImageKernels(table);
  AddSummaryAudioKernels(table);
}

}  // namespace carillon
