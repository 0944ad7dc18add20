#include <algorithm>
#include <matio.h>
#include <memory>
#include <utility>

#include "data/formats.h"
#include "data/mat_file.h"
#include "data/matio_library.h"

namespace carillon {
namespace {

constexpr int kSide = 32, kChannels = 3, kPlane = kSide * kSide;

using MatFile = std::unique_ptr<mat_t, decltype(MatioLibrary::close)>;
using MatValue = std::unique_ptr<matvar_t, decltype(MatioLibrary::free)>;

StatusOr<MatVariable> Find(const std::vector<MatVariable>& variables, const std::string& path,
                           const std::string& name) {
  std::string names;
  for (const MatVariable& variable : variables) {
    if (variable.name == name) return variable;
    StrAppend(&names, names.empty() ? "" : ", ", variable.name);
  }
  return DataLoss(path, ": no variable ", name, ", expected X (images) and y (labels), found ",
                  names.empty() ? "none" : names);
}

// The values of a variable, read as numbers of type T whatever the file stores.
template <typename T>
StatusOr<std::vector<T>> Values(const MatioLibrary& matio, mat_t* file, const std::string& path,
                                const MatVariable& variable) {
  const MatValue value(matio.read(file, variable.name.c_str()), matio.free);
  int64_t count = 1;
  for (const int64_t dim : variable.dims) count *= dim;
  const auto wrong = [&](std::string_view what) {
    return DataLoss(path, ": cannot read ", variable.name, " at offset ", variable.offset, ": ",
                    what);
  };
  if (value == nullptr || value->data == nullptr || value->data_size <= 0)
    return wrong("libmatio refuses it");
  if (value->nbytes / static_cast<size_t>(value->data_size) != static_cast<size_t>(count)) {
    return wrong(StrCat("expected ", count, " values"));
  }
  std::vector<T> out(static_cast<size_t>(count));
  int64_t outside = -1;  // the first value that is no byte
  const auto copy = [&](const auto* from) {
    for (int64_t i = 0; i < count; ++i) {
      const bool fits = from[i] >= 0 && from[i] <= 255;
      if (!fits && outside < 0) outside = i;
      out[static_cast<size_t>(i)] = fits ? static_cast<T>(from[i]) : T{0};
    }
  };
  switch (value->class_type) {
    case MAT_C_UINT8:
      copy(static_cast<const uint8_t*>(value->data));
      break;
    case MAT_C_INT32:
      copy(static_cast<const int32_t*>(value->data));
      break;
    case MAT_C_SINGLE:
      copy(static_cast<const float*>(value->data));
      break;
    case MAT_C_DOUBLE:
      copy(static_cast<const double*>(value->data));
      break;
    default:
      return wrong("expected uint8, int32, single or double");
  }
  if (outside >= 0) return wrong(StrCat("value ", outside, " is not from 0 to 255"));
  return out;
}

// From columns of planes to rows of pixels, in place.
void Transpose(uint8_t* image) {
  uint8_t columns[kPlane * kChannels];
  std::copy_n(image, sizeof columns, columns);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      for (int c = 0; c < kChannels; ++c) {
        image[(y * kSide + x) * kChannels + c] = columns[c * kPlane + x * kSide + y];
      }
    }
  }
}

}  // namespace

Status ReadSvhn(const std::string& path, Dataset* dataset) {
  CARILLON_ASSIGN_OR_RETURN(const std::vector<MatVariable> variables,
                            ScanMatFile(PosixEnv(), path));
  CARILLON_ASSIGN_OR_RETURN(const MatVariable x, Find(variables, path, "X"));
  CARILLON_ASSIGN_OR_RETURN(const MatVariable y, Find(variables, path, "y"));
  const auto dims_text = [](const MatVariable& v) { return Shape(std::span(v.dims)).ToString(); };
  if (x.dims.size() != 4 || x.dims[0] != kSide || x.dims[1] != kSide || x.dims[2] != kChannels ||
      x.dims[3] < 1) {
    return DataLoss(path, ": X at offset ", x.offset, " is ", dims_text(x),
                    ", expected [32,32,3,n]");
  }
  const int64_t n = x.dims[3];
  if (y.dims.size() != 2 || y.dims[0] * y.dims[1] != n) {
    return DataLoss(path, ": y at offset ", y.offset, " is ", dims_text(y), ", expected [", n,
                    ",1]");
  }
  CARILLON_ASSIGN_OR_RETURN(const MatioLibrary matio, LoadMatio());
  const MatFile file(matio.open(path.c_str(), MAT_ACC_RDONLY), matio.close);
  if (file == nullptr) return DataLoss(path, ": libmatio cannot open it");
  CARILLON_ASSIGN_OR_RETURN(std::vector<uint8_t> pixels,
                            Values<uint8_t>(matio, file.get(), path, x));
  CARILLON_ASSIGN_OR_RETURN(std::vector<int64_t> labels,
                            Values<int64_t>(matio, file.get(), path, y));
  for (int64_t i = 0; i < n; ++i) {
    int64_t& label = labels[static_cast<size_t>(i)];
    if (label < 1 || label > 10) {
      return DataLoss(path, ": label ", label, " of sample ", i, " in y (offset ", y.offset,
                      "), expected 1 to 10");
    }
    if (label == 10) label = 0;
    Transpose(pixels.data() + i * kPlane * kChannels);
  }
  dataset->images = TensorOf(std::move(pixels), Shape{n, kSide, kSide, kChannels});
  dataset->labels = TensorOf(std::move(labels), Shape{n});
  return absl::OkStatus();
}

}  // namespace carillon
