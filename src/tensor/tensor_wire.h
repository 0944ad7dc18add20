// Tensors in messages, without a copy that is not needed: a TensorProto is read from a stream
// straight into the tensor's memory, and written as a few bytes of header plus the memory itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "carillon/tensor.h"
#include "tensor/allocator.h"

namespace google::protobuf::io {
class CodedInputStream;
}

namespace carillon {

// Reads a TensorProto that takes the next `bytes` bytes of `in`. All forms are understood; raw
// content that follows dtype and shape, as serializers write it, is read in place. Sizes are
// checked before anything is allocated. ResourceExhausted when `allocator` has no room. A resource
// handle comes without its resource. When what `in` ends with is the memory of `content`, and that
// is the tensor's, it is not copied: the tensor keeps it alive.
StatusOr<Tensor> ReadTensor(google::protobuf::io::CodedInputStream* in, int bytes,
                            Allocator* allocator, const Tensor* content = nullptr);

// A serialized message in pieces: bytes of its own, and memory of tensors that it shares.
class MessagePieces {
 public:
  struct Piece {
    std::string bytes;  // or,
    Tensor tensor;      // when this holds something: its memory
    std::string_view view() const {
      return tensor.has_value()
                 ? std::string_view(static_cast<const char*>(tensor.raw_data()), tensor.num_bytes())
                 : std::string_view(bytes);
    }
  };

  // One field of the message, in protobuf's wire format. Zero and empty values are left out, as
  // proto3 has it.
  void AddInt(int field, int64_t value);
  void AddString(int field, std::string_view value);
  // A field that holds a TensorProto …
  void AddTensor(int field, const Tensor& tensor);
  // … or a NamedTensorProto.
  void AddNamedTensor(int field, std::string_view name, const Tensor& tensor);

  const std::vector<Piece>& pieces() const { return pieces_; }
  size_t size() const { return size_; }
  std::string Flatten() const;

 private:
  std::string* Tail();  // the piece of bytes at the end

  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

}  // namespace carillon
