// Winograd convolutions of our own: 3x3 filters in tiles of 4x4 outputs, 5x5 filters in tiles of
// 2x2. Tiles are transformed, multiplied and transformed back in small blocks, so that what lies
// between stays in the caches of one core. Tensors have their channels in blocks of 16; filters are
// row-major.
#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/parallel.h"
#include "kernels/cpu/conv_algorithm.h"
#include "kernels/cpu/image_layout.h"
#include "kernels/cpu/winograd_transforms.h"

namespace carillon {
namespace {

using winograd::kElements;
using winograd::kTile;

size_t Aligned(size_t bytes) { return (bytes + kTensorAlignment - 1) & ~(kTensorAlignment - 1); }
size_t FloatBytes(int64_t n) { return Aligned(static_cast<size_t>(n) * sizeof(float)); }

// The sums of one innermost product: so many tiles times one or two blocks of output channels.
// Their transformed tiles take 36 KB either way, which the first-level cache holds.
constexpr int64_t kTilesOfOne = 16, kTilesOfTwo = 8;
constexpr int64_t kSecondLevelBytes = 1 << 20;  // what we count on of the second-level cache

// How gradients by the filter add up their products. Either way the order of the additions, and so
// the result, is the same in every run with as many threads.
enum class FilterSums {
  // Every part of the tiles has sums of its own, which stay in the second-level cache.
  kOfParts,
  // The sums are too many for that: all threads transform tiles, then each multiplies all of them
  // for some of the sums.
  kTogether,
};
// The parts of one thread, as shares of its tiles: the small ones even out what a core loses while
// something else disturbs it.
constexpr int64_t kPartShares[] = {4, 2, 2};
constexpr int64_t kPartsOfThread = std::size(kPartShares), kShares = 8;
constexpr int64_t kStageBytes = 32 << 20;  // of transformed tiles that wait to be multiplied

// A convolution as the loops see it, whichever the pass: backward input is a convolution of the
// gradient with the filter turned around.
struct TilePlan {
  int64_t batch, in_height, in_width, out_height, out_width;
  int64_t pad_top, pad_left;
  int64_t in_blocks, out_blocks;  // of 16 channels
  int64_t tiles_y, tiles_x;
  int64_t lanes;        // blocks of output channels that are multiplied at once, 1 or 2
  int64_t block_tiles;  // tiles whose transforms are kept at once
  int64_t threads;
  FilterSums filter_sums = FilterSums::kOfParts;

