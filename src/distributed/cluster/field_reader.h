// FieldReader: protobuf's wire format, read field by field, tensors straight into their memory.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "carillon/tensor.h"
#include "proto/master.pb.h"
#include "tensor/tensor_wire.h"

namespace carillon {

using CodedInput = google::protobuf::io::CodedInputStream;

// Reads the fields of one message, one after the other. After a failure nothing more is read.
class FieldReader {
 public:
  // `in` has a limit, where the message ends: nothing says so else that a length is too large.
  // `contents` are as ReadTensor() has them.
  explicit FieldReader(CodedInput* in, std::span<const Tensor> contents = {})
      : in_(in), contents_(contents) {}

  // The next field's number; 0 at the end of the message, or after a failure.
  int Next() {
    if (failed_) return 0;
    const int start = in_->CurrentPosition();
    tag_ = in_->ReadTag();
    if (tag_ == 0) {
      // A message ends between fields, not inside of a tag.
      const bool is_end = in_->ConsumedEntireMessage() || in_->BytesUntilLimit() == 0;
      Check(is_end && in_->CurrentPosition() == start);
    }
    return WireFormat::GetTagFieldNumber(tag_);
  }

  void Read(int64_t* value) {
    uint64_t bits = 0;
    Check(IsVarint() && in_->ReadVarint64(&bits));
    *value = static_cast<int64_t>(bits);
  }
  void Read(bool* value) {
    int64_t bits = 0;
    Read(&bits);
    *value = bits != 0;
  }
  void Read(std::string* value) {
    const int length = Length();
    Check(!failed_ && in_->ReadString(value, length));
  }
  void Read(google::protobuf::MessageLite* message) {
    std::string bytes;
    Read(&bytes);
    Check(!failed_ && message->ParseFromString(bytes));
  }
  template <typename T>
  void Append(std::vector<T>* values) {
    Read(&values->emplace_back());
  }

  void ReadTensorInto(Allocator* allocator, Tensor* tensor) {
    const int length = Length();
    if (failed_) return;
    StatusOr<Tensor> read = ReadTensor(in_, length, allocator, &contents_);
    if (read.ok()) {
      *tensor = *std::move(read);
    } else {
      tensor_error_ = read.status();
      failed_ = true;
    }
  }
  // Likewise, but one for which there is no room has no value, and is passed over.
  void ReadTensorIfRoom(Allocator* allocator, Tensor* tensor) {
    ReadTensorInto(allocator, tensor);
    if (!absl::IsResourceExhausted(tensor_error_)) return;
    tensor_error_ = absl::OkStatus();
    failed_ = false;
  }

  void ReadNamedTensor(Allocator* allocator, std::pair<std::string, Tensor>* named) {
    const int length = Length();
    if (failed_) return;
    const CodedInput::Limit limit = in_->PushLimit(length);
    while (const int field = Next()) {
      if (field == tensorflow::NamedTensorProto::kNameFieldNumber) {
        Read(&named->first);
      } else if (field == tensorflow::NamedTensorProto::kTensorFieldNumber) {
        ReadTensorInto(allocator, &named->second);
      } else {
        Skip();
      }
    }
    Check(in_->BytesUntilLimit() == 0);
    if (!failed_) in_->PopLimit(limit);
  }

  void Skip() { Check(WireFormat::SkipField(in_, tag_)); }

  Status Finish() const {
    if (!tensor_error_.ok()) return tensor_error_;
    return failed_ ? InvalidArgument("the message is malformed") : absl::OkStatus();
  }

 private:
  using WireFormat = google::protobuf::internal::WireFormatLite;

  bool IsVarint() const { return WireFormat::GetTagWireType(tag_) == WireFormat::WIRETYPE_VARINT; }
  int Length() {
    uint32_t length = 0;
    Check(WireFormat::GetTagWireType(tag_) == WireFormat::WIRETYPE_LENGTH_DELIMITED &&
          in_->ReadVarint32(&length) && length <= INT32_MAX);
    // Never more than there is: strings are allocated by it.
    Check(static_cast<int>(length) <= in_->BytesUntilLimit());
    return static_cast<int>(length);
  }
  void Check(bool ok) { failed_ = failed_ || !ok; }

  CodedInput* in_;
  std::span<const Tensor> contents_;
  uint32_t tag_ = 0;
  bool failed_ = false;
  Status tensor_error_;
};

}  // namespace carillon
