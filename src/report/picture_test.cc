#include "report/picture.h"

#include <gtest/gtest.h>

#include "report/axis.h"
#include "report/canvas.h"
#include "report/font.h"
#include "report/png_codec.h"
#include "report/terminal.h"

namespace carillon {
namespace {

Picture DecodePicture(const std::string& png) {
  PngDecoder decoder = PngDecoder::Open(png, 0, 8).value();
  const PngFormat& format = decoder.format();
  Picture picture(static_cast<int>(format.width), static_cast<int>(format.height), format.channels);
  EXPECT_TRUE(decoder.Read(picture.pixels.data()).ok());
  return picture;
}

TEST(PngTest, KeepsEveryPixel) {
  for (const int channels : {1, 3}) {
    Picture picture(13, 7, channels);
    for (size_t i = 0; i < picture.pixels.size(); ++i) {
      picture.pixels[i] = static_cast<uint8_t>(i * 37);
    }
    const Picture back = DecodePicture(EncodePng(picture));
    EXPECT_EQ(back.width, 13);
    EXPECT_EQ(back.height, 7);
    EXPECT_EQ(back.channels, channels);
    EXPECT_EQ(back.pixels, picture.pixels);
  }
}

TEST(PngTest, ConvertsChannelsAndBits) {
  const std::vector<uint16_t> pixels = {0x0102, 0xff00, 0x8000, 0xffff};  // two of grey and alpha
  const std::string png =
      EncodePngPixels({.width = 1, .height = 2, .channels = 2, .bits = 16}, pixels.data()).value();
  std::vector<uint16_t> wide(4);
  ASSERT_TRUE(PngDecoder::Open(png, 0, 16)->Read(wide.data()).ok());
  EXPECT_EQ(wide, pixels);
  std::vector<uint8_t> narrow(6);
  ASSERT_TRUE(PngDecoder::Open(png, 3, 8)->Read(narrow.data()).ok());
  EXPECT_EQ(narrow, (std::vector<uint8_t>{1, 1, 1, 0x80, 0x80, 0x80}));
}

TEST(PngTest, RefusesDamage) {
  Picture picture(9, 5, 3, 77);
  const std::string png = EncodePng(picture);
  for (size_t size = 0; size < png.size(); ++size) {
    StatusOr<PngDecoder> decoder = PngDecoder::Open(std::string_view(png).substr(0, size), 0, 8);
    EXPECT_FALSE(decoder.ok() && decoder->Read(picture.pixels.data()).ok()) << size;
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
  const Picture picture = DecodePicture(LossChart().ToPng(400, 300));
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
