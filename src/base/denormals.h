// Numbers too small for the usual form of a float cost a hundred times what others do; the averages
// of an optimizer whose gradient is zero soon become such. Kernels count them as zero, as
// TensorFlow's do.
#pragma once

#ifdef __SSE__
#include <immintrin.h>
#endif

namespace carillon {

// While one lives, its thread counts denormal numbers as zero.
class FlushDenormals {
 public:
#ifdef __SSE__
  FlushDenormals() : before_(_mm_getcsr()) {
    _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero);
  }
  ~FlushDenormals() { _mm_setcsr(before_); }
#else
  FlushDenormals() = default;
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

#ifdef __SSE__
 private:
  static constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  const unsigned before_;
#endif
};

}  // namespace carillon
