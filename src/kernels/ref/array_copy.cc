#include "kernels/ref/array_copy.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/parallel.h"
#include "kernels/ref/array_transpose_tile.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// Runs shorter than this are not worth a memcpy call each.
constexpr int64_t kShortRun = 16;

// Dimensions of one element vanish; neighbours that are one run in both memories become one.
// False when there is nothing to copy.
bool Simplify(CopyDims& dims) {
  CopyDims simple;
  for (const CopyDim& dim : dims) {
    if (dim.size <= 0) return false;
    if (dim.size == 1) continue;
    if (!simple.empty()) {
      CopyDim& outer = simple.back();
      if (outer.from == dim.from * dim.size && outer.to == dim.to * dim.size) {
        outer = {outer.size * dim.size, dim.from, dim.to};
        continue;
      }
    }
    simple.push_back(dim);
  }
  dims = std::move(simple);
  return true;
}

// Walks the positions of the outer dimensions of a box, in order.
class Odometer {
 public:
  Odometer(std::span<const CopyDim> dims, int64_t position) : dims_(dims) {
    for (size_t i = dims.size(); i-- > 0;) {
      index_[i] = position % dims[i].size;
      position /= dims[i].size;
      from_ += index_[i] * dims[i].from;
      to_ += index_[i] * dims[i].to;
    }
  }
  int64_t from() const { return from_; }
  int64_t to() const { return to_; }
  void Advance() {
    for (size_t i = dims_.size(); i-- > 0;) {
      from_ += dims_[i].from;
      to_ += dims_[i].to;
      if (++index_[i] < dims_[i].size) return;
      from_ -= dims_[i].from * dims_[i].size;
      to_ -= dims_[i].to * dims_[i].size;
      index_[i] = 0;
    }
  }

 private:
  std::span<const CopyDim> dims_;
  int64_t index_[2 * kMaxRank] = {};
  int64_t from_ = 0;
  int64_t to_ = 0;
};

int64_t Positions(std::span<const CopyDim> dims) {
  int64_t count = 1;
  for (const CopyDim& dim : dims) count *= dim.size;
  return count;
}

template <typename T>
void CopyRun(const T* from, T* to, int64_t count) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else {
    std::copy_n(from, count, to);
  }
}

template <typename T>
void CopyLine(const T* from, T* to, const CopyDim& line) {
  if (line.to == 1 && line.from == 1) {
    CopyRun(from, to, line.size);
  } else if (line.to == 1 && line.from == 0) {
    std::fill_n(to, line.size, *from);
  } else {
    for (int64_t i = 0; i < line.size; ++i) to[i * line.to] = from[i * line.from];
  }
}

// Both dimensions in blocks that stay in the first-level cache, whichever way each memory runs.
template <typename T>
void CopyTiled(const T* from, T* to, std::span<const CopyDim> outer, CopyDim a, CopyDim b) {
  if (a.size > b.size) std::swap(a, b);  // the longer one is the inner loop
  const int64_t a_block = std::min<int64_t>(a.size, 16);
  const int64_t b_block = std::min<int64_t>(b.size, 1024 / a_block);
  const int64_t b_blocks = (b.size + b_block - 1) / b_block;
  ForRanges<T>(Positions(outer) * b_blocks, a.size * b_block, [&](int64_t begin, int64_t end) {
    Odometer at(outer, begin / b_blocks);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t b_begin = task % b_blocks * b_block;
      const int64_t b_count = std::min(b_block, b.size - b_begin);
      for (int64_t a_begin = 0; a_begin < a.size; a_begin += a_block) {
        const int64_t a_end = std::min(a.size, a_begin + a_block);
        for (int64_t i = a_begin; i < a_end; ++i) {
          const T* source = from + at.from() + i * a.from + b_begin * b.from;
          T* target = to + at.to() + i * a.to + b_begin * b.to;
          for (int64_t k = 0; k < b_count; ++k) target[k * b.to] = source[k * b.from];
        }
      }
      if (task % b_blocks == b_blocks - 1) at.Advance();
    }
  });
}