  int64_t tiles() const { return batch * tiles_y * tiles_x; }
  int64_t blocks() const { return (tiles() + block_tiles - 1) / block_tiles; }
  int64_t groups() const { return out_blocks / lanes; }
  int64_t in_channels() const { return in_blocks * kVec; }
  int64_t out_channels() const { return out_blocks * kVec; }
  int64_t parts() const { return threads * kPartsOfThread; }
  // Where the share of `part` in so many tiles or blocks begins; the last ends where part parts()
  // would begin.
  int64_t PartBegin(int64_t part, int64_t of) const {
    int64_t shares = part / kPartsOfThread * kShares;
    for (int64_t i = 0; i < part % kPartsOfThread; ++i) shares += kPartShares[i];
    return of * shares / (threads * kShares);
  }
  int64_t filter_floats() const { return kElements * in_channels() * out_channels(); }
  // Transformed tiles: [element][channel block][tile][16].
  int64_t element_step(int64_t channel_blocks) const { return channel_blocks * block_tiles * kVec; }
  int64_t tile_floats(int64_t channel_blocks) const {
    return kElements * element_step(channel_blocks);
  }
  int64_t tiles_at_once() const { return lanes == 2 ? kTilesOfTwo : kTilesOfOne; }
};

TilePlan MakePlan(const ConvGeometry& g, ConvPass pass, int outputs, int threads) {
  const bool backward = pass == ConvPass::kBackwardInput;
  TilePlan p;
  p.batch = g.batch;
  const WindowDim &h = g.height, &w = g.width;
  p.in_height = backward ? h.output : h.input;
  p.in_width = backward ? w.output : w.input;
  p.out_height = backward ? h.input : h.output;
  p.out_width = backward ? w.input : w.output;
  p.pad_top = backward ? h.size - 1 - h.pad_before : h.pad_before;
  p.pad_left = backward ? w.size - 1 - w.pad_before : w.pad_before;
  p.in_blocks = (backward ? g.out_channels : g.in_channels) / kVec;
  p.out_blocks = (backward ? g.in_channels : g.out_channels) / kVec;
  p.tiles_y = (p.out_height + outputs - 1) / outputs;
  p.tiles_x = (p.out_width + outputs - 1) / outputs;
  p.lanes = p.out_blocks % 2 == 0 ? 2 : 1;
  p.threads = std::max(1, threads);
  p.block_tiles = p.tiles_at_once();
  const auto fitting = [&](int64_t bytes, int64_t channels, int64_t most) {
    const int64_t fit = bytes / (kElements * channels * static_cast<int64_t>(sizeof(float)));
    return std::clamp(fit / p.block_tiles, int64_t{1}, std::max<int64_t>(1, most / p.block_tiles)) *
           p.block_tiles;
  };
  constexpr int64_t kCachedTiles = kSecondLevelBytes * 3 / 4;
  const auto filter_bytes = static_cast<int64_t>(FloatBytes(p.filter_floats()));
  const bool large_filter = filter_bytes > kSecondLevelBytes;
  if (pass == ConvPass::kBackwardFilter) {
    // Every block reads and writes all sums once: the more tiles, the better.
    const int64_t channels = p.in_channels() + p.out_channels();
    const bool together = large_filter || filter_bytes * p.parts() > kStageBytes;
    p.filter_sums = together ? FilterSums::kTogether : FilterSums::kOfParts;
    p.block_tiles = together ? fitting(kStageBytes, channels, p.tiles() + p.block_tiles - 1)
                             : fitting(kCachedTiles, channels, 112);
  } else if (large_filter) {
    // The filter comes from far away: make it worth the way.
    p.block_tiles = fitting(kCachedTiles, p.in_channels(), 64);
  }
  return p;
}

// Where a tile stands.
struct TilePlace {
  int64_t image, y, x;  // of the first output
};

template <int outputs>
CARILLON_ALWAYS_INLINE TilePlace PlaceOf(const TilePlan& p, int64_t tile) {
  const int64_t per_image = p.tiles_y * p.tiles_x;
  const int64_t in_image = tile % per_image;
  return {tile / per_image, in_image / p.tiles_x * outputs, in_image % p.tiles_x * outputs};
}

alignas(64) constexpr float kZeros[kVec] = {};

// The vectors from (y, x) on of a plane of height x width vectors, zeros outside of it, through
// `Step` into to[element * step]. Gives their sum.
template <typename Step>
CARILLON_ALWAYS_INLINE Vec TransformTile(const float* plane, int64_t height, int64_t width,
                                         int64_t y, int64_t x, float* to, int64_t step) {
  constexpr int kSide = Step::kFrom;
  Vec sum{};
  const auto store = [&](int i, int j, const Vec& v) { Store(to + (i * kTile + j) * step, v); };
  const float* const from = plane + (y * width + x) * kVec;
  if (y >= 0 && x >= 0 && y + kSide <= height && x + kSide <= width) {
    winograd::Transform<Step>(
        [&](int i, int j) {
          const Vec v = Load(from + (i * width + j) * kVec);
          sum += v;
          return v;
        },
        store);
    return sum;
  }
  bool row_inside[static_cast<size_t>(kSide)], column_inside[static_cast<size_t>(kSide)];
  for (int i = 0; i < kSide; ++i) {
    row_inside[i] = y + i >= 0 && y + i < height;
    column_inside[i] = x + i >= 0 && x + i < width;
  }
  winograd::Transform<Step>(
      [&](int i, int j) {
        const Vec v =
            Load(row_inside[i] && column_inside[j] ? from + (i * width + j) * kVec : kZeros);
        sum += v;
        return v;
      },
      store);
  return sum;
}

// A tensor as tiles see it.
struct TiledTensor {
  const float* data;
  int64_t blocks, height, width;  // of 16 channels; of an image
  int64_t pad_top, pad_left;      // how far the first tile begins outside
};

// Tiles of a block, which itself begins with tile `block` of all.
struct TileRange {
  int64_t block, begin, end;
};

// Transforms a range of a block's tiles into [element][channel block][tile][16]. The places of
// tiles that do not exist become zeros. Adds up what it reads in sums[channel], unless that is
// null.
template <typename Step, int outputs>
void TransformTiles(const TilePlan& p, const TiledTensor& tensor, const TileRange& range,
                    float* out, float* sums) {
  const int64_t step = p.element_step(tensor.blocks);
  const int64_t plane = tensor.height * tensor.width * kVec;
  const int64_t end = std::min(range.end, p.tiles() - range.block);
  for (int64_t t = range.begin; t < end; ++t) {
    const TilePlace at = PlaceOf<outputs>(p, range.block + t);
    for (int64_t b = 0; b < tensor.blocks; ++b) {
      const Vec sum =
          TransformTile<Step>(tensor.data + (at.image * tensor.blocks + b) * plane, tensor.height,
                              tensor.width, at.y - tensor.pad_top, at.x - tensor.pad_left,
                              out + (b * p.block_tiles + t) * kVec, step);
      if (sums != nullptr) Store(sums + b * kVec, Load(sums + b * kVec) + sum);
    }
  }
  for (int64_t t = std::max(end, range.begin); t < range.end; ++t) {
    for (int64_t b = 0; b < tensor.blocks; ++b) {
      for (int e = 0; e < kElements; ++e)
        Store(out + e * step + (b * p.block_tiles + t) * kVec, Vec{});
    }
  }
}

// products[tile][lanes * 16] = sum over channels of tiles[channel block][tile][16] times
// filter[channel][lanes * 16], for `count` tiles in a row. The products may lie over the tiles.
template <int count, int lanes>
void Multiply(const float* tiles, int64_t in_blocks, int64_t block_tiles, const float* filter,
              float* products) {
  Vec sums[static_cast<size_t>(count)][static_cast<size_t>(lanes)] = {};
  for (int64_t b = 0; b < in_blocks; ++b) {
    const float* values = tiles + b * block_tiles * kVec;
    for (int64_t c = 0; c < kVec; ++c, filter += lanes * kVec) {
      Vec weights[static_cast<size_t>(lanes)];
#pragma GCC unroll 2
      for (int k = 0; k < lanes; ++k) weights[k] = Load(filter + k * kVec);
#pragma GCC unroll 16
      for (int t = 0; t < count; ++t) {
        const Vec value = Splat(values[t * kVec + c]);
#pragma GCC unroll 2
        for (int k = 0; k < lanes; ++k) sums[t][k] += value * weights[k];
      }
    }
  }
#pragma GCC unroll 16
  for (int t = 0; t < count; ++t) {
#pragma GCC unroll 2
    for (int k = 0; k < lanes; ++k) Store(products + (t * lanes + k) * kVec, sums[t][k]);
  }
}

// sums[channel][lanes * 16] = (fresh ? 0 : sums) + sum over `tiles` tiles of inputs[tile][channel]
// times grads[k][tile][16], for `count` channels of one block.
template <int count, int lanes>
void MultiplyGradient(const float* inputs, const float* grads, int64_t block_tiles, int64_t tiles,
                      bool fresh, float* sums) {
  Vec total[static_cast<size_t>(count)][static_cast<size_t>(lanes)];
#pragma GCC unroll 16
  for (int c = 0; c < count; ++c) {
#pragma GCC unroll 2
    for (int k = 0; k < lanes; ++k)
      total[c][k] = fresh ? Vec{} : Load(sums + (c * lanes + k) * kVec);
  }
  for (int64_t t = 0; t < tiles; ++t) {
    Vec g[static_cast<size_t>(lanes)];
#pragma GCC unroll 2
    for (int k = 0; k < lanes; ++k) g[k] = Load(grads + (k * block_tiles + t) * kVec);
#pragma GCC unroll 16
    for (int c = 0; c < count; ++c) {
      const Vec value = Splat(inputs[t * kVec + c]);
#pragma GCC unroll 2
      for (int k = 0; k < lanes; ++k) total[c][k] += value * g[k];
    }
  }
#pragma GCC unroll 16
  for (int c = 0; c < count; ++c) {
#pragma GCC unroll 2
    for (int k = 0; k < lanes; ++k) Store(sums + (c * lanes + k) * kVec, total[c][k]);
  }
}

// Filters lie as [element][group of `lanes` output blocks][input channel][lanes * 16].
int64_t FilterOffset(const TilePlan& p, int64_t channel, int64_t out_block) {
  return (out_block / p.lanes * p.in_channels() + channel) * p.lanes * kVec +
         out_block % p.lanes * kVec;
}

template <int outputs>
class WinogradConv final : public ConvAlgorithm {
 public:
  static constexpr int kTaps = kTile + 1 - outputs;

