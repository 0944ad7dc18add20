// The idx format: two zero bytes, a type, the number of dimensions, each dimension as a big-endian
// uint32, and the elements.
#include <array>
#include <span>

#include "data/byte_source.h"
#include "data/formats.h"

namespace carillon {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;

// Reads the header of `rank` dimensions and checks that the elements can be there.
StatusOr<Shape> ReadHeader(ByteSource* source, int rank) {
  std::array<char, 4> magic;
  CARILLON_RETURN_IF_ERROR(source->Read(magic, "idx header"));
  if (magic[0] != 0 || magic[1] != 0) {
    return DataLoss(source->path(), ": no idx file: it starts with bytes ",
                    static_cast<int>(static_cast<uint8_t>(magic[0])), " ",
                    static_cast<int>(static_cast<uint8_t>(magic[1])), " at offset 0, expected 0 0");
  }
  if (static_cast<uint8_t>(magic[2]) != kUnsignedByte) {
    return DataLoss(source->path(), ": element type ",
                    static_cast<int>(static_cast<uint8_t>(magic[2])),
                    " at offset 2, expected 8 (unsigned bytes)");
  }
  if (static_cast<uint8_t>(magic[3]) != rank) {
    return DataLoss(
        source->path(), ": ", static_cast<int>(static_cast<uint8_t>(magic[3])),
        " dimensions at offset 3, expected ", rank,
        rank == 3 ? " (this file should hold images)" : " (this file should hold labels)");
  }
  std::array<int64_t, 3> dims{};
  for (int i = 0; i < rank; ++i) {
    std::array<char, 4> bytes;
    CARILLON_RETURN_IF_ERROR(source->Read(bytes, "idx dimensions"));
    for (const char byte : bytes) {
      dims[static_cast<size_t>(i)] = dims[static_cast<size_t>(i)] << 8 | static_cast<uint8_t>(byte);
    }
  }
  Shape shape;
  const bool valid = Shape::TryMake({dims.data(), static_cast<size_t>(rank)}, &shape);
  if (!valid || static_cast<uint64_t>(shape.num_elements()) > source->MostBytesLeft()) {
    std::string claim;
    for (int i = 0; i < rank; ++i)
      StrAppend(&claim, i > 0 ? " x " : "", dims[static_cast<size_t>(i)]);
    return DataLoss(source->path(), ": the header at offset 4 claims ", claim,
                    " bytes from offset ", source->offset(), ", but the file holds at most ",
                    source->MostBytesLeft());
  }
  if (shape.num_elements() == 0) {
    return DataLoss(source->path(), ": the header at offset 4 claims no elements, expected some");
  }
  return shape;
}

std::string Header(std::initializer_list<int64_t> dims) {
  std::string header{0, 0, static_cast<char>(kUnsignedByte), static_cast<char>(dims.size())};
  for (const int64_t dim : dims) {
    for (const int shift : {24, 16, 8, 0}) header.push_back(static_cast<char>(dim >> shift));
  }
  return header;
}

std::span<char> BytesOf(Tensor* tensor) {
  return {static_cast<char*>(tensor->mutable_raw_data()), tensor->num_bytes()};
}

}  // namespace

StatusOr<Tensor> ReadIdxImages(Env& env, const std::string& path) {
  CARILLON_ASSIGN_OR_RETURN(ByteSource source, ByteSource::Open(env, path));
  CARILLON_ASSIGN_OR_RETURN(Shape shape, ReadHeader(&source, 3));
  shape.AddDim(1);
  CARILLON_ASSIGN_OR_RETURN(Tensor images, AllocateFor(path, kUint8, shape));
  CARILLON_RETURN_IF_ERROR(source.Read(BytesOf(&images), "pixels"));
  CARILLON_RETURN_IF_ERROR(source.ExpectEnd());
  return images;
}

StatusOr<Tensor> ReadIdxLabels(Env& env, const std::string& path, int classes) {
  CARILLON_ASSIGN_OR_RETURN(ByteSource source, ByteSource::Open(env, path));
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, ReadHeader(&source, 1));
  const uint64_t start = source.offset();
  CARILLON_ASSIGN_OR_RETURN(Tensor bytes, AllocateFor(path, kUint8, shape));
  CARILLON_RETURN_IF_ERROR(source.Read(BytesOf(&bytes), "labels"));
  CARILLON_RETURN_IF_ERROR(source.ExpectEnd());
  CARILLON_ASSIGN_OR_RETURN(Tensor labels, AllocateFor(path, kInt64, shape));
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    const uint8_t label = bytes.data<uint8_t>()[i];
    if (label >= classes) {
      return DataLoss(path, ": label ", static_cast<int>(label), " at offset ",
                      start + static_cast<uint64_t>(i), ", expected 0 to ", classes - 1);
    }
    labels.mutable_data<int64_t>()[i] = label;
  }
  return labels;
}

Status WriteIdxImages(Env& env, const Tensor& images, const std::string& path) {
  if (images.dtype() != kUint8 || images.rank() != 4 || images.dim(3) != 1) {
    return InvalidArgument(path,
                           ": idx files hold grey pictures, uint8 [n, height, width, 1], not ",
                           images.shape().ToString());
  }
  std::string bytes = Header({images.dim(0), images.dim(1), images.dim(2)});
  bytes.append(static_cast<const char*>(images.raw_data()), images.num_bytes());
  return env.WriteFile(path, bytes);
}

Status WriteIdxLabels(Env& env, const Tensor& labels, const std::string& path) {
  std::string bytes = Header({labels.dim(0)});
  for (const int64_t label : labels.values<int64_t>()) {
    if (label < 0 || label > 255)
      return InvalidArgument(path, ": label ", label, " does not fit into a byte");
    bytes.push_back(static_cast<char>(label));
  }
  return env.WriteFile(path, bytes);
}

}  // namespace carillon
