#include "distributed/rpc/conversions.h"

#include <grpcpp/support/slice.h>
#include <memory>
#include <string>
#include <vector>

namespace carillon {

grpc::Status ToGrpcStatus(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

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

}  // namespace carillon