  WinogradConv(const ConvProblem& problem, Layout input_layout, Layout output_layout, int threads)
      : pass_(problem.pass),
        has_bias_(problem.has_bias),
        has_relu_(problem.has_relu),
        plan_(MakePlan(problem.geometry, pass_, outputs, threads)) {
    name_ = "winograd/own";
    input_layout_ = std::move(input_layout);
    output_layout_ = std::move(output_layout);
    const bool by_filter = pass_ == ConvPass::kBackwardFilter;
    filter_bytes_ = FloatBytes(plan_.filter_floats());
    turned_bytes_ = pass_ == ConvPass::kBackwardInput
                        ? FloatBytes(kTaps * kTaps * plan_.in_channels() * plan_.out_channels())
                        : 0;
    // When one group of output blocks is all there is, its products take the place of the tiles.
    in_place_ = !by_filter && plan_.groups() == 1 && plan_.in_blocks >= plan_.lanes &&
                plan_.block_tiles == plan_.tiles_at_once();
    tile_bytes_ = FloatBytes(plan_.tile_floats(plan_.in_blocks));
    product_bytes_ = by_filter ? FloatBytes(plan_.tile_floats(plan_.out_blocks))
                     : in_place_
                         ? 0
                         : FloatBytes(kElements * plan_.tiles_at_once() * plan_.lanes * kVec);
    bias_bytes_ = by_filter ? FloatBytes(plan_.out_channels()) : 0;
    const bool in_parts = by_filter && plan_.filter_sums == FilterSums::kOfParts;
    const auto parts = static_cast<size_t>(plan_.parts());
    filters_ = in_parts ? parts : 1;
    const auto memories = by_filter && !in_parts ? 1 : static_cast<size_t>(plan_.threads);
    scratch_bytes_ = filters_ * filter_bytes_ + turned_bytes_ + parts * bias_bytes_ +
                     memories * (tile_bytes_ + product_bytes_);
  }

