#include "distributed/rpc/conversions.h"

#include <grpcpp/support/slice.h>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/dynamic_annotations.h"

namespace carillon {

Status FromGrpcStatus(const grpc::Status& status) {
  return Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

grpc::ByteBuffer ToByteBuffer(const MessagePieces& pieces) {
  std::vector<grpc::Slice> slices;
  slices.reserve(pieces.pieces().size());
  for (const MessagePieces::Piece& piece : pieces.pieces()) {
    const std::string_view bytes = piece.view();
    if (piece.tensor.has_value()) {
      auto holder = std::make_unique<Tensor>(piece.tensor);
      slices.emplace_back(
          const_cast<char*>(bytes.data()), bytes.size(),
          [](void* tensor) { delete static_cast<Tensor*>(tensor); }, holder.release());
    } else {
      slices.emplace_back(bytes.data(), bytes.size());
    }
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

std::string ToString(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!bytes.Dump(&slices).ok()) return text;
  text.reserve(bytes.Length());
  // Threads of gRPC have filled it, and its locks are none that ThreadSanitizer sees.
  ABSL_ANNOTATE_IGNORE_READS_BEGIN();
  for (const grpc::Slice& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  ABSL_ANNOTATE_IGNORE_READS_END();
  return text;
}

}  // namespace carillon
