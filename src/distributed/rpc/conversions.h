// Between gRPC's types and ours.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include "base/status.h"
#include "tensor/tensor_wire.h"

namespace carillon {

// The codes are the same ones.
grpc::Status ToGrpcStatus(const Status& status);
Status FromGrpcStatus(const grpc::Status& status);

// The pieces as they are: memory of tensors is shared, not copied, and held until gRPC has sent it.
grpc::ByteBuffer ToByteBuffer(const MessagePieces& pieces);

}  // namespace carillon
