#include "checkpoint/tensor_slice.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "proto/checkpoint.pb.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// Keys compare like the values they are made of: the encoding keeps the order of strings and
// numbers when it is compared byte by byte.

void AppendOrderedString(std::string_view text, std::string* out) {
  for (const char c : text) {
    out->push_back(c);
    if (c == '\0') out->push_back('\xff');
    if (c == '\xff') out->push_back('\0');
  }
  out->append("\0\1", 2);
}

// The number of significant bytes, then these, the highest first.
void AppendOrderedUnsigned(uint64_t value, std::string* out) {
  const int bytes = (std::bit_width(value) + 7) / 8;
  out->push_back(static_cast<char>(bytes));
  for (int i = bytes - 1; i >= 0; --i) out->push_back(static_cast<char>(value >> (8 * i)));
}

// Big-endian, with as many leading ones as there are bytes, all of them inverted when negative.
void AppendOrderedSigned(int64_t value, std::string* out) {
  const auto magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  const int bytes = std::bit_width(magnitude) / 7 + 1;
  std::array<unsigned char, 10> encoded;
  for (int i = 0; i < bytes; ++i) {
    const int shift = 8 * (bytes - 1 - i);
    encoded[static_cast<size_t>(i)] = static_cast<unsigned char>(
        shift >= 64 ? (value < 0 ? 0xff : 0) : static_cast<uint64_t>(value) >> shift);
  }
  if (bytes > 8) encoded[0] ^= 0xff;
  const uint32_t ones = 0xff00u >> std::min(bytes <= 8 ? bytes : bytes - 8, 8);
  encoded[bytes > 8 ? 1 : 0] ^= static_cast<unsigned char>(ones);
  out->append(reinterpret_cast<const char*>(encoded.data()), static_cast<size_t>(bytes));
}

int64_t RowMajorOffset(const TensorSlice& within, const TensorSlice& common,
                       std::span<const int64_t> position) {
  int64_t offset = 0;
  for (size_t d = 0; d < position.size(); ++d) {
    offset = offset * within.extents()[d].length + common.extents()[d].start + position[d] -
             within.extents()[d].start;
  }
  return offset;
}

}  // namespace

StatusOr<TensorSlice> TensorSlice::Parse(std::string_view text) {
  std::vector<Extent> extents;
  const absl::string_view view(text.data(), text.size());
  if (text.empty()) return TensorSlice();
  for (const absl::string_view part : absl::StrSplit(view, ':')) {
    Extent extent;
    if (part != "-") {
      const std::pair<absl::string_view, absl::string_view> numbers = absl::StrSplit(part, ',');
      if (!absl::SimpleAtoi(numbers.first, &extent.start) ||
          !absl::SimpleAtoi(numbers.second, &extent.length) || extent.start < 0 ||
          extent.length <= 0 ||
          extent.start > std::numeric_limits<int64_t>::max() - extent.length) {
        return InvalidArgument("'", text,
                               "' is no slice: expected 'start,length' or '-' instead of '",
                               std::string_view(part.data(), part.size()), "'");
      }
    }
    extents.push_back(extent);
  }
  if (extents.size() > static_cast<size_t>(kMaxRank)) {
    return InvalidArgument("the slice '", text, "' has more than ", kMaxRank, " dimensions");
  }
  return TensorSlice(std::move(extents));
}

StatusOr<TensorSlice> TensorSlice::FromProto(const tensorflow::TensorSliceProto& proto) {
  std::vector<Extent> extents;
  if (proto.extent_size() > kMaxRank) return InvalidArgument("a slice has too many dimensions");
  for (const auto& extent : proto.extent()) {
    const bool all = extent.has_length_hack_case() ==
                     tensorflow::TensorSliceProto::Extent::HAS_LENGTH_HACK_NOT_SET;
    if (extent.start() < 0 || (all && extent.start() != 0) || (!all && extent.length() < 0) ||
        (!all && extent.start() > std::numeric_limits<int64_t>::max() - extent.length())) {
      return InvalidArgument("a slice has an extent from ", extent.start(), " of length ",
                             extent.length());
    }
    extents.push_back({extent.start(), all ? kAll : extent.length()});
  }
  return TensorSlice(std::move(extents));
}

void TensorSlice::ToProto(tensorflow::TensorSliceProto* proto) const {
  for (const Extent& extent : extents_) {
    tensorflow::TensorSliceProto::Extent* out = proto->add_extent();
    if (extent.length == kAll) continue;
    out->set_start(extent.start);
    out->set_length(extent.length);
  }
}

