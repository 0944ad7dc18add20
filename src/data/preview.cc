#include "data/preview.h"

#include <algorithm>

#include "report/canvas.h"

namespace carillon {
namespace {

constexpr Color kGround{17, 20, 26}, kCaption{176, 182, 192};
constexpr int kGap = 8, kCaptionHeight = 18;
constexpr double kCaptionSize = 7;

// The class of a sample in at most `width` pixels.
std::string CaptionOf(const Dataset& dataset, int64_t index, double width) {
  std::string caption =
      dataset.class_names[static_cast<size_t>(dataset.labels.data<int64_t>()[index])];
  while (caption.size() > 1 && Canvas::TextWidth(kCaptionSize, caption) > width) caption.pop_back();
  return caption;
}

}  // namespace

Picture PictureOf(const Dataset& dataset, int64_t index) {
  const Tensor& images = dataset.images;
  Picture picture(static_cast<int>(images.dim(2)), static_cast<int>(images.dim(1)),
                  static_cast<int>(images.dim(3)));
  const auto bytes = static_cast<int64_t>(picture.pixels.size());
  std::copy_n(images.data<uint8_t>() + index * bytes, bytes, picture.pixels.begin());
  return picture;
}

Picture Halved(const Picture& picture) {
  Picture half((picture.width + 1) / 2, (picture.height + 1) / 2, picture.channels);
  for (int y = 0; y < half.height; ++y) {
    for (int x = 0; x < half.width; ++x) {
      for (int c = 0; c < half.channels; ++c) {
        int sum = 0;
        for (const int dy : {0, 1}) {
          for (const int dx : {0, 1}) {
            sum += picture.at(std::min(2 * x + dx, picture.width - 1),
                              std::min(2 * y + dy, picture.height - 1))[c];
          }
        }
        half.at(x, y)[c] = static_cast<uint8_t>((sum + 2) / 4);
      }
    }
  }
  return half;
}

Picture ContactSheet(const Dataset& dataset, std::span<const int64_t> indices, int columns,
                     int zoom) {
  const int n = static_cast<int>(indices.size());
  columns = std::clamp(columns, 1, std::max(n, 1));
  const int rows = (n + columns - 1) / columns;
  const int cell_width = static_cast<int>(dataset.images.dim(2)) * zoom + kGap;
  const int cell_height = static_cast<int>(dataset.images.dim(1)) * zoom + kCaptionHeight;
  Canvas canvas(columns * cell_width + kGap, rows * cell_height + kGap, kGround);
  for (int i = 0; i < n; ++i) {
    const int64_t index = indices[static_cast<size_t>(i)];
    const Picture picture = PictureOf(dataset, index);
    const int left = kGap + i % columns * cell_width, top = kGap + i / columns * cell_height;
    for (int y = 0; y < picture.height; ++y) {
      for (int x = 0; x < picture.width; ++x) {
        const uint8_t* p = picture.at(x, y);
        const Color color =
            picture.channels == 1 ? Color{p[0], p[0], p[0]} : Color{p[0], p[1], p[2]};
        canvas.Fill(left + x * zoom, top + y * zoom, left + (x + 1) * zoom, top + (y + 1) * zoom,
                    color);
      }
    }
    const double width = picture.width * zoom;
    canvas.Text(left + width / 2, top + picture.height * zoom + 12, kCaptionSize,
                CaptionOf(dataset, index, width), kCaption, Align::kCenter);
  }
  return canvas.picture();
}

std::vector<int64_t> PickSamples(const Dataset& dataset, int64_t first, int64_t count,
                                 int64_t wanted_class) {
  std::vector<int64_t> picked;
  for (int64_t i = std::max<int64_t>(first, 0);
       i < dataset.size() && static_cast<int64_t>(picked.size()) < count; ++i) {
    if (wanted_class < 0 || dataset.labels.data<int64_t>()[i] == wanted_class) picked.push_back(i);
  }
  return picked;
}

std::vector<int64_t> PickByClass(const Dataset& dataset, int64_t per_class) {
  std::vector<int64_t> picked;
  for (int64_t c = 0; c < dataset.num_classes(); ++c) {
    const std::vector<int64_t> some = PickSamples(dataset, 0, per_class, c);
    picked.insert(picked.end(), some.begin(), some.end());
  }
  return picked;
}

}  // namespace carillon
