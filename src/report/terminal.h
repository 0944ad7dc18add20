// Text on terminals: colours, and how many columns a string takes.
#pragma once

#include <string>
#include <string_view>

#include "carillon/report.h"

namespace carillon {

inline constexpr std::string_view kReset = "\x1b[0m";
inline constexpr std::string_view kBold = "\x1b[1m";
inline constexpr std::string_view kDim = "\x1b[2m";
inline constexpr std::string_view kCyan = "\x1b[36m";
inline constexpr std::string_view kGreen = "\x1b[32m";
inline constexpr std::string_view kYellow = "\x1b[33m";
inline constexpr std::string_view kRed = "\x1b[31m";

// `text` between `code` and kReset when the style has colour; the text alone otherwise.
std::string Styled(const TextStyle& style, std::string_view code, std::string_view text);

// Columns of UTF-8 text without escape sequences: code points, as we print no wide characters.
int Columns(std::string_view utf8);
// The text with spaces up to `columns`, after it or (flush right) before it.
std::string PadRight(std::string_view text, int columns);
std::string PadLeft(std::string_view text, int columns);
std::string Repeat(std::string_view text, int times);

// True when 24-bit colours are safe ($COLORTERM says so); 256 colours are taken for granted where
// there is colour at all.
bool HasTrueColor();

}  // namespace carillon