std::string TensorSlice::ToString() const {
  std::string text;
  for (const Extent& extent : extents_) {
    if (!text.empty()) text += ":";
    text += extent.length == kAll ? "-" : StrCat(extent.start, ",", extent.length);
  }
  return text;
}

bool TensorSlice::IsWhole() const {
  return std::ranges::all_of(extents_, [](const Extent& e) { return e.length == kAll; });
}

StatusOr<Shape> TensorSlice::ShapeWithin(const Shape& full) const {
  if (full.rank() != rank()) {
    return absl::InternalError(
        StrCat("the slice '", ToString(), "' has another rank than the shape ", full.ToString()));
  }
  Shape shape;
  for (int d = 0; d < rank(); ++d) {
    const Extent& extent = extents_[static_cast<size_t>(d)];
    if (extent.length != kAll && extent.start + extent.length > full.dim(d)) {
      return absl::InternalError(
          StrCat("the slice '", ToString(), "' does not fit into the shape ", full.ToString()));
    }
    shape.AddDim(extent.length == kAll ? full.dim(d) : extent.length);
  }
  return shape;
}

TensorSlice TensorSlice::Resolved(const Shape& full) const {
  TensorSlice resolved = *this;
  for (int d = 0; d < rank(); ++d) {
    Extent& extent = resolved.extents_[static_cast<size_t>(d)];
    if (extent.length == kAll) extent.length = full.dim(d);
  }
  return resolved;
}

bool TensorSlice::Intersect(const TensorSlice& other, TensorSlice* common) const {
  common->extents_.clear();
  for (size_t d = 0; d < extents_.size(); ++d) {
    const Extent &a = extents_[d], &b = other.extents_[d];
    const int64_t start = std::max(a.start, b.start);
    const int64_t end = std::min(a.start + a.length, b.start + b.length);
    if (start >= end) return false;
    common->extents_.push_back({start, end - start});
  }
  return true;
}

StatusOr<ShapeAndSlice> ParseShapeAndSlice(std::string_view text) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::string_view(text.data(), text.size()), ' ');
  if (parts.size() < 2) {
    return InvalidArgument("'", text, "' should be sizes and a slice, as in '6 4 0,3:-'");
  }
  std::vector<int64_t> dims;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    int64_t size;
    if (!absl::SimpleAtoi(parts[i], &size)) {
      return InvalidArgument("'", text, "': '", std::string_view(parts[i].data(), parts[i].size()),
                             "' is not the size of a dimension");
    }
    dims.push_back(size);
  }
  ShapeAndSlice result;
  if (!Shape::TryMake(dims, &result.full_shape)) {
    return InvalidArgument("'", text, "' does not start with a shape");
  }
  const std::string_view slice(parts.back().data(), parts.back().size());
  CARILLON_ASSIGN_OR_RETURN(result.slice, TensorSlice::Parse(slice));
  CARILLON_ASSIGN_OR_RETURN(result.slice_shape, result.slice.ShapeWithin(result.full_shape));
  return result;
}

std::string SliceKey(std::string_view name, const TensorSlice& slice) {
  std::string key;
  AppendOrderedUnsigned(0, &key);
  AppendOrderedString(name, &key);
  AppendOrderedUnsigned(static_cast<uint64_t>(slice.rank()), &key);
  for (const TensorSlice::Extent& extent : slice.extents()) {
    AppendOrderedSigned(extent.start, &key);
    AppendOrderedSigned(extent.length, &key);
  }
  return key;
}

void CopyCommonPart(const Tensor& from, const TensorSlice& from_slice, const TensorSlice& common,
                    const TensorSlice& to_slice, Tensor* to) {
  const int rank = common.rank();
  if (rank == 0) {
    DispatchBySize(from.dtype(), [&]<typename T>() {
      static_cast<T*>(to->mutable_raw_data())[0] = static_cast<const T*>(from.raw_data())[0];
    });
    return;
  }
  const int64_t run = common.extents().back().length;
  std::array<int64_t, kMaxRank> position{};
  const std::span<int64_t> at(position.data(), static_cast<size_t>(rank));
  for (int d = 0; d >= 0;) {
    const int64_t source = RowMajorOffset(from_slice, common, at);
    const int64_t target = RowMajorOffset(to_slice, common, at);
    DispatchBySize(from.dtype(), [&]<typename T>() {
      const T* begin = static_cast<const T*>(from.raw_data()) + source;
      std::copy(begin, begin + run, static_cast<T*>(to->mutable_raw_data()) + target);
    });
    for (d = rank - 2; d >= 0; --d) {
      if (++at[static_cast<size_t>(d)] < common.extents()[static_cast<size_t>(d)].length) break;
      at[static_cast<size_t>(d)] = 0;
    }
  }
}

}  // namespace carillon
