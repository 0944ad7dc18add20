// Kernels that save, restore and merge checkpoints.
#include "base/str_format.h"
#include "checkpoint/bundle.h"
#include "kernels/families.h"
#include "kernels/ref/blocking.h"

namespace carillon {
namespace {

StatusOr<std::string> ScalarString(const Tensor& tensor, const char* what) {
  if (tensor.rank() != 0) {
    return InvalidArgument("the ", what, " should be a scalar but has shape ",
                           tensor.shape().ToString());
  }
  return tensor.scalar<std::string>();
}

// SaveV2 and RestoreV2 start with a prefix, the names of tensors, and which part of each is meant.
struct Request {
  std::string prefix;
  std::span<const std::string> names, slices;
};

StatusOr<Request> ReadRequest(const KernelContext& context, int num_tensors) {
  Request request;
  CARILLON_ASSIGN_OR_RETURN(request.prefix, ScalarString(context.input(0), "prefix"));
  for (const int i : {1, 2}) {
    const Tensor& list = context.input(i);
    if (list.rank() != 1 || list.dim(0) != num_tensors) {
      return InvalidArgument(i == 1 ? "tensor_names" : "shape_and_slices", " has shape ",
                             list.shape().ToString(), " but there are ", num_tensors, " tensors");
    }
  }
  request.names = context.input(1).values<std::string>();
  request.slices = context.input(2).values<std::string>();
  return request;
}

Status RunSave(KernelContext& context) {
  constexpr int kFirstTensor = 3;
  const int num_tensors = context.num_inputs() - kFirstTensor;
  CARILLON_ASSIGN_OR_RETURN(const Request request, ReadRequest(context, num_tensors));
  CARILLON_ASSIGN_OR_RETURN(auto writer, BundleWriter::Open(PosixEnv(), request.prefix));
  for (int i = 0; i < num_tensors; ++i) {
    const Tensor& tensor = context.input(kFirstTensor + i);
    const std::string& name = request.names[static_cast<size_t>(i)];
    const std::string& slice = request.slices[static_cast<size_t>(i)];
    if (slice.empty()) {
      CARILLON_RETURN_IF_ERROR(writer->Add(name, tensor));
      continue;
    }
    CARILLON_ASSIGN_OR_RETURN(const ShapeAndSlice part, ParseShapeAndSlice(slice));
    CARILLON_RETURN_IF_ERROR(writer->AddSlice(name, part.full_shape, part.slice, tensor));
  }
  return writer->Finish();
}

Status RestoreOne(KernelContext& context, int i, const std::string& name, const std::string& slice,
                  BundleReader& reader) {
  CARILLON_ASSIGN_OR_RETURN(const BundleTensorInfo info, reader.Describe(name));
  if (info.dtype != context.output_dtype(i)) {
    return InvalidArgument("tensor ", name, " was saved as ", DTypeName(info.dtype), " but ",
                           DTypeName(context.output_dtype(i)), " is wanted");
  }
  TensorSlice part = TensorSlice::Whole(info.shape.rank());
  Shape shape = info.shape;
  if (!slice.empty()) {
    CARILLON_ASSIGN_OR_RETURN(ShapeAndSlice wanted, ParseShapeAndSlice(slice));
    if (wanted.full_shape != info.shape) {
      return InvalidArgument("tensor ", name, " was saved with shape ", info.shape.ToString(),
                             " but the part '", slice, "' of it is wanted");
    }
    part = std::move(wanted.slice);
    shape = wanted.slice_shape;
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(i, shape));
  return reader.ReadSlice(name, part, out);
}

Status RunRestore(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const Request request, ReadRequest(context, context.num_outputs()));
  CARILLON_ASSIGN_OR_RETURN(
      auto reader, BundleReader::Open(PosixEnv(), request.prefix, context.services().allocator));
  for (int i = 0; i < context.num_outputs(); ++i) {
    const auto at = static_cast<size_t>(i);
    CARILLON_RETURN_IF_ERROR(
        RestoreOne(context, i, request.names[at], request.slices[at], *reader));
  }
  return absl::OkStatus();
}

class MergeKernel final : public BlockingKernel {
 public:
  explicit MergeKernel(const KernelRequest& request)
      : options_{.delete_old_directories = request.attr<bool>("delete_old_dirs"),
                 .allow_missing = request.attr<bool>("allow_missing_files")} {}

 private:
  Status Work(KernelContext& context) const override {
    if (context.input(0).rank() != 1) {
      return InvalidArgument("checkpoint_prefixes should be a vector but has shape ",
                             context.input(0).shape().ToString());
    }
    CARILLON_ASSIGN_OR_RETURN(const std::string destination,
                              ScalarString(context.input(1), "destination_prefix"));
    return MergeBundles(PosixEnv(), context.input(0).values<std::string>(), destination, options_);
  }

  const MergeBundlesOptions options_;
};

Status CheckScalars(const KernelContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) {
    if (context.input(i).rank() == 0) continue;
    return InvalidArgument("input ", i, " should be a scalar but has shape ",
                           context.input(i).shape().ToString());
  }
  return absl::OkStatus();
}

// A file's name ends at a NUL, as it does for the system.

Status RunShardedFilename(KernelContext& context) {
  CARILLON_RETURN_IF_ERROR(CheckScalars(context));
  context.set_text(
      0, StrFormat("%s-%05d-of-%05d", context.input(0).scalar<std::string>().c_str(),
                   context.input(1).scalar<int32_t>(), context.input(2).scalar<int32_t>()));
  return absl::OkStatus();
}

Status RunShardedFilespec(KernelContext& context) {
  CARILLON_RETURN_IF_ERROR(CheckScalars(context));
  context.set_text(
      0, StrFormat("%s-\?\?\?\?\?-of-%05d", context.input(0).scalar<std::string>().c_str(),
                   context.input(1).scalar<int32_t>()));
  return absl::OkStatus();
}

}  // namespace

void AddCheckpointReferenceKernels(KernelTable& table) {
  table.Add({
      {"SaveV2", "ref", FromBlockingFunction<RunSave>},
      {"RestoreV2", "ref", FromBlockingFunction<RunRestore>},
      {"MergeV2Checkpoints", "ref", FromClass<MergeKernel>},
      {"ShardedFilename", "ref", FromFunction<RunShardedFilename>},
      {"ShardedFilespec", "ref", FromFunction<RunShardedFilespec>},
  });
}

}  // namespace carillon
