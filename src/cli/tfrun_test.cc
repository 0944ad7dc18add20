#include <gtest/gtest.h>
#include <sstream>

#include "base/strings.h"
#include "carillon/error.h"
#include "cli/command.h"

namespace carillon {
namespace {

// What can be tried without becoming Python.
std::string ErrorOf(const std::vector<std::string>& arguments, Code code) {
  std::ostringstream out, err;
  Console console{out, err, {}, ColorDepth::kNone};
  try {
    RunTfrun(arguments, console);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST(TfrunCommandTest, HelpTeaches) {
  std::ostringstream out, err;
  Console console{out, err, {}, ColorDepth::kNone};
  EXPECT_EQ(RunTfrun({"--help"}, console), 0);
  for (const char* part : {"SCRIPT", "--local_sessions", "CARILLON_PYTHON", "--insecure"})
    EXPECT_NE(out.str().find(part), std::string::npos) << out.str();
}

TEST(TfrunCommandTest, FlagsEndAtTheScript) {
  EXPECT_NE(ErrorOf({}, Code::kInvalidArgument).find("expected a script"), std::string::npos);
  EXPECT_NE(ErrorOf({"--local-session", "x.py"}, Code::kInvalidArgument).find("--local_sessions"),
            std::string::npos);
  EXPECT_NE(ErrorOf({"--server-flags"}, Code::kInvalidArgument).find("server_flags"),
            std::string::npos);
  EXPECT_NE(ErrorOf({"--server-flags=--threads 1", "/nowhere.py"}, Code::kNotFound)
                .find("/nowhere.py: there is no such script"),
            std::string::npos);
  // --help is the script's here, which is looked for first.
  EXPECT_NE(ErrorOf({"--local-sessions", "/nowhere.py", "--help"}, Code::kNotFound)
                .find("/nowhere.py: there is no such script"),
            std::string::npos);
}

}  // namespace
}  // namespace carillon