// The source runs along `run`, the destination along `line`. Strips of `line` as wide as one
// register are read and written in whole cache lines; what is left over at the edges goes one by
// one.
template <typename T>
void CopyTransposed(const T* from, T* to, std::span<const CopyDim> outer, const CopyDim& run,
                    const CopyDim& line) {
  constexpr int64_t kTile = TransposeTile<T>::kSize;
  const int64_t strips = (line.size + kTile - 1) / kTile;
  ForRanges<T>(Positions(outer) * strips, run.size * kTile, [&](int64_t begin, int64_t end) {
    Odometer at(outer, begin / strips);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t first = task % strips * kTile;
      const int64_t width = std::min(kTile, line.size - first);
      const T* source = from + at.from() + first * line.from;
      T* target = to + at.to() + first;
      int64_t i = 0;
      if (width == kTile) {
        for (; i + kTile <= run.size; i += kTile)
          TransposeTile<T>::Run(source + i, line.from, target + i * run.to, run.to);
      }
      for (; i < run.size; ++i)
        for (int64_t k = 0; k < width; ++k) target[i * run.to + k] = source[k * line.from + i];
      if (task % strips == strips - 1) at.Advance();
    }
  });
}

template <typename T>
void CopyBox(const T* from, T* to, const CopyDims& dims) {
  if (dims.empty()) {
    *to = *from;
    return;
  }
  const CopyDim line = dims.back();
  if (dims.size() == 1) {
    ForRanges<T>(line.size, 1, [&](int64_t begin, int64_t end) {
      CopyLine(from + begin * line.from, to + begin * line.to, {end - begin, line.from, line.to});
    });
    return;
  }
  std::span<const CopyDim> outer(dims.data(), dims.size() - 1);
  if (line.from == 1 && line.to == 1 && line.size < kShortRun) {
    CopyTiled(from, to, outer.first(outer.size() - 1), outer.back(), line);
    return;
  }
  if (line.from != 0 && line.from != 1 && line.to == 1) {
    // A transpose: the source runs along another dimension. That one moves next to the last.
    const auto run = std::ranges::find(outer, 1, &CopyDim::from);
    if (run != outer.end()) {
      CopyDims others(outer.begin(), outer.end());
      others.erase(others.begin() + (run - outer.begin()));
      if constexpr (std::is_trivially_copyable_v<T>) {
        constexpr int64_t kTile = TransposeTile<T>::kSize;
        if (run->size >= kTile && line.size >= kTile) {
          CopyTransposed(from, to, std::span<const CopyDim>(others), *run, line);
          return;
        }
      }
      CopyTiled(from, to, std::span<const CopyDim>(others), *run, line);
      return;
    }
  }
  ForRanges<T>(Positions(outer), line.size, [&](int64_t begin, int64_t end) {
    Odometer at(outer, begin);
    for (int64_t i = begin; i < end; ++i, at.Advance()) {
      CopyLine(from + at.from(), to + at.to(), line);
    }
  });
}

}  // namespace

void CopyStrided(DType dtype, const void* from, void* to, CopyDims dims) {
  if (!Simplify(dims)) return;
  DispatchBySize(dtype, [&]<typename T>() {
    CopyBox(static_cast<const T*>(from), static_cast<T*>(to), dims);
  });
}

void CopyElements(DType dtype, const void* from, void* to, int64_t count) {
  CopyStrided(dtype, from, to, {{count, 1, 1}});
}

void FillElements(DType dtype, void* to, int64_t count, const void* value) {
  CopyStrided(dtype, value, to, {{count, 0, 1}});
}

void ZeroElements(DType dtype, void* to, int64_t count) {
  DispatchBySize(dtype, [&]<typename T>() {
    const T zero{};
    FillElements(dtype, to, count, &zero);
  });
}

Strides RowMajorStrides(std::span<const int64_t> dims) {
  Strides strides(dims.size());
  uint64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(dims[i]);
  }
  return strides;
}

int64_t ElementsBefore(const Shape& shape, int axis) {
  uint64_t count = 1;
  for (int i = 0; i < axis; ++i) count *= static_cast<uint64_t>(shape.dim(i));
  return static_cast<int64_t>(count);
}

int64_t ElementsFrom(const Shape& shape, int axis) {
  uint64_t count = 1;
  for (int i = axis; i < shape.rank(); ++i) count *= static_cast<uint64_t>(shape.dim(i));
  return static_cast<int64_t>(count);
}

}  // namespace carillon
