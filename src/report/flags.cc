#include "carillon/flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "base/throw.h"
#include "report/terminal.h"
#include "report/text.h"

namespace carillon {
namespace {

struct Flag {
  std::string name;
  std::string value_name;  // "N" in --steps N; empty for a bool
  std::string help;
  std::string default_text;
  std::string group;
  std::function<Status(const std::string&)> set;  // its message says what was expected
};

template <typename T>
Status ParseNumber(const std::string& text, const FlagRange& range, const char* kind, T* value) {
  T parsed{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, parsed);
  const auto in_range = [&] {
    return static_cast<double>(parsed) >= range.min && static_cast<double>(parsed) <= range.max;
  };
  if (!text.empty() && result.ec == std::errc() && result.ptr == end && in_range()) {
    *value = parsed;
    return absl::OkStatus();
  }
  std::string expected = StrCat("expected ", kind);
  if (std::isfinite(range.min) && std::isfinite(range.max)) {
    StrAppend(&expected, " from ", range.min, " to ", range.max);
  } else if (std::isfinite(range.min)) {
    StrAppend(&expected, ", ", range.min, " or more");
  } else if (std::isfinite(range.max)) {
    StrAppend(&expected, ", ", range.max, " or less");
  }
  return InvalidArgument(expected);
}

constexpr char kWholeNumber[] = "a whole number";

}  // namespace

struct Flags::Impl {
  std::string program, summary;
  std::vector<Flag> flags;
  std::string group = "Flags";
  std::string positional_name, positional_help;
  std::vector<std::string>* positional = nullptr;
  std::vector<std::pair<std::string, std::string>> examples;

  void Add(std::string name, std::string value_name, std::string help, std::string default_text,
           std::function<Status(const std::string&)> set) {
    flags.push_back({std::move(name), std::move(value_name), std::move(help),
                     std::move(default_text), group, std::move(set)});
  }

  const Flag* Find(const std::string& name) const {
    for (const Flag& flag : flags) {
      if (flag.name == name) return &flag;
    }
    return nullptr;
  }

  Status Set(const Flag& flag, const std::string& text) const {
    const Status status = flag.set(text);
    if (status.ok()) return status;
    return InvalidArgument("--", flag.name, " got \"", text, "\", ",
                           std::string_view(status.message().data(), status.message().size()));
  }

  Status Unknown(const std::string& name) const {
    std::vector<std::string> names{"help"};
    for (const Flag& flag : flags) names.push_back(flag.name);
    const std::string nearest = NearestName(name, names);
    return InvalidArgument("there is no flag --", name,
                           nearest.empty() ? "" : StrCat("; did you mean --", nearest, "?"));
  }

  StatusOr<bool> Parse(const std::vector<std::string>& arguments) const;
};

// False when help was asked for.
StatusOr<bool> Flags::Impl::Parse(const std::vector<std::string>& arguments) const {
  bool only_positional = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!only_positional && argument == "--") {
      only_positional = true;
      continue;
    }
    if (only_positional || argument.size() < 2 || argument[0] != '-') {
      if (positional == nullptr) {
        return InvalidArgument("unexpected argument \"", argument, "\": this takes flags only");
      }
      positional->push_back(argument);
      continue;
    }
    if (argument == "-h") return false;
    if (!argument.starts_with("--")) {
      return InvalidArgument("unexpected argument \"", argument, "\": flags start with two dashes");
    }
    const size_t equals = argument.find('=');
    std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::replace(name.begin(), name.end(), '-', '_');
    if (name == "help") return false;
    const Flag* flag = Find(name);
    if (flag == nullptr && equals == std::string::npos && name.starts_with("no")) {
      const Flag* denied = Find(name.substr(name.starts_with("no_") ? 3 : 2));
      if (denied != nullptr && denied->value_name.empty()) {
        CARILLON_RETURN_IF_ERROR(Set(*denied, "false"));
        continue;
      }
    }
    if (flag == nullptr) return Unknown(name);
    const bool has_next = i + 1 < arguments.size();
    if (equals != std::string::npos) {
      CARILLON_RETURN_IF_ERROR(Set(*flag, argument.substr(equals + 1)));
    } else if (flag->value_name.empty()) {
      const bool spelled = has_next && (arguments[i + 1] == "true" || arguments[i + 1] == "false");
      CARILLON_RETURN_IF_ERROR(Set(*flag, spelled ? arguments[++i] : "true"));
    } else if (has_next && (!arguments[i + 1].starts_with("--") || arguments[i + 1] == "--")) {
      CARILLON_RETURN_IF_ERROR(Set(*flag, arguments[++i]));
    } else {
      return InvalidArgument("--", flag->name, " needs a value, as in --", flag->name, " ",
                             flag->value_name);
    }
  }
  return true;
}

Flags::Flags(std::string program, std::string summary) : impl_(std::make_unique<Impl>()) {
  impl_->program = std::move(program);
  impl_->summary = std::move(summary);
}
Flags::~Flags() = default;

Flags& Flags::Group(std::string title) {
  impl_->group = std::move(title);
  return *this;
}

Flags& Flags::Add(std::string name, bool* value, std::string help) {
  const std::string default_text = *value ? StrCat("on; --no_", name, " turns it off") : "";
  impl_->Add(std::move(name), "", std::move(help), default_text, [value](const std::string& text) {
    if (text != "true" && text != "false" && text != "1" && text != "0") {
      return InvalidArgument("expected true or false");
    }
    *value = text == "true" || text == "1";
    return absl::OkStatus();
  });
  return *this;
}

