// Messages between tasks: from a stream, and from bytes beside a tensor, which must agree; and
// back.
#include <vector>

#include "distributed/cluster/task_wire.h"
#include "fuzz_target.h"
#include "tensor/limited_allocator.h"

namespace carillon {
namespace {

struct Result {
  Status status;
  std::vector<TaskMessage> messages;
};

Result ReadStream(std::string_view bytes, Allocator* allocator) {
  CodedInput in(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int>(bytes.size()));
  Result result;
  result.status = ReadTaskMessages(
      &in, allocator, [&](TaskMessage message) { result.messages.push_back(std::move(message)); });
  return result;
}

Result ReadBeside(std::string_view bytes, const Tensor& content, Allocator* allocator) {
  Result result;
  result.status = ReadTaskMessages(bytes, content, false, allocator, [&](TaskMessage message) {
    result.messages.push_back(std::move(message));
  });
  return result;
}

std::string Write(const std::vector<TaskMessage>& messages) {
  MessagePieces pieces;
  for (const TaskMessage& message : messages) AddTaskMessage(message, &pieces);
  return pieces.Flatten();
}

}  // namespace
}  // namespace carillon

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carillon;
  static const std::shared_ptr<Allocator> memory =
      MakeLimitedAllocator(MakePoolAllocator(), 16 << 20);
  const std::string_view bytes = ViewOf(data, size);
  const Result streamed = ReadStream(bytes, memory.get());
  const Result beside = ReadBeside(bytes, Tensor(), memory.get());
  // They may find a fault in other words.
  Require(streamed.status.ok() == beside.status.ok() &&
              streamed.messages.size() == beside.messages.size(),
          "both readers say the same");
  // The second half as the content of a tensor that came on its own.
  const std::string_view second = bytes.substr(size / 2);
  if (!second.empty()) {
    Tensor content(DType::kUint8, Shape{static_cast<int64_t>(second.size())});
    second.copy(static_cast<char*>(content.mutable_raw_data()), second.size());
    const Result halves = ReadBeside(bytes.substr(0, size / 2), content, memory.get());
    Require(halves.status.ok() == streamed.status.ok(), "it does not matter how the bytes came");
  }
  if (!streamed.status.ok()) return 0;
  static const std::shared_ptr<Allocator> more_memory =
      MakeLimitedAllocator(MakePoolAllocator(), 64 << 20);
  const std::string written = Write(streamed.messages);
  const Result again = ReadStream(written, more_memory.get());
  Require(again.status.ok() && again.messages.size() == streamed.messages.size(),
          "what is written can be read");
  return 0;
}
