// Kernels of the parsing family: tensors and JSON as strings, and the list of the others.
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>

#include "base/foreign_memory.h"
#include "kernels/families.h"
#include "kernels/ref/parsing_kernels.h"
#include "kernels/work.h"
#include "proto/example.pb.h"
#include "proto/tensor.pb.h"
#include "tensor/parsed_bytes.h"
#include "tensor/tensor_proto.h"
#include "tensor/text_memory.h"

namespace carillon {
namespace {

Status RunSerializeTensor(KernelContext& context) {
  const Tensor& tensor = context.input(0);
  const ForeignWork work(2 * (tensor.num_bytes() + static_cast<size_t>(TextBytes(tensor))));
  tensorflow::TensorProto proto;
  if (IsPlainData(tensor.dtype())) {
    proto.set_dtype(static_cast<tensorflow::DataType>(tensor.dtype()));
    ShapeToProto(tensor.shape(), proto.mutable_tensor_shape());
    proto.set_tensor_content(tensor.raw_data(), tensor.num_bytes());
  } else if (tensor.dtype() == DType::kString) {
    TensorToProto(tensor, &proto);
  } else {
    return Unimplemented("a tensor of dtype ", DTypeName(tensor.dtype()), " cannot be serialized");
  }
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) {
    return InvalidArgument("a tensor of ", tensor.num_bytes(), " bytes is too large to serialize");
  }
  context.set_text(0, std::move(bytes));
  return absl::OkStatus();
}

Status RunParseTensor(KernelContext& context) {
  const Tensor& serialized = context.input(0);
  if (serialized.rank() != 0) {
    return InvalidArgument("serialized should be a scalar but has shape ",
                           serialized.shape().ToString());
  }
  const ForeignWork work(
      MostParsedBytes<tensorflow::TensorProto>(serialized.scalar<std::string>()));
  tensorflow::TensorProto proto;
  if (!proto.ParseFromString(serialized.scalar<std::string>())) {
    return InvalidArgument("the ", serialized.scalar<std::string>().size(),
                           " bytes are no serialized tensor");
  }
  if (static_cast<DType>(proto.dtype()) != context.output_dtype(0)) {
    return InvalidArgument("the serialized tensor has dtype ", proto.dtype(), ", not ",
                           DTypeName(context.output_dtype(0)));
  }
  auto tensor = TensorFromProto(proto, context.services().allocator);
  if (!tensor.ok()) {
    const Status& status = tensor.status();
    if (absl::IsResourceExhausted(status)) return status;
    return InvalidArgument("the serialized tensor is invalid: ", std::string(status.message()));
  }
  context.set_output(0, *std::move(tensor));
  return absl::OkStatus();
}

class DecodeJsonExampleKernel final : public Kernel {
 public:
  explicit DecodeJsonExampleKernel(const KernelRequest&)
      : resolver_(google::protobuf::util::NewTypeResolverForDescriptorPool(
            "type.googleapis.com", tensorflow::Example::descriptor()->file()->pool())) {}

  Status Run(KernelContext& context) override {
    const Tensor& in = context.input(0);
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, in.shape()));
    ForeignMemory kept;
    for (int64_t i = 0; i < in.num_elements(); ++i) {
      CARILLON_RETURN_IF_ERROR(CheckWanted());
      std::string* bytes = &out->mutable_data<std::string>()[i];
      bytes->clear();
      const std::string& text = in.data<std::string>()[i];
      google::protobuf::util::Status status;
      {
        // The text is copied a few times, and each key of a few bytes is a node of a set.
        constexpr size_t kTimesText = 16;
        const ForeignWork work(kTimesText * text.size());
        status = google::protobuf::util::JsonToBinaryString(
            resolver_.get(), "type.googleapis.com/tensorflow.Example", text, bytes);
      }
      kept.Add(bytes->capacity());
      if (!status.ok()) {
        return InvalidArgument("element ", i, " is no Example in JSON: ", status.ToString());
      }
    }
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<google::protobuf::util::TypeResolver> resolver_;
};

}  // namespace

void AddParsingReferenceKernels(KernelTable& table) {
  table.Add({
      {"SerializeTensor", "ref", FromFunction<RunSerializeTensor>},
      {"ParseTensor", "ref", FromFunction<RunParseTensor>},
      {"DecodeJSONExample", "ref", FromClass<DecodeJsonExampleKernel>},
  });
  AddParsingRawKernels(table);
  AddParsingCsvKernels(table);
  AddParsingExampleKernels(table);
}

}  // namespace carillon
