#include "report/picture.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "report/axis.h"
#include "report/canvas.h"
#include "report/font.h"
#include "report/terminal.h"

namespace carillon {
namespace {

uint32_t BigEndianAt(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// Reads back what EncodePng writes: checks chunk checksums and undoes the filter.
Picture DecodeOurPng(const std::string& png) {
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  Picture picture;
  std::string compressed;
  for (size_t at = 8; at < png.size();) {
    const uint32_t length = BigEndianAt(png, at);
    const std::string type = png.substr(at + 4, 4), data = png.substr(at + 8, length);
    const std::string body = type + data;
    EXPECT_EQ(
        BigEndianAt(png, at + 8 + length),
        ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())));
    if (type == "IHDR") {
      EXPECT_EQ(data[8], 8);
      picture = Picture(static_cast<int>(BigEndianAt(data, 0)),
                        static_cast<int>(BigEndianAt(data, 4)), data[9] == 2 ? 3 : 1);
    }
    if (type == "IDAT") compressed += data;
    at += 12 + length;
  }
  const size_t stride = static_cast<size_t>(picture.width * picture.channels);
  std::string rows((stride + 1) * static_cast<size_t>(picture.height), '\0');
  uLongf size = rows.size();
  EXPECT_EQ(::uncompress(reinterpret_cast<Bytef*>(rows.data()), &size,
                         reinterpret_cast<const Bytef*>(compressed.data()), compressed.size()),
            Z_OK);
  EXPECT_EQ(size, rows.size());
  for (size_t y = 0; y < static_cast<size_t>(picture.height); ++y) {
    EXPECT_EQ(rows[y * (stride + 1)], 2);
    for (size_t i = 0; i < stride; ++i) {
      const uint8_t above = y == 0 ? 0 : picture.pixels[(y - 1) * stride + i];
      picture.pixels[y * stride + i] = static_cast<uint8_t>(rows[y * (stride + 1) + 1 + i] + above);
    }
  }
  return picture;
}

TEST(PngTest, KeepsEveryPixel) {
  for (const int channels : {1, 3}) {
    Picture picture(13, 7, channels);
    for (size_t i = 0; i < picture.pixels.size(); ++i) {
      picture.pixels[i] = static_cast<uint8_t>(i * 37);
    }
    const Picture back = DecodeOurPng(EncodePng(picture));
    EXPECT_EQ(back.width, 13);
    EXPECT_EQ(back.height, 7);
    EXPECT_EQ(back.channels, channels);
    EXPECT_EQ(back.pixels, picture.pixels);
  }
}

TEST(CanvasTest, DrawsWhereItIsTold) {
  Canvas canvas(20, 20, {255, 255, 255});
  canvas.Stroke({{5, 5}, {15, 5}}, 3, {0, 0, 0});
  EXPECT_EQ(canvas.picture().at(10, 4)[0], 0);
  EXPECT_EQ(canvas.picture().at(10, 12)[0], 255);
  canvas.Fill(0, 10.5, 20, 12, {255, 0, 0});
  EXPECT_EQ(canvas.picture().at(3, 11)[1], 0);
  EXPECT_NEAR(canvas.picture().at(3, 10)[1], 128, 1) << "half a pixel is half a colour";
}

TEST(CanvasTest, StaysInsideThePicture) {
  Canvas canvas(8, 8, {255, 255, 255});
  canvas.Stroke({{-100, -100}, {200, 50}, {4, 4}}, 2, {0, 0, 0});
  canvas.Stroke({}, 2, {0, 0, 0});
  canvas.Fill(-5, -5, 50, 50, {0, 0, 0}, 0.5);
  canvas.Text(-20, 3, 10, "outside? \xc3\xa9", {0, 0, 0});
  EXPECT_LT(canvas.picture().at(4, 4)[0], 255);
}

TEST(FontTest, HasAGlyphForWhatChartsPrint) {
  const Glyph unknown = GlyphOf('\x01');
  for (const char c :
       std::string("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-+/%()=")) {
    const Glyph glyph = GlyphOf(c);
    EXPECT_GT(glyph.advance, 3) << c;
    bool same = glyph.paths.size() == unknown.paths.size();
    for (const auto& path : glyph.paths) {
      EXPECT_FALSE(path.empty()) << c;
      for (const Point& point : path) {
        EXPECT_GE(point.y, -4) << c;
        EXPECT_LE(point.y, kCapHeight) << c;
      }
      same = same && path.size() == unknown.paths[0].size();
    }
    EXPECT_FALSE(same && glyph.advance == unknown.advance) << c << " is drawn as unknown";
  }
}

TEST(DrawPictureTest, HalfBlocksInColour) {
  Picture picture(2, 3, 3);
  picture.at(0, 0)[0] = 255;
  const auto lines = DrawPicture(picture, ColorDepth::kTrue);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "\x1b[38;2;255;0;0;48;2;0;0;0m▀\x1b[38;2;0;0;0;48;2;0;0;0m▀\x1b[0m");
  EXPECT_EQ(lines[1], "\x1b[38;2;0;0;0m▀▀\x1b[0m");
  Picture grey(1, 2, 1, 128);
  EXPECT_EQ(DrawPicture(grey, ColorDepth::k256)[0], "\x1b[38;5;244;48;5;244m▀\x1b[0m");
}

