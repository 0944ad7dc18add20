#include <fstream>
#include <sstream>
#include <sys/stat.h>

#include "cli/command.h"
#include "data/test_util.h"
#include "distributed/cluster/credentials.h"

namespace carillon {
namespace {

struct Result {
  int status;
  std::string out, err;
};

// As the tool runs it.
Result RunTool(std::vector<std::string> arguments) {
  std::ostringstream out, err;
  Console console{out, err, {}};
  constexpr Command kCommands[] = {{"certs", "makes certificates", RunCerts}};
  arguments.insert(arguments.begin(), "certs");
  const int status = RunOneOf(kCommands, "carillon", "", "", arguments, console);
  return {status, out.str(), err.str()};
}

#define EXPECT_CONTAINS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << "no \"" << part << "\" in\n" << (text)

mode_t ModeOf(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 0777;
}

constexpr const char* kCluster = "ps|h:1,worker|127.0.0.1:2;[::1]:3";

TEST(CertsCommandTest, MakesWhatTasksLoad) {
  const TemporaryFolder folder;
  const std::string out = folder.Path("certs");
  const Result made = RunTool({"--out", out, "--cluster", kCluster});
  ASSERT_EQ(made.status, 0) << made.err;
  for (const char* owner : {"ps-0", "worker-0", "worker-1", "client"}) {
    EXPECT_CONTAINS(made.out, StrCat(owner, ".pem"));
    EXPECT_EQ(ModeOf(StrCat(out, "/", owner, ".key")), 0600u);
    const StatusOr<Credentials> loaded = LoadCredentials({.tls_dir = out}, {.name = owner});
    EXPECT_TRUE(loaded.ok()) << loaded.status();
  }
  EXPECT_EQ(ModeOf(out + "/ca.key"), 0600u);
  const Result again = RunTool({"--out", out, "--cluster", kCluster});
  EXPECT_EQ(again.status, 1);
  EXPECT_CONTAINS(again.err, "--force");
  EXPECT_EQ(RunTool({"--out", out, "--cluster", kCluster, "--force"}).status, 0);
}

TEST(CertsCommandTest, MakesATokenThatTasksLoad) {
  const TemporaryFolder folder;
  const std::string path = folder.Path("token");
  ASSERT_EQ(RunTool({"--token", path}).status, 0);
  EXPECT_EQ(ModeOf(path), 0600u);
  const auto token = [&] { return LoadCredentials({.token_file = path}, {}).value().token; };
  const std::string first = token();
  EXPECT_EQ(first.size(), 64u);
  EXPECT_EQ(RunTool({"--token", path}).status, 1);
  EXPECT_EQ(token(), first);
  EXPECT_EQ(RunTool({"--token", path, "--force"}).status, 0);
  EXPECT_NE(token(), first);
}

TEST(CertsCommandTest, WrongUseIsExplained) {
  const TemporaryFolder folder;
  EXPECT_CONTAINS(RunTool({"--help"}).out, "Examples");
  EXPECT_EQ(RunTool({}).status, 2);
  EXPECT_CONTAINS(RunTool({"--out", folder.Path("x")}).err, "--cluster");
  EXPECT_CONTAINS(RunTool({"--out", folder.Path("x"), "--cluster", "worker|ps-0.carillon:1"}).err,
                  "say which task");
  EXPECT_CONTAINS(RunTool({"--token", folder.Path("no/such/folder")}).err, "No such file");
}

}  // namespace
}  // namespace carillon
