#include "tensor/tensor_proto.h"

#include <gtest/gtest.h>

#include "proto/tensor.pb.h"

namespace carillon {
namespace {

tensorflow::TensorProto Proto(tensorflow::DataType dtype, std::initializer_list<int64_t> dims) {
  tensorflow::TensorProto proto;
  proto.set_dtype(dtype);
  for (const int64_t size : dims) proto.mutable_tensor_shape()->add_dim()->set_size(size);
  return proto;
}

TEST(TensorProto, AShortListRepeatsItsLastValue) {
  auto proto = Proto(tensorflow::DT_FLOAT, {2, 2});
  proto.add_float_val(1);
  proto.add_float_val(2);
  const Tensor tensor = *TensorFromProto(proto);
  EXPECT_EQ(std::vector<float>(tensor.values<float>().begin(), tensor.values<float>().end()),
            (std::vector<float>{1, 2, 2, 2}));
}

TEST(TensorProto, AnEmptyListMeansZeros) {
  const Tensor tensor = *TensorFromProto(Proto(tensorflow::DT_INT64, {3}));
  for (const int64_t value : tensor.values<int64_t>()) EXPECT_EQ(value, 0);
  EXPECT_EQ(TensorFromProto(Proto(tensorflow::DT_STRING, {2}))->values<std::string>()[1], "");
}

TEST(TensorProto, SixteenBitFloatsAreBitPatterns) {
  auto proto = Proto(tensorflow::DT_HALF, {});
  proto.add_half_val(0x3c00);
  EXPECT_EQ(static_cast<float>(TensorFromProto(proto)->scalar<Half>()), 1.0f);
}

TEST(TensorProto, RoundTripsEveryPlainType) {
  const Tensor tensors[] = {Tensor::FromVector<float>({1, 2}),
                            Tensor::FromVector<double>({1, 2}),
                            Tensor::FromVector<int32_t>({-1, 2}),
                            Tensor::FromVector<int64_t>({-1, 2}),
                            Tensor::FromVector<uint8_t>({1, 255}),
                            Tensor::FromVector<int8_t>({-1, 2}),
                            Tensor::FromVector<uint64_t>({1, ~uint64_t{0}}),
                            Tensor::FromVector<std::string>({"a", std::string("\0b", 2)}),
                            Tensor(kFloat, {0, 3})};
  for (const Tensor& tensor : tensors) {
    tensorflow::TensorProto proto;
    TensorToProto(tensor, &proto);
    EXPECT_EQ(TensorFromProto(proto)->ToString(), tensor.ToString());
  }
}

TEST(TensorProto, HostileSizesAreErrorsBeforeAnythingIsAllocated) {
  EXPECT_EQ(TensorFromProto(Proto(tensorflow::DT_FLOAT, {int64_t{1} << 40})).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(TensorFromProto(Proto(tensorflow::DT_FLOAT, {int64_t{1} << 40, int64_t{1} << 40}))
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TensorFromProto(Proto(tensorflow::DT_FLOAT, {-1})).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(TensorFromProto(Proto(static_cast<tensorflow::DataType>(99), {})).status().code(),
            absl::StatusCode::kInvalidArgument);
  auto too_many = Proto(tensorflow::DT_INT32, {1});
  too_many.add_int_val(1);
  too_many.add_int_val(2);
  EXPECT_EQ(TensorFromProto(too_many).status().code(), absl::StatusCode::kInvalidArgument);
  auto wrong_bytes = Proto(tensorflow::DT_INT32, {2});
  wrong_bytes.set_tensor_content("abc");
  EXPECT_EQ(TensorFromProto(wrong_bytes).status().code(), absl::StatusCode::kInvalidArgument);
  auto strings_as_bytes = Proto(tensorflow::DT_STRING, {1});
  strings_as_bytes.set_tensor_content(std::string(sizeof(std::string), 'x'));
  EXPECT_EQ(TensorFromProto(strings_as_bytes).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace carillon
