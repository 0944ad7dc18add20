// Small work on plain text: lists with commas, wrapped paragraphs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carillon {

// "a,b" is two parts, "" is none.
std::vector<std::string> SplitAtCommas(const std::string& text);
std::string JoinWith(std::string_view separator, const std::vector<std::string>& parts);

// Appends `text` in lines of at most `width` columns and a line end. The first continues a line
// that is `column` wide, the others start with `indent` spaces. Line ends inside the text stay.
void AppendWrapped(std::string_view text, int column, int indent, int width, std::string* out);

}  // namespace carillon