  Status Run(const Buffers& b) override {
    auto* const scratch = static_cast<char*>(b.scratch);
    if (pass_ == ConvPass::kBackwardFilter) {
      BackwardFilter(b, scratch);
      return absl::OkStatus();
    }
    const auto* filter = static_cast<const float*>(b.filter);
    if (pass_ == ConvPass::kBackwardInput) {
      auto* const turned = reinterpret_cast<float*>(scratch + filter_bytes_);
      TurnFilter(filter, turned);
      filter = turned;
    }
    auto* const transformed = reinterpret_cast<float*>(scratch);
    TransformFilter(filter, transformed);
    const bool forward = pass_ == ConvPass::kForward;
    Convolve(static_cast<const float*>(forward ? b.input : b.output), transformed,
             static_cast<const float*>(b.bias), scratch + filter_bytes_ + turned_bytes_,
             static_cast<float*>(forward ? b.output : b.input));
    return absl::OkStatus();
  }

 private:
  // What one thread works on.
  struct ThreadMemory {
    float* tiles;     // transformed inputs
    float* products;  // or transformed gradients
  };

  ThreadMemory MemoryOf(char* scratch, int thread) const {
    char* const mine = scratch + static_cast<size_t>(thread) * (tile_bytes_ + product_bytes_);
    return {reinterpret_cast<float*>(mine),
            reinterpret_cast<float*>(in_place_ ? mine : mine + tile_bytes_)};
  }

  void TransformInput(const float* input, const TileRange& range, float* tiles) const {
    const TiledTensor tensor{input,          plan_.in_blocks, plan_.in_height,
                             plan_.in_width, plan_.pad_top,   plan_.pad_left};
    TransformTiles<winograd::Input, outputs>(plan_, tensor, range, tiles, nullptr);
  }

