// What a command of the `carillon` tool is. Each has a file of its own that defines its function;
// main.cc has the table of them.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/flags.h"
#include "carillon/report.h"
#include "report/picture.h"

namespace carillon {

// Where a command writes, and how.
struct Console {
  std::ostream& out;
  std::ostream& err;
  TextStyle style;                        // of `out`
  ColorDepth colors = ColorDepth::kNone;  // of `out`
};

// The exit status: 0 when all is well, 1 when what was asked for failed, 2 when it was asked for
// wrongly.
using CommandFunction = int (*)(const std::vector<std::string>& arguments, Console& console);

struct Command {
  std::string_view name;
  std::string_view summary;  // one line, starting with a verb
  CommandFunction run;
};

// Several commands under one name: runs the one that the first argument names, with the other
// arguments. Without arguments, or for --help, it prints `introduction`, the commands and
// `closing`. What a command throws is printed as an error.
int RunOneOf(std::span<const Command> commands, std::string_view program,
             std::string_view introduction, std::string_view closing,
             const std::vector<std::string>& arguments, Console& console);

// Parses the flags of a command. True when it should go on; otherwise the help has been printed.
// Throws like Flags::Parse.
bool ParseFlags(Flags& flags, const std::vector<std::string>& arguments, Console& console);

// The commands.
int RunCerts(const std::vector<std::string>& arguments, Console& console);
int RunData(const std::vector<std::string>& arguments, Console& console);
int RunLaunch(const std::vector<std::string>& arguments, Console& console);
int RunServer(const std::vector<std::string>& arguments, Console& console);
int RunTfrun(const std::vector<std::string>& arguments, Console& console);

}  // namespace carillon
