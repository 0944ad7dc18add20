// Shape: the dimensions of a tensor. PartialShape: what is known of them before a step runs.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace carillon {

// Tensors have at most this many dimensions.
inline constexpr int kMaxRank = 8;

// Dimensions that are all known and not negative; the number of elements fits an int64. A value
// type without heap memory.
class Shape {
 public:
  Shape() = default;  // a scalar
  // Throws Error(InvalidArgument) for a negative dimension, too many dimensions or an overflowing
  // element count.
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);

  // The non-throwing form for input from outside: false when `dims` is no valid shape.
  static bool TryMake(std::span<const int64_t> dims, Shape* shape);

  int rank() const { return rank_; }
  int64_t dim(int i) const { return dims_[static_cast<size_t>(i)]; }
  // A view: of a Shape that lives on, so x.shape().dims() on a returned value does not compile.
  std::span<const int64_t> dims() const& { return {dims_.data(), static_cast<size_t>(rank_)}; }
  std::span<const int64_t> dims() && = delete;
  int64_t num_elements() const { return num_elements_; }

  // Other dimensions. More elements than an int64_t holds count as the largest one.
  void set_dim(int i, int64_t size);
  void AddDim(int64_t size);
  void InsertDim(int at, int64_t size);
  void RemoveDim(int at);

  bool operator==(const Shape& other) const;
  std::string ToString() const;  // "[2,3]"

 private:
  void Recount();
  std::array<int64_t, kMaxRank> dims_{};
  int64_t num_elements_ = 1;
  int rank_ = 0;
};

// Each dimension may be unknown (-1), and so may the rank.
class PartialShape {
 public:
  PartialShape() = default;  // nothing known, not even the rank
  PartialShape(std::initializer_list<int64_t> dims);
  explicit PartialShape(std::span<const int64_t> dims);
  PartialShape(const Shape& shape);  // NOLINT: a Shape is a PartialShape
  static PartialShape Unknown() { return PartialShape(); }
  static PartialShape UnknownOfRank(int rank);
  static bool TryMake(std::span<const int64_t> dims, PartialShape* shape);

  bool has_rank() const { return rank_ >= 0; }
  int rank() const { return rank_; }  // -1 when unknown
  int64_t dim(int i) const { return dims_[static_cast<size_t>(i)]; }
  std::span<const int64_t> dims() const& {
    return {dims_.data(), static_cast<size_t>(rank_ < 0 ? 0 : rank_)};
  }
  std::span<const int64_t> dims() && = delete;
  void set_dim(int i, int64_t size) { dims_[static_cast<size_t>(i)] = size; }
  void AddDim(int64_t size);

  bool IsFullyKnown() const;
  // False when not fully known, or when the element count overflows.
  bool AsShape(Shape* shape) const;
  // True when some Shape fits both.
  bool IsCompatibleWith(const PartialShape& other) const;
  // What both say together; false (and *merged untouched) when they contradict each other.
  bool MergeWith(const PartialShape& other, PartialShape* merged) const;

  bool operator==(const PartialShape& other) const;  // the same knowledge, not only compatible
  std::string ToString() const;                      // "[?,784]", "<unknown>"

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = -1;
};

}  // namespace carillon
