// Command-line flags of a program, with a --help that teaches.
//
//   int64_t steps = 1000;
//   bool json = false;
//   Flags flags("mnist_mlp", "Trains a network with one hidden layer to read digits.");
//   flags.Group("Training");
//   flags.Add("steps", &steps, "how many batches to train on", {.min = 1});
//   flags.Add("json", &json, "end with one line of JSON");
//   flags.Example("mnist_mlp --steps 200", "a short run");
//   flags.ParseOrExit(argc, argv);
//
// Spellings: --name value, --name=value; a bool also --name and --no_name. Dashes inside a name
// count as underscores. What comes after
// "--" is never a flag. When a flag is given twice, the last one holds.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace carillon {

// The numbers a flag accepts, both ends included.
struct FlagRange {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
};

class Flags {
 public:
  // `summary` says what the program does: one line, then paragraphs if it needs them.
  Flags(std::string program, std::string summary);
  ~Flags();
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  // Flags added from here on are listed under `title`.
  Flags& Group(std::string title);
  // What *value holds now is the default. The pointers must stay valid until Parse returns.
  Flags& Add(std::string name, bool* value, std::string help);
  Flags& Add(std::string name, int* value, std::string help, FlagRange range = {});
  Flags& Add(std::string name, int64_t* value, std::string help, FlagRange range = {});
  Flags& Add(std::string name, double* value, std::string help, FlagRange range = {});
  Flags& Add(std::string name, std::string* value, std::string help);
  // Lists are written with commas; an empty text is an empty list.
  Flags& Add(std::string name, std::vector<std::string>* values, std::string help);
  Flags& Add(std::string name, std::vector<int64_t>* values, std::string help,
             FlagRange range = {});
  // One of `choices`.
  Flags& Add(std::string name, std::string* value, std::vector<std::string> choices,
             std::string help);
  // Arguments that are no flags. Without it they are errors.
  Flags& Positional(std::string name, std::vector<std::string>* values, std::string help);
  Flags& Example(std::string command, std::string what);

  std::string Help(int width = 80) const;

  // Sets the values from arguments (without the program's name). Returns false when --help was
  // among them; the values are then unspecified. Throws Error(InvalidArgument) that names the flag,
  // what it got and what it takes.
  bool Parse(const std::vector<std::string>& arguments);
  // The same for main(): prints the help and exits with 0, or the error and exits with 2.
  void ParseOrExit(int argc, const char* const* argv);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The candidate nearest to `name` in spelling, "" when none is near.
std::string NearestName(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace carillon
