#include "report/canvas.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/font.h"

namespace carillon {
namespace {

double DistanceToSegment(double x, double y, const Point& a, const Point& b) {
  const double dx = b.x - a.x, dy = b.y - a.y;
  const double length2 = dx * dx + dy * dy;
  const double t =
      length2 > 0 ? std::clamp(((x - a.x) * dx + (y - a.y) * dy) / length2, 0.0, 1.0) : 0;
  return std::hypot(x - (a.x + t * dx), y - (a.y + t * dy));
}

void Blend(uint8_t* pixel, Color color, double alpha) {
  const auto mix = [alpha](uint8_t old, uint8_t fresh) {
    return static_cast<uint8_t>(std::lround(old + (fresh - old) * alpha));
  };
  pixel[0] = mix(pixel[0], color.r);
  pixel[1] = mix(pixel[1], color.g);
  pixel[2] = mix(pixel[2], color.b);
}

// How much of the interval [i, i + 1) lies in [low, high).
double Overlap(int i, double low, double high) {
  return std::clamp(std::min(i + 1.0, high) - std::max<double>(i, low), 0.0, 1.0);
}

// The pixels near some points, both ends included; none at first.
struct Box {
  void Include(const Point& point, double reach, const Picture& picture) {
    const auto pixel = [](double v, int limit) {
      return static_cast<int>(std::clamp<double>(std::floor(v), 0, limit - 1));
    };
    left = std::min(left, pixel(point.x - reach, picture.width));
    right = std::max(right, pixel(point.x + reach, picture.width));
    top = std::min(top, pixel(point.y - reach, picture.height));
    bottom = std::max(bottom, pixel(point.y + reach, picture.height));
  }
  int left = std::numeric_limits<int>::max(), right = -1;
  int top = std::numeric_limits<int>::max(), bottom = -1;
};

}  // namespace

Canvas::Canvas(int width, int height, Color background) : picture_(width, height, 3) {
  Fill(0, 0, width, height, background);
}

void Canvas::Fill(double x0, double y0, double x1, double y1, Color color, double alpha) {
  const int left = std::max(0, static_cast<int>(std::floor(x0)));
  const int right = std::min(picture_.width, static_cast<int>(std::ceil(x1)));
  const int top = std::max(0, static_cast<int>(std::floor(y0)));
  const int bottom = std::min(picture_.height, static_cast<int>(std::ceil(y1)));
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) {
      Blend(picture_.at(x, y), color, alpha * Overlap(x, x0, x1) * Overlap(y, y0, y1));
    }
  }
}

void Canvas::Stroke(const std::vector<Point>& points, double thickness, Color color, double alpha) {
  StrokeAll({points}, thickness, color, alpha);
}

void Canvas::StrokeAll(const std::vector<std::vector<Point>>& paths, double thickness, Color color,
                       double alpha) {
  const double reach = thickness / 2 + 1;
  Box all;  // only what the paths touch needs coverage
  for (const std::vector<Point>& path : paths) {
    for (const Point& point : path) all.Include(point, reach, picture_);
  }
  if (all.left > all.right || all.top > all.bottom) return;
  const auto width = static_cast<size_t>(all.right - all.left + 1);
  std::vector<float> coverage(width * static_cast<size_t>(all.bottom - all.top + 1), 0.0f);
  const auto at = [&](int x, int y) -> float& {
    return coverage[static_cast<size_t>(y - all.top) * width + static_cast<size_t>(x - all.left)];
  };
  for (const std::vector<Point>& path : paths) {
    for (size_t i = 0; i < std::max<size_t>(path.size(), 2) - 1 && !path.empty(); ++i) {
      const Point a = path[i], b = path[std::min(i + 1, path.size() - 1)];
      Box box;
      box.Include(a, reach, picture_);
      box.Include(b, reach, picture_);
      for (int y = box.top; y <= box.bottom; ++y) {
        for (int x = box.left; x <= box.right; ++x) {
          const double distance = DistanceToSegment(x + 0.5, y + 0.5, a, b);
          const auto c = static_cast<float>(std::clamp(thickness / 2 + 0.5 - distance, 0.0, 1.0));
          at(x, y) = std::max(at(x, y), c);
        }
      }
    }
  }
  for (int y = all.top; y <= all.bottom; ++y) {
    for (int x = all.left; x <= all.right; ++x) {
      if (at(x, y) > 0) Blend(picture_.at(x, y), color, alpha * at(x, y));
    }
  }
}

void Canvas::Text(double x, double y, double size, std::string_view text, Color color,
                  Align align) {
  const double scale = size / kCapHeight;
  if (align == Align::kCenter) x -= TextWidth(size, text) / 2;
  if (align == Align::kRight) x -= TextWidth(size, text);
  std::vector<std::vector<Point>> paths;
  for (const char c : text) {
    Glyph glyph = GlyphOf(c);
    for (std::vector<Point>& path : glyph.paths) {
      for (Point& point : path) point = {x + point.x * scale, y - point.y * scale};
      paths.push_back(std::move(path));
    }
    x += glyph.advance * scale;
  }
  StrokeAll(paths, std::max(1.0, size / 8), color, 1);
}

double Canvas::TextWidth(double size, std::string_view text) {
  double units = 0;
  for (const char c : text) units += GlyphOf(c).advance;
  return units * size / kCapHeight;
}

}  // namespace carillon
