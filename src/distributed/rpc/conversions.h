// Between gRPC's types and ours.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>
#include <string>

#include "base/status.h"
#include "tensor/tensor_wire.h"

namespace carillon {

// The codes are the same ones.
Status FromGrpcStatus(const grpc::Status& status);

// The pieces as they are: memory of tensors is shared, not copied, and held until gRPC has sent it.
grpc::ByteBuffer ToByteBuffer(const MessagePieces& pieces);

// All bytes, copied; none when gRPC cannot unpack them.
std::string ToString(const grpc::ByteBuffer& bytes);

}  // namespace carillon
