#include "distributed/serving/output_queue.h"

#include <climits>

namespace carillon {
namespace {

constexpr size_t kCopied = 2 << 10;     // up to here copying is cheaper than a vector of its own
constexpr size_t kOwnChunk = 16 << 10;  // no longer

}  // namespace

void OutputQueue::Append(std::string_view bytes) {
  if (chunks_.empty() || chunks_.back().owner != nullptr || chunks_.back().own.size() > kOwnChunk)
    chunks_.emplace_back();
  chunks_.back().own.append(bytes);
  size_ += bytes.size();
}

void OutputQueue::Append(std::string_view bytes,
                         const std::shared_ptr<const MessagePieces>& owner) {
  if (bytes.size() <= kCopied) return Append(bytes);
  chunks_.push_back({"", bytes, owner});
  size_ += bytes.size();
}

void OutputQueue::Gather(std::vector<iovec>* vectors) const {
  vectors->clear();
  size_t skip = sent_;
  for (const Chunk& chunk : chunks_) {
    if (vectors->size() == IOV_MAX) return;
    const std::string_view bytes = chunk.view().substr(skip);
    skip = 0;
    vectors->push_back({const_cast<char*>(bytes.data()), bytes.size()});
  }
}

void OutputQueue::Remove(size_t bytes) {
  size_ -= bytes;
  sent_ += bytes;
  while (!chunks_.empty() && sent_ >= chunks_.front().view().size()) {
    sent_ -= chunks_.front().view().size();
    chunks_.pop_front();
  }
}

}  // namespace carillon
