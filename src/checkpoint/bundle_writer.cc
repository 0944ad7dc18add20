#include <utility>

#include "base/work_scope.h"
#include "checkpoint/bundle.h"
#include "checkpoint/bundle_elements.h"
#include "proto/checkpoint.pb.h"
#include "tensor/tensor_proto.h"

namespace carillon {

using tensorflow::BundleEntryProto;

BundleWriter::BundleWriter(Env& env, std::string prefix) : env_(env), prefix_(std::move(prefix)) {}

StatusOr<std::unique_ptr<BundleWriter>> BundleWriter::Open(Env& env, const std::string& prefix) {
  CARILLON_RETURN_IF_ERROR(MakeBundleDirectory(env, prefix));
  std::unique_ptr<BundleWriter> writer(new BundleWriter(env, prefix));
  writer->data_path_ = TemporaryPath(BundleDataPath(prefix, 0, 1));
  CARILLON_ASSIGN_OR_RETURN(writer->data_,
                            env.OpenForWriting(writer->data_path_, Env::WriteMode::kTruncate));
  return writer;
}

BundleWriter::~BundleWriter() {
  const WorkPause pause;
  data_ = nullptr;
  if (!data_path_.empty()) env_.Remove(data_path_).IgnoreError();
  if (!index_path_.empty()) env_.Remove(index_path_).IgnoreError();
}

Status BundleWriter::WriteElements(const std::string& key, const Tensor& tensor) {
  if (!IsPlainData(tensor.dtype()) && tensor.dtype() != DType::kString) {
    return Unimplemented("tensor ", key, " of dtype ", DTypeName(tensor.dtype()),
                         " cannot be saved");
  }
  if (key.empty()) return InvalidArgument("a tensor to save has an empty name");
  if (entries_.contains(key))
    return InvalidArgument("tensor ", key, " is added twice to ", prefix_);
  CARILLON_ASSIGN_OR_RETURN(const WrittenElements written, carillon::WriteElements(tensor, *data_));
  const WorkPause pause;  // for protobuf
  BundleEntryProto& entry = entries_[key];
  entry.set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
  ShapeToProto(tensor.shape(), entry.mutable_shape());
  entry.set_offset(static_cast<int64_t>(offset_));
  entry.set_size(static_cast<int64_t>(written.size));
  entry.set_crc32c(written.masked_crc);
  offset_ += written.size;
  return absl::OkStatus();
}

Status BundleWriter::Add(const std::string& name, const Tensor& tensor) {
  return WriteElements(name, tensor);
}

Status BundleWriter::AddSlice(const std::string& name, const Shape& full, const TensorSlice& slice,
                              const Tensor& tensor) {
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, slice.ShapeWithin(full));
  if (shape != tensor.shape()) {
    return InvalidArgument("the slice ", slice.ToString(), " of tensor ", name, " has shape ",
                           shape.ToString(), ", not ", tensor.shape().ToString());
  }
  if (slice.IsWhole()) return Add(name, tensor);
  const WorkPause pause;  // for protobuf
  BundleEntryProto whole;
  whole.set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
  ShapeToProto(full, whole.mutable_shape());
  const auto found = entries_.find(name);
  if (found != entries_.end() &&
      (found->second.slices_size() == 0 || found->second.dtype() != whole.dtype() ||
       found->second.shape().SerializeAsString() != whole.shape().SerializeAsString())) {
    return InvalidArgument("the slice ", slice.ToString(), " of tensor ", name,
                           " contradicts what was added of it before");
  }
  CARILLON_RETURN_IF_ERROR(WriteElements(SliceKey(name, slice), tensor));
  BundleEntryProto& entry = entries_.try_emplace(name, whole).first->second;
  slice.ToProto(entry.add_slices());
  return absl::OkStatus();
}

Status BundleWriter::Finish() {
  CARILLON_RETURN_IF_ERROR(data_->Sync());
  CARILLON_RETURN_IF_ERROR(data_->Close());
  const WorkPause pause;  // for protobuf
  TableEntries table{{"", BundleHeader(1)}};
  for (const auto& [key, entry] : entries_) table.emplace(key, entry.SerializeAsString());
  const std::string index = BundleIndexPath(prefix_);
  index_path_ = TemporaryPath(index);
  CARILLON_RETURN_IF_ERROR(WriteTable(env_, index_path_, table));
  CARILLON_RETURN_IF_ERROR(env_.Rename(data_path_, BundleDataPath(prefix_, 0, 1)));
  data_path_.clear();
  CARILLON_RETURN_IF_ERROR(env_.Rename(index_path_, index));
  index_path_.clear();
  return absl::OkStatus();
}

}  // namespace carillon
