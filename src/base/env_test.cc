#include "base/env.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "temporary_folder.h"

namespace carillon {
namespace {

// The same promises, kept by each implementation.
class EnvTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      std::string pattern = ::testing::TempDir() + "env_test_XXXXXX";
      ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
      root_ = pattern;
    } else {
      root_ = "/root";
      ASSERT_TRUE(memory_.MakeDirectories(root_).ok());
    }
  }
  void TearDown() override { RemoveAll(root_); }
  void RemoveAll(const std::string& path) {
    auto names = env().List(path);
    if (names.ok()) {
      for (const std::string& name : *names) RemoveAll(JoinPath(path, name));
    }
    EXPECT_TRUE(env().Remove(path).ok()) << path;
  }

  Env& env() { return GetParam() ? PosixEnv() : memory_; }
  std::string Path(std::string_view name) const { return JoinPath(root_, name); }

  MemoryEnv memory_;
  std::string root_;
};

INSTANTIATE_TEST_SUITE_P(All, EnvTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Posix" : "Memory"; });

TEST_P(EnvTest, WritesAndReadsBack) {
  const std::string content("a\0b\nc", 5);
  ASSERT_TRUE(env().WriteFile(Path("f"), content).ok());
  EXPECT_EQ(*env().ReadFile(Path("f")), content);
  ASSERT_TRUE(env().WriteFile(Path("f"), "new").ok());
  EXPECT_EQ(*env().ReadFile(Path("f")), "new");
  EXPECT_EQ(*env().List(root_), std::vector<std::string>{"f"}) << "a temporary file is left over";
}

TEST_P(EnvTest, AppendsInPieces) {
  for (const char* piece : {"one", "two"}) {
    auto file = env().OpenForWriting(Path("log"), Env::WriteMode::kAppend);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->Append(piece).ok());
    ASSERT_TRUE((*file)->Flush().ok());
    ASSERT_TRUE((*file)->Append(std::string(200'000, '.')).ok());
    ASSERT_TRUE((*file)->Close().ok());
  }
  const std::string dots(200'000, '.');
  EXPECT_EQ(*env().ReadFile(Path("log")), "one" + dots + "two" + dots);
}

TEST_P(EnvTest, ReadsAtAnOffsetAndStopsAtTheEnd) {
  ASSERT_TRUE(env().WriteFile(Path("f"), "0123456789").ok());
  auto file = env().OpenForReading(Path("f"));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->size(), 10u);
  char out[8] = {};
  EXPECT_EQ(*(*file)->Read(4, out), 6u);
  EXPECT_EQ(std::string(out, 6), "456789");
  EXPECT_EQ(*(*file)->Read(10, out), 0u);
  EXPECT_EQ(*(*file)->Read(uint64_t{1} << 40, out), 0u);
}

TEST_P(EnvTest, NamesWhatIsMissing) {
  const Status missing = env().ReadFile(Path("nowhere")).status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.message().find("nowhere"), absl::string_view::npos) << missing;
  EXPECT_EQ(env().OpenForWriting(Path("no/f"), Env::WriteMode::kTruncate).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(env().Rename(Path("nowhere"), Path("x")).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(env().Remove(Path("nowhere")).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(env().List(Path("nowhere")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(env().Exists(Path("nowhere")));
}

TEST_P(EnvTest, MakesListsAndRemovesDirectories) {
  ASSERT_TRUE(env().MakeDirectories(Path("a/b/c")).ok());
  ASSERT_TRUE(env().MakeDirectories(Path("a/b")).ok());
  ASSERT_TRUE(env().WriteFile(Path("a/z"), "12").ok());
  EXPECT_EQ(*env().List(Path("a")), (std::vector<std::string>{"b", "z"}));
  EXPECT_TRUE(env().Stat(Path("a/b"))->is_directory);
  EXPECT_FALSE(env().Stat(Path("a/z"))->is_directory);
  EXPECT_EQ(env().Stat(Path("a/z"))->size, 2u);
  EXPECT_EQ(env().Remove(Path("a")).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(env().MakeDirectories(Path("a/z")).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(env().OpenForReading(Path("a/b")).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_P(EnvTest, RefusesAFileAboveTheLimit) {
  ASSERT_TRUE(env().WriteFile(Path("f"), "12345").ok());
  const Status status = env().ReadFile(Path("f"), 4).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*env().ReadFile(Path("f"), 5), "12345");
}

TEST_P(EnvTest, ReadsSequentiallyThroughItsBuffer) {
  std::string content;
  for (int i = 0; i < 700'000; ++i) content.push_back(static_cast<char>(i * 7));
  ASSERT_TRUE(env().WriteFile(Path("f"), content).ok());
  auto reader = SequentialReader::Open(env(), Path("f"));
  ASSERT_TRUE(reader.ok());
  std::string got;
  for (size_t n :
       {3u, 100'000u, 1u, 400'000u, 5u, 900'000u}) {  // both below and above the buffer's size
    std::string part(n, '\0');
    auto read = reader->Read({part.data(), part.size()});
    ASSERT_TRUE(read.ok());
    got += part.substr(0, *read);
    EXPECT_EQ(reader->offset(), got.size());
  }
  EXPECT_EQ(got, content);
}

TEST(FailingEnvTest, AnAtomicWriteLeavesTheOldFileWhereverItFails) {
  MemoryEnv memory;
  ASSERT_TRUE(memory.WriteFile("/f", "old").ok());
  int64_t operations;
  {
    FailingEnv counting(memory, -1, false);
    ASSERT_TRUE(counting.WriteFile("/f", "old").ok());
    operations = counting.operations();
  }
  ASSERT_GE(operations, 5);  // open, append, sync, close, rename
  for (int64_t n = 0; n < operations; ++n) {
    FailingEnv failing(memory, n);
    const Status status = failing.WriteFile("/f", "new");
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << n;
    EXPECT_NE(status.message().find("/f"), absl::string_view::npos) << status;
    EXPECT_EQ(*memory.ReadFile("/f"), "old") << n;
  }
}

TEST(FailingEnvTest, CanFailOnce) {
  MemoryEnv memory;
  FailingEnv failing(memory, 0, /*stays_broken=*/false);
  EXPECT_FALSE(failing.MakeDirectories("/a").ok());
  EXPECT_TRUE(failing.MakeDirectories("/a").ok());
}

TEST(PathTest, JoinsAndSplits) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
  EXPECT_EQ(Basename("a/b.c"), "b.c");
  EXPECT_EQ(Dirname("a/b.c"), "a");
  EXPECT_EQ(Dirname("/b"), "/");
  EXPECT_EQ(Dirname("b"), ".");
}

// They may have no end, and reading or opening one may wait for ever.
TEST(PosixEnv, ReadsAndReplacesRegularFilesOnly) {
  const TestFolder folder;
  const std::string pipe = folder.path() + "/pipe", file = folder.path() + "/file";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    EXPECT_EQ(PosixEnv().OpenForReading(path).status().code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(PosixEnv().WriteFile(path, "x").code(), absl::StatusCode::kFailedPrecondition);
  }
  EXPECT_FALSE(PosixEnv().OpenForWriting(pipe, Env::WriteMode::kTruncate).ok());
  ASSERT_TRUE(PosixEnv().WriteFile(file, "kept").ok());
  const std::string cut = file + std::string("\0b", 2), longest(100'000, 'x');
  for (const std::string& path : {cut, longest}) {
    const Status status = PosixEnv().WriteFile(path, "x");
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_LT(status.message().size(), 2000u);
  }
  EXPECT_EQ(PosixEnv().ReadFile(file).value(), "kept");
}

}  // namespace
}  // namespace carillon