  // The filter of backward input: taps in reverse order, channels exchanged.
  void TurnFilter(const float* filter, float* turned) const {
    const int64_t ins = plan_.in_channels(), outs = plan_.out_channels();
    ParallelFor(kTaps * kTaps, 1 + 16384 / (ins * outs), [&](int64_t begin, int64_t end) {
      for (int64_t tap = begin; tap < end; ++tap) {
        const float* from = filter + (kTaps * kTaps - 1 - tap) * ins * outs;
        float* to = turned + tap * ins * outs;
        // In strips of 16, so that both sides stay in the cache.
        for (int64_t i = 0; i < ins; i += kVec) {
          for (int64_t o = 0; o < outs; ++o) {
            for (int64_t k = i; k < i + kVec; ++k) to[k * outs + o] = from[o * ins + k];
          }
        }
      }
    });
  }

  // G g Gᵀ for every pair of channels.
  void TransformFilter(const float* filter, float* transformed) const {
    const int64_t ins = plan_.in_channels(), outs = plan_.out_channels();
    ParallelFor(ins, 1 + 1024 / outs, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        for (int64_t k = 0; k < plan_.out_blocks; ++k) {
          const float* from = filter + c * outs + k * kVec;
          float* to = transformed + FilterOffset(plan_, c, k);
          winograd::Transform<winograd::Filter<kTaps>>(
              [&](int i, int j) { return Load(from + (i * kTaps + j) * ins * outs); },
              [&](int i, int j, const Vec& v) { Store(to + (i * kTile + j) * ins * outs, v); });
        }
      }
    });
  }

  void Convolve(const float* input, const float* filter, const float* bias, char* scratch,
                float* output) const {
    ParallelForWithThread(plan_.blocks(), 1, [&](int thread, int64_t begin, int64_t end) {
      const ThreadMemory memory = MemoryOf(scratch, thread);
      for (int64_t block = begin; block < end; ++block)
        ConvolveBlock(input, filter, bias, block * plan_.block_tiles, memory, output);
    });
  }

  // The tiles from `first` on.
  void ConvolveBlock(const float* input, const float* filter, const float* bias, int64_t first,
                     const ThreadMemory& memory, float* output) const {
    TransformInput(input, {first, 0, plan_.block_tiles}, memory.tiles);
    const int64_t count = std::min(plan_.block_tiles, plan_.tiles() - first);
    for (int64_t group = 0; group < plan_.groups(); ++group) {
      for (int64_t t = 0; t < count; t += plan_.tiles_at_once()) {
        plan_.lanes == 2 ? MultiplyGroup<kTilesOfTwo, 2>(memory, filter, group, t)
                         : MultiplyGroup<kTilesOfOne, 1>(memory, filter, group, t);
        StoreTiles(memory.products, first + t, std::min(plan_.tiles_at_once(), count - t), group,
                   bias, output);
      }
    }
  }

  // products[element][tile][lanes * 16] of one group of output blocks, for the tiles from `t` on.
  template <int at_once, int lanes>
  void MultiplyGroup(const ThreadMemory& memory, const float* filter, int64_t group,
                     int64_t t) const {
    const int64_t ins = plan_.in_channels();
    for (int e = 0; e < kElements; ++e) {
      const float* tiles = memory.tiles + e * plan_.element_step(plan_.in_blocks) + t * kVec;
      const float* weights = filter + e * ins * plan_.out_channels() + group * ins * lanes * kVec;
      Multiply<at_once, lanes>(tiles, plan_.in_blocks, plan_.block_tiles, weights,
                               memory.products + e * product_step());
    }
  }
  int64_t product_step() const {
    return in_place_ ? plan_.element_step(plan_.in_blocks)
                     : plan_.tiles_at_once() * plan_.lanes * kVec;
  }

  void StoreTiles(const float* products, int64_t first, int64_t count, int64_t group,
                  const float* bias, float* output) const {
    const int64_t plane = plan_.out_height * plan_.out_width * kVec;
    for (int64_t k = 0; k < plan_.lanes; ++k) {
      const int64_t block = group * plan_.lanes + k;
      const Vec shift = bias == nullptr ? Vec{} : Load(bias + block * kVec);
      for (int64_t t = 0; t < count; ++t) {
        const TilePlace at = PlaceOf<outputs>(plan_, first + t);
        StoreTile(products + (t * plan_.lanes + k) * kVec, at, shift,
                  output + (at.image * plan_.out_blocks + block) * plane);
      }
    }
  }

