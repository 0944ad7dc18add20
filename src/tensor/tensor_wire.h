// Tensors in messages, without a copy that is not needed: a TensorProto is read from a stream
// straight into the tensor's memory, and written as a few bytes of header plus the memory itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
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
// handle comes without its resource. `contents` are parts of what `in` reads, in their order: where
// the memory of the next one is the tensor's content it is not copied, but shared, and taken off.
StatusOr<Tensor> ReadTensor(google::protobuf::io::CodedInputStream* in, int bytes,
                            Allocator* allocator, std::span<const Tensor>* contents = nullptr);

// Of a TensorProto of `bytes` bytes that has come in part: reads up to raw content, of at most
// `most` bytes, that is all the rest of it, and makes the tensor whose memory that is to fill.
// Without a value if it is of another form, if too little has come, or if there is no room.
Tensor AllocateForContent(google::protobuf::io::CodedInputStream* in, int bytes, size_t most,
                          Allocator* allocator);

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

  // Fields that are written already.
  void AddFields(std::string bytes);

  // At most what AddTensor takes for the message's own bytes, also while it works.
  static int64_t OwnBytes(const Tensor& tensor);
  // Is kept for as long as the message: what counts its memory.
  void KeepWithIt(std::shared_ptr<const void> kept) { kept_ = std::move(kept); }

  const std::vector<Piece>& pieces() const { return pieces_; }
  size_t size() const { return size_; }
  std::string Flatten() const;

 private:
  std::string* Tail();  // the piece of bytes at the end

  std::shared_ptr<const void> kept_;  // ends last
  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

}  // namespace carillon
