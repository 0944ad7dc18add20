#include "carillon/shape.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "base/throw.h"

namespace carillon {

bool Shape::TryMake(std::span<const int64_t> dims, Shape* shape) {
  if (dims.size() > kMaxRank) return false;
  Shape made;
  bool empty = false;
  for (const int64_t size : dims) {
    if (size < 0) return false;
    empty |= size == 0;
    made.dims_[static_cast<size_t>(made.rank_++)] = size;
  }
  // An empty tensor may have any other dimensions: their product is never formed.
  made.num_elements_ = empty ? 0 : 1;
  if (!empty) {
    for (const int64_t size : dims) {
      if (__builtin_mul_overflow(made.num_elements_, size, &made.num_elements_)) return false;
    }
  }
  *shape = made;
  return true;
}

Shape::Shape(std::span<const int64_t> dims) {
  if (!TryMake(dims, this)) {
    Throw(InvalidArgument("[", absl::StrJoin(dims, ","),
                          "] is no tensor shape: dimensions must not be negative, at most ",
                          kMaxRank, " of them, and the number of elements must fit 63 bits"));
  }
}

Shape::Shape(std::initializer_list<int64_t> dims)
    : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}

void Shape::Recount() {
  num_elements_ = 1;
  for (const int64_t size : dims()) {
    // More than there can be: no memory is found for it. Empty whatever the others are.
    if (size == 0) {
      num_elements_ = 0;
      return;
    }
    if (__builtin_mul_overflow(num_elements_, size, &num_elements_))
      num_elements_ = std::numeric_limits<int64_t>::max();
  }
}

void Shape::set_dim(int i, int64_t size) {
  dims_[static_cast<size_t>(i)] = size;
  Recount();
}

void Shape::AddDim(int64_t size) { InsertDim(rank_, size); }

void Shape::InsertDim(int at, int64_t size) {
  if (rank_ == kMaxRank) Throw(InvalidArgument("a tensor has at most ", kMaxRank, " dimensions"));
  std::copy_backward(dims_.begin() + at, dims_.begin() + rank_, dims_.begin() + rank_ + 1);
  ++rank_;
  set_dim(at, size);
}

void Shape::RemoveDim(int at) {
  std::copy(dims_.begin() + at + 1, dims_.begin() + rank_, dims_.begin() + at);
  --rank_;
  Recount();
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ &&
         std::equal(dims_.begin(), dims_.begin() + rank_, other.dims_.begin());
}

std::string Shape::ToString() const { return StrCat("[", absl::StrJoin(dims(), ","), "]"); }

bool PartialShape::TryMake(std::span<const int64_t> dims, PartialShape* shape) {
  if (dims.size() > kMaxRank) return false;
  PartialShape made;
  made.rank_ = 0;
  for (const int64_t size : dims) {
    if (size < -1) return false;
    made.dims_[static_cast<size_t>(made.rank_++)] = size;
  }
  *shape = made;
  return true;
}

PartialShape::PartialShape(std::span<const int64_t> dims) {
  if (!TryMake(dims, this)) {
    Throw(InvalidArgument("[", absl::StrJoin(dims, ","), "] is no tensor shape: at most ", kMaxRank,
                          " dimensions, each -1 (unknown) or more"));
  }
}

PartialShape::PartialShape(std::initializer_list<int64_t> dims)
    : PartialShape(std::span<const int64_t>(dims.begin(), dims.size())) {}

PartialShape::PartialShape(const Shape& shape) : rank_(shape.rank()) {
  std::copy(shape.dims().begin(), shape.dims().end(), dims_.begin());
}

PartialShape PartialShape::UnknownOfRank(int rank) {
  if (rank > kMaxRank) Throw(InvalidArgument("a tensor has at most ", kMaxRank, " dimensions"));
  PartialShape shape;
  shape.rank_ = rank;
  shape.dims_.fill(-1);
  return shape;
}

void PartialShape::AddDim(int64_t size) {
  if (rank_ == kMaxRank) Throw(InvalidArgument("a tensor has at most ", kMaxRank, " dimensions"));
  dims_[static_cast<size_t>(rank_++)] = size;
}

bool PartialShape::IsFullyKnown() const {
  return has_rank() && std::all_of(dims().begin(), dims().end(), [](int64_t d) { return d >= 0; });
}

bool PartialShape::AsShape(Shape* shape) const {
  return has_rank() && Shape::TryMake(dims(), shape);
}

bool PartialShape::IsCompatibleWith(const PartialShape& other) const {
  PartialShape merged;
  return MergeWith(other, &merged);
}

bool PartialShape::MergeWith(const PartialShape& other, PartialShape* merged) const {
  if (!has_rank() || !other.has_rank()) {
    *merged = has_rank() ? *this : other;
    return true;
  }
  if (rank_ != other.rank_) return false;
  PartialShape both = *this;
  for (int i = 0; i < rank_; ++i) {
    if (dim(i) >= 0 && other.dim(i) >= 0 && dim(i) != other.dim(i)) return false;
    both.set_dim(i, std::max(dim(i), other.dim(i)));
  }
  *merged = both;
  return true;
}

bool PartialShape::operator==(const PartialShape& other) const {
  return rank_ == other.rank_ && std::equal(dims().begin(), dims().end(), other.dims().begin());
}

std::string PartialShape::ToString() const {
  if (!has_rank()) return "<unknown>";
  return StrCat("[",
                absl::StrJoin(dims(), ",",
                              [](std::string* out, int64_t size) {
                                StrAppend(out, size < 0 ? "?" : StrCat(size));
                              }),
                "]");
}

}  // namespace carillon
