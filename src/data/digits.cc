#include "data/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "data/random.h"
#include "data/strokes.h"

namespace carillon {
namespace {

constexpr float kPi = 3.14159265f;
constexpr int kStepsPerSpan = 4;  // line segments between two points of a stroke

// Rows are wider than the picture, so that a line is drawn in whole blocks of pixels, which compile
// to vector instructions.
constexpr int kBlock = 8, kRow = 40;
static_assert(kRow >= kDigitSize + kBlock && kRow % kBlock == 0);

struct Paper {
  std::array<float, kDigitSize * kRow> ink{};  // 0 to 1
};

struct Pen {
  float radius = 1;    // half the width of the line, in pixels
  float softness = 1;  // how many pixels the edge takes to fade
  float ink = 1;
};

// std::clamp takes references, which the compiler does not turn into vector instructions.
inline float Between0And1(float v) {
  v = v > 0 ? v : 0;
  return v < 1 ? v : 1;
}

// Inks all pixels near the line from a to b; where lines overlap, the darker counts.
void DrawLine(PenPoint a, PenPoint b, float radius, const Pen& pen, Paper* paper) {
  // The ink fades with the square of the distance: at the edge that is as good as the distance
  // itself, and needs no root.
  const float radius2 = radius * radius, fade = 1 / (2 * radius * pen.softness);
  const float reach = std::sqrt(radius2 + radius * pen.softness);
  const auto first = [&](float u, float v) {
    return std::max(0.0f, std::ceil(std::min(u, v) - reach));
  };
  const auto last = [&](float u, float v) {
    return std::min(kDigitSize - 1.0f, std::floor(std::max(u, v) + reach));
  };
  const int left = static_cast<int>(first(a.x, b.x)), right = static_cast<int>(last(a.x, b.x));
  const int top = static_cast<int>(first(a.y, b.y)), bottom = static_cast<int>(last(a.y, b.y));
  const float dx = b.x - a.x, dy = b.y - a.y;
  const float strength = pen.ink;
  const float inverse_length2 = 1 / std::max(dx * dx + dy * dy, 1e-6f);
  for (int y = top; y <= bottom; ++y) {
    const float py = static_cast<float>(y) - a.y;
    for (int x = left; x <= right; x += kBlock) {
      float* ink = &paper->ink[static_cast<size_t>(y * kRow + x)];
      const float start = static_cast<float>(x) - a.x;
      for (int k = 0; k < kBlock; ++k) {
        const float px = start + static_cast<float>(k);
        const float t = Between0And1((px * dx + py * dy) * inverse_length2);
        const float ex = px - t * dx, ey = py - t * dy;
        const float edge = (radius2 - (ex * ex + ey * ey)) * fade + 0.5f;
        const float cover = Between0And1(edge) * strength;
        ink[k] = ink[k] > cover ? ink[k] : cover;
      }
    }
  }
}

// How one writer, once, puts the ideal strokes on paper.
struct Hand {
  PenPoint Place(PenPoint p) const {
    // A slow wave bends the strokes; slant, turn and size follow.
    const float wave_x = bend * std::sin(bend_phase + bend_rate * p.y);
    const float wave_y = bend * std::sin(bend_phase * 1.7f + bend_rate * p.x);
    const float x = p.x + wave_x, y = p.y + wave_y;
    return {center_x + xx * x + xy * y, center_y + yx * x + yy * y};
  }
  float xx, xy, yx, yy;
  float center_x, center_y;
  float bend, bend_phase, bend_rate;
  float tremor;    // how far points land from where they were meant, in units of the digit
  float pressure;  // how much the line's width varies along a stroke
};

Hand RandomHand(RandomStream* random) {
  Hand hand;
  const float height = random->Uniform(15.0f, 21.5f);
  const float width = height * random->Uniform(0.55f, 1.0f);
  const float turn = 0.13f * random->Normal();
  const float slant = -0.10f + 0.22f * random->Normal();
  const float c = std::cos(turn), s = std::sin(turn);
  hand.xx = c * width;
  hand.xy = (c * slant - s) * height;
  hand.yx = s * width;
  hand.yy = (s * slant + c) * height;
  const float middle = (kDigitSize - 1) / 2.0f;
  hand.center_x = middle + 1.3f * random->Normal();
  hand.center_y = middle + 1.1f * random->Normal();
  hand.bend = 0.035f * random->Uniform();
  hand.bend_phase = random->Uniform(0, 2 * kPi);
  hand.bend_rate = random->Uniform(2.0f, 6.0f);
  hand.tremor = random->Uniform(0.01f, 0.045f);
  hand.pressure = random->Uniform(0.0f, 0.35f);
  return hand;
}

Pen RandomPen(RandomStream* random) {
  Pen pen;
  pen.radius = random->Uniform(0.7f, 1.75f);
  pen.softness = random->Uniform(0.8f, 1.5f);
  pen.ink = random->Uniform(0.75f, 1.0f);
  return pen;
}

// The point at t in [0, 1] between b and c on the smooth curve through a, b, c, d (Catmull and
// Rom's).
PenPoint OnCurve(PenPoint a, PenPoint b, PenPoint c, PenPoint d, float t) {
  const float t2 = t * t, t3 = t2 * t;
  const float wa = -0.5f * t3 + t2 - 0.5f * t, wb = 1.5f * t3 - 2.5f * t2 + 1;
  const float wc = -1.5f * t3 + 2 * t2 + 0.5f * t, wd = 0.5f * t3 - 0.5f * t2;
  return {wa * a.x + wb * b.x + wc * c.x + wd * d.x, wa * a.y + wb * b.y + wc * c.y + wd * d.y};
}

void WriteStroke(std::span<const PenPoint> ideal, const Hand& hand, const Pen& pen,
                 RandomStream* random, Paper* paper) {
  constexpr size_t kMostPoints = 16;
  std::array<PenPoint, kMostPoints> points;
  const size_t n = std::min(ideal.size(), kMostPoints);
  for (size_t i = 0; i < n; ++i) {
    points[i] = hand.Place(
        {ideal[i].x + hand.tremor * random->Normal(), ideal[i].y + hand.tremor * random->Normal()});
  }
  const float phase = random->Uniform(0, 2 * kPi);
  PenPoint last = points[0];
  for (size_t i = 0; i + 1 < n; ++i) {
    const PenPoint before = points[i == 0 ? 0 : i - 1], after = points[std::min(i + 2, n - 1)];
    const float radius =
        pen.radius * (1 + hand.pressure * std::sin(phase + 1.3f * static_cast<float>(i)));
    for (int step = 1; step <= kStepsPerSpan; ++step) {
      const PenPoint next = OnCurve(before, points[i], points[i + 1], after,
                                    static_cast<float>(step) / kStepsPerSpan);
      DrawLine(last, next, radius, pen, paper);
      last = next;
    }
  }
}

void WriteDigit(int digit, const Hand& hand, const Pen& pen, RandomStream* random, Paper* paper) {
  const std::span<const Handwriting> ways = WaysToWrite(digit);
  for (const PenStroke& stroke : ways[random->Below(ways.size())]) {
    WriteStroke(stroke.points, hand, pen, random, paper);
  }
}

// What else is on the paper: the edge of a neighbouring digit, a stray line, dots.
void AddClutter(RandomStream* random, Paper* paper) {
  if (random->Chance(0.25f)) {
    Hand hand = RandomHand(random);
    hand.center_x += random->Chance(0.5f) ? -20.0f : 20.0f;
    Pen pen = RandomPen(random);
    WriteDigit(static_cast<int>(random->Below(10)), hand, pen, random, paper);
  }
  if (random->Chance(0.25f)) {
    Pen pen = RandomPen(random);
    pen.radius *= 0.6f;
    pen.ink *= 0.8f;
    const PenPoint from{random->Uniform(0, 27), random->Uniform(0, 27)};
    const float angle = random->Uniform(0, 2 * kPi), length = random->Uniform(3, 10);
    DrawLine(from, {from.x + length * std::cos(angle), from.y + length * std::sin(angle)},
             pen.radius, pen, paper);
  }
  const auto dots = random->Below(4);
  for (uint64_t i = 0; i < dots; ++i) {
    Pen pen;
    pen.radius = random->Uniform(0.3f, 0.9f);
    pen.ink = random->Uniform(0.3f, 0.9f);
    const PenPoint at{random->Uniform(0, 27), random->Uniform(0, 27)};
    DrawLine(at, at, pen.radius, pen, paper);
  }
}

// The grain of the paper: noise for each pixel, up to half of `strength` in either direction.
void AddGrain(float strength, RandomStream* random, Paper* paper) {
  constexpr size_t kWord = sizeof(uint64_t);
  for (size_t i = 0; i < paper->ink.size(); i += kWord) {
    std::array<uint8_t, kWord> bytes;
    const uint64_t bits = random->Next();
    std::memcpy(bytes.data(), &bits, kWord);
    for (size_t k = 0; k < kWord; ++k) {
      paper->ink[i + k] += strength * (static_cast<float>(bytes[k]) * (1 / 255.0f) - 0.5f);
    }
  }
}

}  // namespace

int DrawDigit(uint64_t seed, uint64_t index, std::span<uint8_t, kDigitPixels> pixels) {
  RandomStream random({seed, index});
  const int digit = static_cast<int>(random.Below(10));
  Paper paper;
  const Hand hand = RandomHand(&random);
  const Pen pen = RandomPen(&random);
  WriteDigit(digit, hand, pen, &random, &paper);
  AddClutter(&random, &paper);

  AddGrain(random.Uniform(0.0f, 0.35f), &random, &paper);
  for (int y = 0; y < kDigitSize; ++y) {
    std::array<uint8_t, kRow> row;
    for (int x = 0; x < kRow; ++x) {
      row[static_cast<size_t>(x)] = static_cast<uint8_t>(
          Between0And1(paper.ink[static_cast<size_t>(y * kRow + x)]) * 255 + 0.5f);
    }
    std::copy_n(row.begin(), kDigitSize, pixels.begin() + y * kDigitSize);
  }
  return digit;
}

}  // namespace carillon
