// Tensor to and from TensorProto, in every form that TensorFlow writes.
#pragma once

#include "base/status.h"
#include "carillon/tensor.h"
#include "tensor/allocator.h"

namespace tensorflow {
class TensorProto;
class TensorShapeProto;
}  // namespace tensorflow

namespace carillon {

// Raw bytes or the typed list (a short list repeats its last value, an empty one means zeros).
// Sizes are checked against the shape before anything is allocated; a proto that claims more
// elements than `max_bytes` hold is ResourceExhausted.
StatusOr<Tensor> TensorFromProto(const tensorflow::TensorProto& proto,
                                 Allocator* allocator = HostAllocator(),
                                 size_t max_bytes = size_t{1} << 34);

// Raw bytes for plain data, the typed list for strings; of resources where they are kept.
void TensorToProto(const Tensor& tensor, tensorflow::TensorProto* proto);

StatusOr<PartialShape> PartialShapeFromProto(const tensorflow::TensorShapeProto& proto);
void ShapeToProto(const PartialShape& shape, tensorflow::TensorShapeProto* proto);

}  // namespace carillon
