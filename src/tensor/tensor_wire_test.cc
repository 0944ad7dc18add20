#include "tensor/tensor_wire.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include "proto/master.pb.h"
#include "tensor/object.h"
#include "tensor/tensor_proto.h"

namespace carillon {
namespace {

using google::protobuf::io::CodedInputStream;

StatusOr<Tensor> Read(const std::string& bytes) {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  return ReadTensor(&in, static_cast<int>(bytes.size()), HostAllocator());
}

Tensor Counting(int64_t n) {
  Tensor tensor(kFloat, Shape{n});
  for (int64_t i = 0; i < n; ++i) tensor.mutable_data<float>()[i] = static_cast<float>(i);
  return tensor;
}

TEST(TensorWire, ReadsWhatTheCodecWrites) {
  const Tensor tensors[] = {Counting(10'000), Tensor::Scalar<int64_t>(-7),
                            Tensor::FromVector<std::string>({"a", "", "\xff"}), Counting(0),
                            Tensor::FromVector(std::vector<uint8_t>{1, 2, 3})};
  for (const Tensor& tensor : tensors) {
    tensorflow::TensorProto proto;
    TensorToProto(tensor, &proto);
    StatusOr<Tensor> read = Read(proto.SerializeAsString());
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->ToString(100), tensor.ToString(100));
  }
}

TEST(TensorWire, ReadsTypedValuesAndAnyOrder) {
  tensorflow::TensorProto proto;
  proto.set_dtype(tensorflow::DT_FLOAT);
  proto.mutable_tensor_shape()->add_dim()->set_size(4);
  proto.add_float_val(1.5f);
  EXPECT_EQ(Read(proto.SerializeAsString())->data<float>()[3], 1.5f);
  tensorflow::TensorProto dtype, rest;
  dtype.set_dtype(tensorflow::DT_FLOAT);
  rest = proto;
  rest.clear_dtype();
  EXPECT_EQ(Read(rest.SerializeAsString() + dtype.SerializeAsString())->data<float>()[0], 1.5f);
}

// Strings go to their places one by one, with the same result as by way of the proto.
TEST(TensorWire, ReadsStringsAsTheirProtoSays) {
  for (const int elements : {0, 1, 3}) {
    for (int given = 0; given <= 4; ++given) {
      tensorflow::TensorProto proto;
      proto.set_dtype(tensorflow::DT_STRING);
      proto.mutable_tensor_shape()->add_dim()->set_size(elements);
      for (int i = 0; i < given; ++i) proto.add_string_val(std::string(10 + 100 * (i % 3), 'a'));
      const std::string bytes = proto.SerializeAsString();
      const StatusOr<Tensor> read = Read(bytes), parsed = TensorFromProto(proto, HostAllocator());
      ASSERT_EQ(read.status().code(), parsed.status().code()) << elements << " " << given;
      if (given == 0) continue;
      for (size_t cut = 1; cut < 3; ++cut)
        EXPECT_FALSE(Read(bytes.substr(0, bytes.size() - cut)).ok()) << cut;
      EXPECT_FALSE(Read(bytes + "\x7a").ok());
      if (!read.ok()) continue;
      EXPECT_EQ(read->ToString(100), parsed->ToString(100));
    }
  }
  // There must be room for all of them before any is read.
  tensorflow::TensorProto proto;
  TensorToProto(Tensor::FromVector<std::string>({"short", std::string(1 << 20, 'x')}), &proto);
  const std::string bytes = proto.SerializeAsString();
  const auto limited = MakePoolAllocator({.limit_bytes = 1 << 20});
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  EXPECT_EQ(ReadTensor(&in, static_cast<int>(bytes.size()), limited.get()).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(limited->stats().peak_bytes, 0);
}

TEST(TensorWire, RefusesSizesThatDoNotFit) {
  tensorflow::TensorProto proto;
  TensorToProto(Counting(8), &proto);
  proto.mutable_tensor_shape()->mutable_dim(0)->set_size(int64_t{1} << 60);
  EXPECT_EQ(Read(proto.SerializeAsString()).status().code(), absl::StatusCode::kInvalidArgument);
  TensorToProto(Counting(8), &proto);
  std::string bytes = proto.SerializeAsString();
  for (size_t n = 1; n < bytes.size(); ++n)
    EXPECT_FALSE(Read(bytes.substr(0, n)).ok() && n > 12) << n;
}

// In one piece or byte by byte: protobuf passes over such a tag in one way of reading only.
TEST(TensorWire, ATagOfZeroIsNoEnd) {
  for (const std::string& tag : {std::string(1, '\0'), std::string(9, '\x80') + '\1'}) {
    const std::string bytes = "\x08\x07" + tag;
    const auto size = static_cast<int>(bytes.size());
    EXPECT_EQ(Read(bytes).status().code(), absl::StatusCode::kInvalidArgument);
    google::protobuf::io::ArrayInputStream pieces(bytes.data(), size, 1);
    CodedInputStream in(&pieces);
    EXPECT_EQ(ReadTensor(&in, size, HostAllocator()).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

// Memory for content that is yet to come is found while others wait: a header is read as far as
// that is little. The rest is for whoever reads it all.
TEST(TensorWire, AllocatesForOneShapeOnly) {
  tensorflow::TensorProto header, shape, content;
  header.set_dtype(tensorflow::DT_FLOAT);
  header.mutable_tensor_shape()->add_dim()->set_size(4);
  shape.mutable_tensor_shape();
  content.set_tensor_content(std::string(16, '\1'));
  for (const int shapes : {0, 1, 2}) {
    std::string bytes = header.SerializeAsString();
    for (int i = 0; i < shapes; ++i) bytes += shape.SerializeAsString();
    bytes += content.SerializeAsString();
    CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                        static_cast<int>(bytes.size()));
    EXPECT_EQ(AllocateForContent(&in, static_cast<int>(bytes.size()), 1 << 20, HostAllocator())
                  .has_value(),
              shapes == 0);
    const StatusOr<Tensor> read = Read(bytes);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->shape(), Shape{4});
  }
}

TEST(TensorWire, ReadsWhereAResourceIs) {
  tensorflow::TensorProto proto;
  TensorToProto(Tensor::Scalar(ResourceHandle{nullptr, "container", "name"}), &proto);
  const StatusOr<Tensor> listed = Read(proto.SerializeAsString());
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ(listed->scalar<ResourceHandle>().name, "name");

  // The other form: the length and the message.
  const std::string message = proto.resource_handle_val(0).SerializeAsString();
  proto.clear_resource_handle_val();
  proto.set_tensor_content(static_cast<char>(message.size()) + message);
  const StatusOr<Tensor> packed = Read(proto.SerializeAsString());
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(packed->scalar<ResourceHandle>().container, "container");
  EXPECT_EQ(packed->scalar<ResourceHandle>().resource, nullptr);

  for (const std::string& content : {std::string("\x7f") + message, message, std::string()}) {
    proto.set_tensor_content(content);
    EXPECT_EQ(Read(proto.SerializeAsString()).status().code(), absl::StatusCode::kInvalidArgument);
  }
  proto.mutable_tensor_shape()->add_dim()->set_size(int64_t{1} << 40);
  EXPECT_EQ(Read(proto.SerializeAsString()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(TensorFromProto(proto).ok()) << "constants hold no handles";
}

TEST(MessagePieces, AreTheMessage) {
  const Tensor large = Counting(5'000), small = Counting(3);
  MessagePieces pieces;
  pieces.AddNamedTensor(1, "large:0", large);
  pieces.AddNamedTensor(1, "small:0", small);
  pieces.AddInt(3, 5);
  pieces.AddString(4, "oh");
  EXPECT_EQ(pieces.size(), pieces.Flatten().size());
  tensorflow::RunStepResponse response;
  ASSERT_TRUE(response.ParseFromString(pieces.Flatten()));
  EXPECT_EQ(response.status_code(), 5);
  EXPECT_EQ(response.status_error_message(), "oh");
  ASSERT_EQ(response.tensor_size(), 2);
  EXPECT_EQ(response.tensor(0).name(), "large:0");
  EXPECT_EQ(TensorFromProto(response.tensor(0).tensor())->ToString(5000), large.ToString(5000));
  EXPECT_EQ(TensorFromProto(response.tensor(1).tensor())->ToString(), small.ToString());
  // The large one travels in its own memory.
  EXPECT_EQ(pieces.pieces()[1].tensor.raw_data(), large.raw_data());
}

TEST(MessagePieces, SayBeforeWhatTheyTake) {
  Tensor handle(DType::kResource, Shape{});
  handle.mutable_data<ResourceHandle>()[0] = {nullptr, "container", std::string(1000, 'n')};
  const Tensor tensors[] = {Counting(10'000),
                            Counting(10),
                            Tensor::FromVector<std::string>({"a", "", "\xff"}),
                            Tensor::FromVector<std::string>(std::vector<std::string>(10'000)),
                            Tensor::FromVector<std::string>({std::string(1 << 20, 'x'), "y"}),
                            handle};
  MessagePieces pieces;
  tensorflow::RunCallableResponse whole;
  int64_t said = 0;
  for (int round = 0; round < 2; ++round) {
    for (const Tensor& tensor : tensors) {
      pieces.AddTensor(tensorflow::RunCallableResponse::kFetchFieldNumber, tensor);
      TensorToProto(tensor, whole.add_fetch());
      said += MessagePieces::OwnBytes(tensor);
      size_t own = 0;
      for (const auto& piece : pieces.pieces()) own += sizeof(piece) + piece.bytes.size();
      EXPECT_LE(static_cast<int64_t>(own), said);
      EXPECT_LT(said, static_cast<int64_t>(own + 16'384));
    }
  }
  EXPECT_EQ(pieces.size(), whole.ByteSizeLong());
  EXPECT_TRUE(pieces.Flatten() == whole.SerializeAsString());
}

TEST(MessagePieces, KeepWhatCountsThem) {
  auto kept = std::make_shared<int>();
  const std::weak_ptr<int> watched = kept;
  {
    MessagePieces pieces;
    pieces.KeepWithIt(std::move(kept));
    const MessagePieces moved = std::move(pieces);
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace carillon