TEST(DrawPictureTest, DotsWithoutColour) {
  EXPECT_EQ(DrawPicture(Picture(4, 4, 1, 255), ColorDepth::kNone), std::vector<std::string>{"⣿⣿"});
  EXPECT_EQ(DrawPicture(Picture(4, 4, 1, 0), ColorDepth::kNone), std::vector<std::string>{"  "});
}

TEST(AxisTest, TicksAreRoundAndInside) {
  EXPECT_EQ((Axis{0, 10}).Ticks(5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ((Axis{0.01, 10, true}).Ticks(4), (std::vector<double>{0.01, 0.1, 1, 10}));
  for (const double high : {1e-9, 0.3, 7.0, 12345.0, 1e12}) {
    const Axis axis{-high / 3, high};
    const auto ticks = axis.Ticks(6);
    EXPECT_GE(ticks.size(), 2u) << high;
    EXPECT_LE(ticks.size(), 14u) << high;
  }
  const std::vector<double> ticks{0, 0.5, 1};
  EXPECT_EQ(TickLabel(0, ticks), "0");
  EXPECT_EQ(TickLabel(1, ticks), "1.0");
  EXPECT_EQ(TickLabel(20000, {0, 10000, 20000}), "20k");
}

Chart LossChart() {
  Chart chart{.title = "loss", .x_label = "step", .y_label = "nats"};
  chart.series.push_back({"train", {}, {}});
  for (int i = 1; i <= 500; ++i) {
    chart.series[0].x.push_back(i);
    chart.series[0].y.push_back(2.0 / i);
  }
  return chart;
}

TEST(ChartTest, TextFitsItsWidthAndFallsFromLeftToRight) {
  for (const int width : {30, 80, 120}) {
    const std::string text = LossChart().ToText({.width = width}, 10);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      EXPECT_LE(Columns(text.substr(begin, end - begin)), width);
      begin = end + 1;
    }
    for (const char* part : {"loss", "step", "nats", "500", "└"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
    }
  }
}

TEST(ChartTest, DegenerateDataIsDrawnOrSaidToBeMissing) {
  Chart chart;
  EXPECT_NE(chart.ToText().find("nothing to draw"), std::string::npos);
  EXPECT_GT(chart.ToPng().size(), 100u);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  chart.series.push_back({"one", {1}, {1}});
  chart.series.push_back({"none", {1, 2}, {nan, nan}});
  chart.series.push_back({"short", {1, 2, 3}, {1}});
  EXPECT_NE(chart.ToText().find("└"), std::string::npos);
  chart.log_y = true;
  chart.series.push_back({"negative", {1, 2}, {-1, 0}});
  EXPECT_NE(chart.ToText().find("└"), std::string::npos);
  EXPECT_GT(chart.ToPng().size(), 100u);
}

TEST(ChartTest, ThePictureHasTheCurveInItsColour) {
  const Picture picture = DecodeOurPng(LossChart().ToPng(400, 300));
  EXPECT_EQ(picture.width, 400);
  EXPECT_EQ(picture.height, 300);
  int blue = 0, grey = 0;
  for (size_t i = 0; i < picture.pixels.size(); i += 3) {
    blue += picture.pixels[i] == 37 && picture.pixels[i + 1] == 99 && picture.pixels[i + 2] == 235;
    grey += picture.pixels[i] == 229 && picture.pixels[i + 1] == 231;
  }
  EXPECT_GT(blue, 200);
  EXPECT_GT(grey, 200) << "grid lines";
}

}  // namespace
}  // namespace carillon
