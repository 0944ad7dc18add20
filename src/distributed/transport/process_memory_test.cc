#include "distributed/transport/process_memory.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace carillon {
namespace {

TEST(ProcessMemory, OwnMemoryCanBeRead) {
  const MemoryProof proof;
  ASSERT_EQ(ReadableProcess(proof.ToBytes()), ::getpid());
  const std::string text = "some bytes";
  std::string copy(text.size(), ' ');
  const auto address = reinterpret_cast<uintptr_t>(text.data());
  ASSERT_TRUE(ReadProcessMemory(::getpid(), address, copy.data(), copy.size()).ok());
  EXPECT_EQ(copy, text);
}

TEST(ProcessMemory, FalseProofsProveNothing) {
  const MemoryProof proof;
  std::string bytes = proof.ToBytes();
  EXPECT_EQ(ReadableProcess(""), 0);
  EXPECT_EQ(ReadableProcess(bytes.substr(1)), 0);
  bytes.back() ^= 1;  // another secret
  EXPECT_EQ(ReadableProcess(bytes), 0);
}

TEST(ProcessMemory, AProcessThatHasEndedIsAnError) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  char byte = 0;
  EXPECT_EQ(ReadProcessMemory(child, reinterpret_cast<uintptr_t>(&byte), &byte, 1).code(),
            absl::StatusCode::kUnavailable);
}

TEST(ProcessMemory, AnAddressThatIsNoneIsAnError) {
  char byte = 0;
  EXPECT_FALSE(ReadProcessMemory(::getpid(), 8, &byte, 1).ok());
}

}  // namespace
}  // namespace carillon