  // Aᵀ m A, the bias and the Relu, into the output.
  CARILLON_ALWAYS_INLINE void StoreTile(const float* products, const TilePlace& at,
                                        const Vec& shift, float* plane) const {
    const int64_t step = product_step();
    const Vec floor = has_relu_ ? Vec{} : Splat(-std::numeric_limits<float>::infinity());
    const auto load = [&](int i, int j) { return Load(products + (i * kTile + j) * step); };
    float* const to = plane + (at.y * plan_.out_width + at.x) * kVec;
    const auto store = [&](int i, int j, const Vec& v) {
      const Vec sum = v + shift;
      Store(to + (i * plan_.out_width + j) * kVec, sum < floor ? floor : sum);
    };
    const int64_t rows = plan_.out_height - at.y, columns = plan_.out_width - at.x;
    if (rows >= outputs && columns >= outputs) {
      winograd::Transform<winograd::Output<outputs>>(load, store);
    } else {
      winograd::Transform<winograd::Output<outputs>>(load, [&](int i, int j, const Vec& v) {
        if (i < rows && j < columns) store(i, j, v);
      });
    }
  }

  void BackwardFilter(const Buffers& b, char* scratch) const {
    auto* const sums = reinterpret_cast<float*>(scratch);  // [filters_][filter]
    auto* const bias_sums = reinterpret_cast<float*>(scratch + filters_ * filter_bytes_);  // [part]
    const int64_t bias_step = static_cast<int64_t>(bias_bytes_ / sizeof(float));
    std::fill_n(bias_sums, plan_.parts() * bias_step, 0.0f);
    char* const rest = reinterpret_cast<char*>(bias_sums + plan_.parts() * bias_step);
    const auto transform = [&](const TileRange& range, int64_t part, const ThreadMemory& memory) {
      TransformInput(static_cast<const float*>(b.input), range, memory.tiles);
      TransformGradient(static_cast<const float*>(b.output), range, memory.products,
                        has_bias_ ? bias_sums + part * bias_step : nullptr);
    };
    plan_.filter_sums == FilterSums::kOfParts ? AddUpInParts(transform, rest, sums)
                                              : AddUpTogether(transform, rest, sums);
    StoreFilterGradient(sums, static_cast<float*>(b.filter));
    if (!has_bias_) return;
    auto* const bias = static_cast<float*>(b.bias);
    std::copy_n(bias_sums, plan_.out_channels(), bias);
    for (int64_t part = 1; part < plan_.parts(); ++part) {
      for (int64_t k = 0; k < plan_.out_channels(); ++k) bias[k] += bias_sums[part * bias_step + k];
    }
  }

  void TransformGradient(const float* gradient, const TileRange& range, float* tiles,
                         float* bias_sums) const {
    const TiledTensor tensor{gradient, plan_.out_blocks, plan_.out_height, plan_.out_width, 0, 0};
    TransformTiles<winograd::OutputGradient<outputs>, outputs>(plan_, tensor, range, tiles,
                                                               bias_sums);
  }

  // Both call transform(range, part, memory) for every range of tiles.
  template <typename Transform>
  void AddUpInParts(const Transform& transform, char* scratch, float* sums) const {
    ParallelForWithThread(plan_.parts(), 1, [&](int thread, int64_t begin, int64_t end) {
      const ThreadMemory memory = MemoryOf(scratch, thread);
      for (int64_t part = begin; part < end; ++part) {
        float* const mine = sums + part * filter_step();
        const int64_t first = plan_.PartBegin(part, plan_.blocks());
        const int64_t last = plan_.PartBegin(part + 1, plan_.blocks());
        if (first == last) std::fill_n(mine, plan_.filter_floats(), 0.0f);
        for (int64_t block = first; block < last; ++block) {
          transform({block * plan_.block_tiles, 0, plan_.block_tiles}, part, memory);
          for (int e = 0; e < kElements; ++e) {
            for (int64_t group = 0; group < plan_.groups(); ++group)
              AddProducts(memory, e, group, plan_.block_tiles, block == first, mine);
          }
        }
      }
    });
  }

