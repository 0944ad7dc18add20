// The transforms of Winograd convolutions on tiles of 6x6 with the points 0, ±p, ±q and infinity:
// m outputs of a filter with r taps a side, where m + r = 7. Vectors hold 16 channels.
//
// In one dimension y = Aᵀ[(G g) ⊙ (Bᵀ d)]. With w(x) = x (x² - p²)(x² - q²), row i of Bᵀ holds the
// coefficients of w(x) / (x - aᵢ), the last row those of w; row i of G is (1, aᵢ, aᵢ², …) divided
// by w'(aᵢ), the last one (0, …, 1); Aᵀ has the column (1, aᵢ, aᵢ², …), the last one (0, …, 1).
// Gradients by the filter run the same bilinear form backwards: dg = Gᵀ[(A dy) ⊙ (Bᵀ d)].
#pragma once

#include "kernels/cpu/vec.h"

namespace carillon::winograd {

inline constexpr int kTile = 6;
inline constexpr int kElements = kTile * kTile;

// These points round well; 1 and 2, the textbook's, lose about two bits more.
inline constexpr float kP = 0.625f, kQ = 1.5f;
inline constexpr float kPP = kP * kP, kQQ = kQ * kQ;
// 1 / w'(a) for 0, ±p, ±q.
inline constexpr float kF0 = 1.0f / (kPP * kQQ);
inline constexpr float kFp = 1.0f / (2.0f * kPP * (kPP - kQQ));
inline constexpr float kFq = 1.0f / (2.0f * kQQ * (kQQ - kPP));

// Each takes and gives consecutive vectors, which must not overlap.

// Bᵀ d.
struct Input {
  static constexpr int kFrom = kTile, kTo = kTile;
  CARILLON_ALWAYS_INLINE static void Apply(const Vec* d, Vec* o) {
    o[0] = kPP * kQQ * d[0] - (kPP + kQQ) * d[2] + d[4];
    const Vec pe = d[4] - kQQ * d[2], po = kP * (d[3] - kQQ * d[1]);
    o[1] = pe + po;
    o[2] = pe - po;
    const Vec qe = d[4] - kPP * d[2], qo = kQ * (d[3] - kPP * d[1]);
    o[3] = qe + qo;
    o[4] = qe - qo;
    o[5] = kPP * kQQ * d[1] - (kPP + kQQ) * d[3] + d[5];
  }
};

// Aᵀ m: six products to 4 or 2 outputs.
template <int outputs>
struct Output {
  static constexpr int kFrom = kTile, kTo = outputs;
  CARILLON_ALWAYS_INLINE static void Apply(const Vec* m, Vec* o) {
    const Vec sp = m[1] + m[2], dp = m[1] - m[2];
    const Vec sq = m[3] + m[4], dq = m[3] - m[4];
    o[0] = m[0] + sp + sq;
    if constexpr (outputs == 2) {
      o[1] = kP * dp + kQ * dq + m[5];
    } else {
      o[1] = kP * dp + kQ * dq;
      o[2] = kPP * sp + kQQ * sq;
      o[3] = kP * kPP * dp + kQ * kQQ * dq + m[5];
    }
  }
};

// A y: the gradients of 4 or 2 outputs to six.
template <int outputs>
struct OutputGradient {
  static constexpr int kFrom = outputs, kTo = kTile;
  CARILLON_ALWAYS_INLINE static void Apply(const Vec* y, Vec* o) {
    Vec pe = y[0], po = kP * y[1], qe = y[0], qo = kQ * y[1];
    if constexpr (outputs == 4) {
      pe += kPP * y[2];
      qe += kQQ * y[2];
      po += kP * kPP * y[3];
      qo += kQ * kQQ * y[3];
    }
    o[0] = y[0];
    o[1] = pe + po;
    o[2] = pe - po;
    o[3] = qe + qo;
    o[4] = qe - qo;
    o[5] = y[outputs - 1];
  }
};

// G g: 3 or 5 taps to six.
template <int taps>
struct Filter {
  static constexpr int kFrom = taps, kTo = kTile;
  CARILLON_ALWAYS_INLINE static void Apply(const Vec* g, Vec* o) {
    Vec pe = g[0] + kPP * g[2], po = kP * g[1];
    Vec qe = g[0] + kQQ * g[2], qo = kQ * g[1];
    if constexpr (taps == 5) {
      pe += kPP * kPP * g[4];
      qe += kQQ * kQQ * g[4];
      po += kP * kPP * g[3];
      qo += kQ * kQQ * g[3];
    }
    o[0] = kF0 * g[0];
    o[1] = kFp * (pe + po);
    o[2] = kFp * (pe - po);
    o[3] = kFq * (qe + qo);
    o[4] = kFq * (qe - qo);
    o[5] = g[taps - 1];
  }
};

// Gᵀ m: six products to the gradients of 3 or 5 taps.
template <int taps>
struct FilterGradient {
  static constexpr int kFrom = kTile, kTo = taps;
  CARILLON_ALWAYS_INLINE static void Apply(const Vec* m, Vec* o) {
    const Vec sp = kFp * (m[1] + m[2]), dp = kFp * (m[1] - m[2]);
    const Vec sq = kFq * (m[3] + m[4]), dq = kFq * (m[3] - m[4]);
    o[0] = kF0 * m[0] + sp + sq;
    o[1] = kP * dp + kQ * dq;
    if constexpr (taps == 3) {
      o[2] = kPP * sp + kQQ * sq + m[5];
    } else {
      o[2] = kPP * sp + kQQ * sq;
      o[3] = kP * kPP * dp + kQ * kQQ * dq;
      o[4] = kPP * kPP * sp + kQQ * kQQ * sq + m[5];
    }
  }
};

// The two-dimensional transform: `Step` down the columns, then along the rows. load(i, j) gives an
// element, store(i, j, v) takes one.
template <typename Step, typename Load, typename Store>
CARILLON_ALWAYS_INLINE void Transform(const Load& load, const Store& store) {
  constexpr int kFrom = Step::kFrom, kTo = Step::kTo;
  Vec half[static_cast<size_t>(kTo)][static_cast<size_t>(kFrom)];
#pragma GCC unroll 8
  for (int j = 0; j < kFrom; ++j) {
    Vec in[static_cast<size_t>(kFrom)], out[static_cast<size_t>(kTo)];
#pragma GCC unroll 8
    for (int i = 0; i < kFrom; ++i) in[i] = load(i, j);
    Step::Apply(in, out);
#pragma GCC unroll 8
    for (int i = 0; i < kTo; ++i) half[i][j] = out[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < kTo; ++i) {
    Vec out[static_cast<size_t>(kTo)];
    Step::Apply(half[i], out);
#pragma GCC unroll 8
    for (int j = 0; j < kTo; ++j) store(i, j, out[j]);
  }
}

}  // namespace carillon::winograd