Flags& Flags::Add(std::string name, int* value, std::string help, FlagRange range) {
  impl_->Add(std::move(name), "N", std::move(help), StrCat(*value),
             [value, range](const std::string& text) {
               return ParseNumber(text, range, kWholeNumber, value);
             });
  return *this;
}

Flags& Flags::Add(std::string name, int64_t* value, std::string help, FlagRange range) {
  impl_->Add(std::move(name), "N", std::move(help), StrCat(*value),
             [value, range](const std::string& text) {
               return ParseNumber(text, range, kWholeNumber, value);
             });
  return *this;
}

Flags& Flags::Add(std::string name, double* value, std::string help, FlagRange range) {
  impl_->Add(std::move(name), "X", std::move(help), StrCat(*value),
             [value, range](const std::string& text) {
               return ParseNumber(text, range, "a number", value);
             });
  return *this;
}

Flags& Flags::Add(std::string name, std::string* value, std::string help) {
  impl_->Add(std::move(name), "TEXT", std::move(help), *value, [value](const std::string& text) {
    *value = text;
    return absl::OkStatus();
  });
  return *this;
}

Flags& Flags::Add(std::string name, std::vector<std::string>* values, std::string help) {
  impl_->Add(std::move(name), "A,B,…", std::move(help), JoinWith(",", *values),
             [values](const std::string& text) {
               *values = SplitAtCommas(text);
               return absl::OkStatus();
             });
  return *this;
}

Flags& Flags::Add(std::string name, std::vector<int64_t>* values, std::string help,
                  FlagRange range) {
  std::vector<std::string> texts;
  for (const int64_t value : *values) texts.push_back(StrCat(value));
  impl_->Add(std::move(name), "N,N,…", std::move(help), JoinWith(",", texts),
             [values, range](const std::string& text) {
               std::vector<int64_t> parsed;
               for (const std::string& part : SplitAtCommas(text)) {
                 CARILLON_RETURN_IF_ERROR(ParseNumber(
                     part, range, "whole numbers with commas between", &parsed.emplace_back()));
               }
               *values = std::move(parsed);
               return absl::OkStatus();
             });
  return *this;
}

Flags& Flags::Add(std::string name, std::string* value, std::vector<std::string> choices,
                  std::string help) {
  StrAppend(&help, ": ", JoinWith(", ", choices));
  impl_->Add(std::move(name), "NAME", std::move(help), *value,
             [value, choices = std::move(choices)](const std::string& text) {
               if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
                 return InvalidArgument("expected one of ", JoinWith(", ", choices));
               }
               *value = text;
               return absl::OkStatus();
             });
  return *this;
}

Flags& Flags::Positional(std::string name, std::vector<std::string>* values, std::string help) {
  impl_->positional_name = std::move(name);
  impl_->positional = values;
  impl_->positional_help = std::move(help);
  return *this;
}

Flags& Flags::Example(std::string command, std::string what) {
  impl_->examples.emplace_back(std::move(command), std::move(what));
  return *this;
}

std::string Flags::Help(int width) const {
  constexpr int kHelpColumn = 26;
  const Impl& f = *impl_;
  std::string out;
  AppendWrapped(f.summary, 0, 0, width, &out);
  StrAppend(&out, "\nUsage: ", f.program, " [flags]",
            f.positional == nullptr ? "" : StrCat(" ", f.positional_name), "\n");
  const auto entry = [&](const std::string& left, std::string_view help) {
    StrAppend(&out, "  ", left);
    int column = 2 + Columns(left);
    if (column + 2 > kHelpColumn) {
      StrAppend(&out, "\n");
      column = 0;
    }
    StrAppend(&out, Repeat(" ", kHelpColumn - column));
    AppendWrapped(help, kHelpColumn, kHelpColumn, width, &out);
  };
  if (f.positional != nullptr) {
    StrAppend(&out, "\n");
    entry(f.positional_name, f.positional_help);
  }
  std::string group;
  for (const Flag& flag : f.flags) {
    if (flag.group != group) StrAppend(&out, "\n", flag.group, "\n");
    group = flag.group;
    entry(StrCat("--", flag.name, flag.value_name.empty() ? "" : " ", flag.value_name),
          flag.default_text.empty() ? flag.help
                                    : StrCat(flag.help, " (default ", flag.default_text, ")"));
  }
  StrAppend(&out, "\n");
  entry("--help", "this text");
  if (!f.examples.empty()) StrAppend(&out, "\nExamples\n");
  for (const auto& [command, what] : f.examples) {
    StrAppend(&out, "  ", command, "\n      ");
    AppendWrapped(what, 6, 6, width, &out);
  }
  return out;
}

bool Flags::Parse(const std::vector<std::string>& arguments) {
  return ValueOrThrow(impl_->Parse(arguments));
}

void Flags::ParseOrExit(int argc, const char* const* argv) {
  try {
    const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
    if (Parse(arguments)) return;
    const std::string help = Help(std::min(TextStyle::Of(stdout).width, 100));
    std::fputs(help.c_str(), stdout);
    std::exit(0);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\nRun it with --help to see what it takes.\n",
                 impl_->program.c_str(), error.what());
    std::exit(2);
  }
}

}  // namespace carillon