  template <typename Transform>
  void AddUpTogether(const Transform& transform, char* scratch, float* sums) const {
    const ThreadMemory memory = MemoryOf(scratch, 0);
    for (int64_t first = 0; first < plan_.tiles(); first += plan_.block_tiles) {
      const int64_t count = std::min(plan_.block_tiles, plan_.tiles() - first);
      ParallelFor(plan_.parts(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part)
          transform({first, plan_.PartBegin(part, count), plan_.PartBegin(part + 1, count)}, part,
                    memory);
      });
      ParallelFor(kElements * plan_.groups(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          AddProducts(memory, i / plan_.groups(), i % plan_.groups(), count, first == 0, sums);
      });
    }
  }

  // The products of one element and one group of output blocks.
  void AddProducts(const ThreadMemory& memory, int64_t element, int64_t group, int64_t tiles,
                   bool fresh, float* sums) const {
    plan_.lanes == 2 ? AddProducts<8, 2>(memory, element, group, tiles, fresh, sums)
                     : AddProducts<16, 1>(memory, element, group, tiles, fresh, sums);
  }
  template <int at_once, int lanes>
  void AddProducts(const ThreadMemory& memory, int64_t element, int64_t group, int64_t tiles,
                   bool fresh, float* sums) const {
    const float* const inputs = memory.tiles + element * plan_.element_step(plan_.in_blocks);
    const float* const grads = memory.products + element * plan_.element_step(plan_.out_blocks) +
                               group * lanes * plan_.block_tiles * kVec;
    float* const to = sums + element * plan_.in_channels() * plan_.out_channels();
    for (int64_t c = 0; c < plan_.in_channels(); c += at_once)
      MultiplyGradient<at_once, lanes>(inputs + c / kVec * plan_.block_tiles * kVec + c % kVec,
                                       grads, plan_.block_tiles, tiles, fresh,
                                       to + FilterOffset(plan_, c, group * lanes));
  }
  int64_t filter_step() const { return static_cast<int64_t>(filter_bytes_ / sizeof(float)); }

  // Gᵀ m G of all sums together.
  void StoreFilterGradient(const float* sums, float* filter) const {
    const int64_t ins = plan_.in_channels(), outs = plan_.out_channels();
    ParallelFor(ins, 1 + 1024 / outs, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        for (int64_t k = 0; k < plan_.out_blocks; ++k) {
          const float* from = sums + FilterOffset(plan_, c, k);
          float* to = filter + c * outs + k * kVec;
          winograd::Transform<winograd::FilterGradient<kTaps>>(
              [&](int i, int j) {
                const float* element = from + (i * kTile + j) * ins * outs;
                Vec sum = Load(element);
                for (size_t i = 1; i < filters_; ++i)
                  sum += Load(element + static_cast<int64_t>(i) * filter_step());
                return sum;
              },
              [&](int i, int j, const Vec& v) { Store(to + (i * kTaps + j) * ins * outs, v); });
        }
      }
    });
  }

  const ConvPass pass_;
  const bool has_bias_, has_relu_;
  const TilePlan plan_;
  bool in_place_;
  size_t filters_;  // 1, or the sums of how many parts
  size_t filter_bytes_, turned_bytes_, tile_bytes_, product_bytes_, bias_bytes_;
};

}  // namespace

ConvAlgorithmResult MakeOwnWinogradConv(const ConvProblem& problem) {
  const ConvGeometry& g = problem.geometry;
  const auto fits = [](const WindowDim& w) {
    return w.stride == 1 && w.dilation == 1 && w.pad_before < w.size;
  };
  if (g.groups != 1 || problem.depthwise || g.height.size != g.width.size || !fits(g.height) ||
      !fits(g.width) || (g.height.size != 3 && g.height.size != 5)) {
    return Unimplemented("only dense 3x3 and 5x5 filters with stride 1");
  }
  if (g.in_channels % kVec != 0 || g.out_channels % kVec != 0)
    return Unimplemented("only multiples of ", kVec, " channels");
  Layout input = BlockedImageLayout(g.InputShape(), g.format, kVec);
  Layout output = BlockedImageLayout(g.OutputShape(), g.format, kVec);
  const int threads = KernelThreads();
  std::unique_ptr<ConvAlgorithm> algorithm;
  if (g.height.size == 3) {
    algorithm =
        std::make_unique<WinogradConv<4>>(problem, std::move(input), std::move(output), threads);
  } else {
    algorithm =
        std::make_unique<WinogradConv<2>>(problem, std::move(input), std::move(output), threads);
  }
  return algorithm;
}

}  // namespace carillon
