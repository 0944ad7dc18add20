#include "cli/command.h"

#include <algorithm>

#include "base/strings.h"
#include "carillon/error.h"
#include "report/terminal.h"
#include "report/text.h"

namespace carillon {
namespace {

constexpr int kWidest = 100;  // columns of running text

void PrintOverview(std::span<const Command> commands, std::string_view program,
                   std::string_view introduction, std::string_view closing, Console& console) {
  const int width = std::min(console.style.width, kWidest);
  std::string text;
  AppendWrapped(introduction, 0, 0, width, &text);
  StrAppend(&text, "\nUsage: ", program, " COMMAND [flags]\n\n",
            Styled(console.style, kBold, "Commands"), "\n");
  int longest = 0;
  for (const Command& command : commands) longest = std::max(longest, Columns(command.name));
  for (const Command& command : commands) {
    StrAppend(&text, "  ", PadRight(command.name, longest), "   ");
    AppendWrapped(command.summary, longest + 5, longest + 5, width, &text);
  }
  StrAppend(&text, "\n", closing, closing.empty() ? "" : "\n",
            "Each command tells more with --help, as in `", program, " ", commands.front().name,
            " --help`.\n");
  console.out << text;
}

}  // namespace

int RunOneOf(std::span<const Command> commands, std::string_view program,
             std::string_view introduction, std::string_view closing,
             const std::vector<std::string>& arguments, Console& console) {
  const std::string first = arguments.empty() ? "--help" : arguments.front();
  if (first == "--help" || first == "-h" || first == "help") {
    PrintOverview(commands, program, introduction, closing, console);
    return arguments.empty() ? 2 : 0;
  }
  std::vector<std::string> names;
  for (const Command& command : commands) {
    names.emplace_back(command.name);
    if (command.name != first) continue;
    try {
      return command.run({arguments.begin() + 1, arguments.end()}, console);
    } catch (const Error& error) {
      console.err << program << " " << first << ": " << error.what() << "\n";
      return error.code() == Code::kInvalidArgument ? 2 : 1;
    }
  }
  const std::string nearest = NearestName(first, names);
  console.err << program << ": there is no command \"" << first << "\""
              << (nearest.empty() ? "" : StrCat("; did you mean ", nearest, "?")) << " Known are "
              << JoinWith(", ", names) << ".\n";
  return 2;
}

bool ParseFlags(Flags& flags, const std::vector<std::string>& arguments, Console& console) {
  if (flags.Parse(arguments)) return true;
  console.out << flags.Help(std::min(console.style.width, kWidest));
  return false;
}

}  // namespace carillon
