#include "report/font.h"

#include <algorithm>
#include <string_view>

namespace carillon {
namespace {

constexpr int kBaseline = 4;
constexpr double kGap = 3.6, kSpace = 5.5;

// Two characters a point (x and y, each 0-9 and a-g for 10 to 16), points of a polyline without a
// break, polylines apart. The baseline is y = 4, small letters reach 12, capitals 16.
struct Drawing {
  char character;
  const char* strokes;
};

constexpr Drawing kDrawings[] = {
    {'0', "3444667a6e4g3g1e0a1634"},
    {'1', "1d4g44 1474"},
    {'2', "0d1f3g5g7e7c6a0474"},
    {'3', "0e2g5g7e7c5a3a 5a7876542406"},
    {'4', "545g0878"},
    {'5', "6g1g0a2b5b7976542406"},
    {'6', "6f4g2f0b06245476785a2a08"},
    {'7', "0g7g34"},
    {'8', "2a5a7c7e5g2g0e0c2a0806245476785a"},
    {'9', "153455797e5g2g0e0c2a5a7c"},
    {'a', "7c74 7a5c2c0a06245476"},
    {'b', "0g04 062454767a5c2c0a"},
    {'c', "7b5c2c0a06245475"},
    {'d', "7g74 765424060a2c5c7a"},
    {'e', "08787a5c2c0a06245475"},
    {'f', "5g4g2e24 0c5c"},
    {'g', "7c72502001 7a5c2c0a06245476"},
    {'h', "0g04 0a2c5c7a74"},
    {'i', "0c04 0f0g"},
    {'j', "2c211000 2f2g"},
    {'k', "0g04 076c 3974"},
    {'l', "0g051424"},
    {'m', "0c04 0a2c3c5a54 5a7c8caaa4"},
    {'n', "0c04 0a2c5c7a74"},
    {'o', "2454767a5c2c0a0624"},
    {'p', "0c00 062454767a5c2c0a"},
    {'q', "7c70 7a5c2c0a06245476"},
    {'r', "0c04 0a2c5c"},
    {'s', "6b5c1c0b0918586765541405"},
    {'t', "2g263454 0c5c"},
    {'u', "0c06245476 7c74"},
    {'v', "0c346c"},
    {'w', "0c245b84ac"},
    {'x', "0c74 7c04"},
    {'y', "0c34 6c2000"},
    {'z', "0c6c0464"},
    {'A', "044g84 1878"},
    {'B', "040g5g7e7c5a0a 5a78765404"},
    {'C', "7e5g3g1e0a16345476"},
    {'D', "040g4g7d774404"},
    {'E', "7g0g0474 0a5a"},
    {'F', "7g0g04 0a5a"},
    {'G', "7e5g3g1e0a163454767a4a"},
    {'H', "0g04 7g74 0a7a"},
    {'I', "0g04"},
    {'J', "5g56341406"},
    {'K', "0g04 7g08 3b74"},
    {'L', "0g0464"},
    {'M', "040g488g84"},
    {'N', "040g747g"},
    {'O', "44768a7e4g1e0a1644"},
    {'P', "040g5g7e7c5a0a"},
    {'Q', "44768a7e4g1e0a1644 5783"},
    {'R', "040g5g7e7c5a0a 4a74"},
    {'S', "7e5g2g0e0c2a5a7876542406"},
    {'T', "0g8g 4g44"},
    {'U', "0g062454767g"},
    {'V', "0g448g"},
    {'W', "0g346e94cg"},
    {'X', "0g74 7g04"},
    {'Y', "0g4a8g 4a44"},
    {'Z', "0g7g0474"},
    {'.', "04"},
    {',', "1502"},
    {':', "04 0b"},
    {';', "1502 1b"},
    {'-', "0858"},
    {'+', "0868 353b"},
    {'/', "036g"},
    {'%', "048g 2g4e2c0e2g 6886644668"},
    {'(', "3g1d0a1734"},
    {')', "0g2d3a2704"},
    {'[', "3g0g0333"},
    {']', "0g3g3303"},
    {'=', "0666 0a6a"},
    {'_', "0474"},
    {'<', "6c0864"},
    {'>', "0c6804"},
    {'\'', "0g0d"},
    {'"', "0g0d 2g2d"},
    {'!', "0g08 04"},
    {'?', "0d1g4g6e6c3938 34"},
    {'*', "3f39 0d6b 0b6d"},
    {'#', "2f15 6f55 0c7c 0878"},
    {'|', "0g02"},
};

constexpr char kUnknown[] = "040g6g6404";

double Coordinate(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

}  // namespace

Glyph GlyphOf(char c) {
  Glyph glyph;
  if (c == ' ') {
    glyph.advance = kSpace;
    return glyph;
  }
  const auto* found = std::find_if(std::begin(kDrawings), std::end(kDrawings),
                                   [&](const Drawing& d) { return d.character == c; });
  std::string_view strokes = found == std::end(kDrawings) ? kUnknown : found->strokes;
  double right = 0;
  glyph.paths.emplace_back();
  while (!strokes.empty()) {
    if (strokes[0] == ' ') {
      glyph.paths.emplace_back();
      strokes.remove_prefix(1);
      continue;
    }
    const Point point{Coordinate(strokes[0]), Coordinate(strokes[1]) - kBaseline};
    right = std::max(right, point.x);
    glyph.paths.back().push_back(point);
    strokes.remove_prefix(2);
  }
  glyph.advance = right + kGap;
  return glyph;
}

}  // namespace carillon
