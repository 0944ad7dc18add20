#include "distributed/transport/process_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <sys/uio.h>
#include <unistd.h>

#include "base/parallel.h"
#include "base/random_id.h"
#include "base/strings.h"

namespace carillon {

namespace {

Status ReadPiece(int64_t process, uint64_t address, void* to, size_t bytes) {
  auto* target = static_cast<char*>(to);
  while (bytes > 0) {
    const iovec local{target, bytes};
    const iovec remote{reinterpret_cast<void*>(address), bytes};
    const ssize_t done =
        ::process_vm_readv(static_cast<pid_t>(process), &local, 1, &remote, 1, /*flags=*/0);
    if (done <= 0) {
      return absl::UnavailableError(StrCat("the memory of process ", process, " cannot be read: ",
                                           done == 0 ? "nothing there" : std::strerror(errno)));
    }
    target += done;
    address += static_cast<uint64_t>(done);
    bytes -= static_cast<size_t>(done);
  }
  return absl::OkStatus();
}

}  // namespace

MemoryProof::MemoryProof() : secret_{RandomId(), RandomId()} {}

std::string MemoryProof::ToBytes() const {
  const Claim claim{::getpid(), reinterpret_cast<uintptr_t>(secret_.data()), secret_};
  return std::string(reinterpret_cast<const char*>(&claim), sizeof(claim));
}

int64_t ReadableProcess(const std::string& proof) {
  MemoryProof::Claim claim;
  if (proof.size() != sizeof(claim)) return 0;
  std::memcpy(&claim, proof.data(), sizeof(claim));
  std::array<uint64_t, 2> found{};
  if (claim.process <= 0 || claim.process > INT32_MAX ||
      !ReadProcessMemory(claim.process, claim.address, found.data(), sizeof(found)).ok())
    return 0;
  return found == claim.secret ? claim.process : 0;
}

Status ReadProcessMemory(int64_t process, uint64_t address, void* to, size_t bytes) {
  // One thread does not use all of the memory's bandwidth.
  constexpr size_t kPiece = 2 << 20;
  if (bytes < 2 * kPiece) return ReadPiece(process, address, to, bytes);
  std::mutex mutex;
  Status status;
  ParallelFor(
      static_cast<int64_t>((bytes + kPiece - 1) / kPiece), 1, [&](int64_t begin, int64_t end) {
        const size_t first = static_cast<size_t>(begin) * kPiece;
        const size_t last = std::min(static_cast<size_t>(end) * kPiece, bytes);
        const Status read =
            ReadPiece(process, address + first, static_cast<char*>(to) + first, last - first);
        std::lock_guard lock(mutex);
        status.Update(read);
      });
  return status;
}

}  // namespace carillon
