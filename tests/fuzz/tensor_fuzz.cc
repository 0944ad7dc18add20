// A TensorProto through both readers, which must agree, and back.
#include <cstring>
#include <google/protobuf/io/coded_stream.h>

#include "fuzz_target.h"
#include "proto/tensor.pb.h"
#include "tensor/limited_allocator.h"
#include "tensor/tensor_proto.h"
#include "tensor/tensor_wire.h"

namespace carillon {
namespace {

bool Same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() == DType::kString) {
    return std::equal(a.values<std::string>().begin(), a.values<std::string>().end(),
                      b.values<std::string>().begin());
  }
  return a.num_bytes() == 0 || std::memcmp(a.raw_data(), b.raw_data(), a.num_bytes()) == 0;
}

StatusOr<Tensor> ReadWhole(std::string_view bytes, Allocator* allocator) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  return ReadTensor(&in, static_cast<int>(bytes.size()), allocator);
}

}  // namespace
}  // namespace carillon

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carillon;
  static const std::shared_ptr<Allocator> memory =
      MakeLimitedAllocator(MakePoolAllocator(), 16 << 20);
  tensorflow::TensorProto proto;
  const bool parsed = proto.ParseFromArray(data, static_cast<int>(size));
  const StatusOr<Tensor> streamed = ReadWhole(ViewOf(data, size), memory.get());
  if (!parsed) return 0;
  const StatusOr<Tensor> whole = TensorFromProto(proto, memory.get());
  if (!whole.ok() || !streamed.ok()) return 0;
  Require(Same(*whole, *streamed), "both readers give the same tensor");
  MessagePieces pieces;
  constexpr int kField = 1;
  pieces.AddTensor(kField, *whole);
  // Without the tag and the length of the field.
  const std::string message = pieces.Flatten();
  size_t start = 1;
  while (static_cast<uint8_t>(message[start]) >= 0x80) ++start;
  // With room for what the limit let through.
  static const std::shared_ptr<Allocator> more_memory =
      MakeLimitedAllocator(MakePoolAllocator(), 64 << 20);
  const StatusOr<Tensor> again =
      ReadWhole(std::string_view(message).substr(start + 1), more_memory.get());
  Require(again.ok() && Same(*whole, *again), "what is written can be read");
  return 0;
}
