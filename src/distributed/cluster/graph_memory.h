// GraphMemory: what the graphs of all sessions of a server take together, about, and the programs
// that are made of them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/heap.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/work_scope.h"
#include "graph/function_library.h"
#include "graph/node_graph.h"
#include "proto/graph.pb.h"
#include "tensor/fair_share.h"

namespace carillon {

// A session may be small, and there may be any number of them: only together do they have a limit.
// Thread-safe.
class GraphMemory {
 public:
  // In bytes; 0: no limit.
  explicit GraphMemory(int64_t limit) : limit_(limit) {}
  // Of a graph that is to be added to one with these functions.
  static int64_t Estimate(const tensorflow::GraphDef& graph, const FunctionLibrary* functions);

  int64_t held() const {
    std::lock_guard lock(mutex_);
    return held_;
  }

 private:
  friend class GraphShare;

  const int64_t limit_;
  mutable std::mutex mutex_;
  int64_t held_ = 0;  // by all shares, under mutex_
};

// What one session takes of it; as a budget, what it takes to make a program. Thread-safe.
class GraphShare final : public MemoryBudget {
 public:
  explicit GraphShare(std::shared_ptr<GraphMemory> whole) : whole_(std::move(whole)) {}
  ~GraphShare() override { Discharge(held_); }
  GraphShare(const GraphShare&) = delete;
  GraphShare& operator=(const GraphShare&) = delete;

  // ResourceExhausted, and nothing is taken: there is no room, or others would have too little.
  Status Take(int64_t bytes) {
    return Charge(bytes) ? absl::OkStatus() : NoRoom(StrCat("one of about ", bytes));
  }
  Status NoRoom(std::string_view what) const {
    return ResourceExhausted(
        "the graphs of all sessions and the programs that are made of them may take ",
        whole_->limit_,
        " bytes on this server, half of what its tensors may (--memory_limit_mb), and one session "
        "three quarters of that, or less the less others leave: there is no room for ",
        what, ": close sessions that are not needed");
  }
  bool Charge(int64_t bytes) override {
    std::lock_guard lock(whole_->mutex_);
    if (!CanTake(bytes)) return false;
    held_ += bytes;
    whole_->held_ += bytes;
    return true;
  }
  void Discharge(int64_t bytes) override {
    {
      std::lock_guard lock(whole_->mutex_);
      held_ -= bytes;
      whole_->held_ -= bytes;
    }
    TrimHeapAfter(bytes);
  }
  // Time to forget what can be made again, where something is about to be made that may take so
  // much for a while: all together have little left, and there is no room for it here.
  bool IsShortOf(int64_t bytes) const {
    std::lock_guard lock(whole_->mutex_);
    return whole_->limit_ > 0 && whole_->held_ > whole_->limit_ / 2 && !CanTake(bytes);
  }

 private:
  bool CanTake(int64_t bytes) const {  // under whole_->mutex_
    return whole_->limit_ == 0 ||
           IsFairShare(held_ + bytes, {whole_->limit_ - whole_->held_ - bytes, whole_->limit_});
  }

  const std::shared_ptr<GraphMemory> whole_;
  int64_t held_ = 0;  // under whole_->mutex_
};

// What one thing takes of a session's share, until this goes.
class GraphCharge {
 public:
  // As GraphShare::Take.
  static StatusOr<GraphCharge> Take(std::shared_ptr<GraphShare> share, int64_t bytes) {
    CARILLON_RETURN_IF_ERROR(share->Take(bytes));
    return GraphCharge(std::move(share), bytes);
  }
  // Of nothing.
  GraphCharge() = default;
  GraphCharge(GraphCharge&& other) noexcept = default;
  GraphCharge& operator=(GraphCharge&& other) noexcept {
    std::swap(share_, other.share_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~GraphCharge() {
    if (share_ != nullptr) share_->Discharge(bytes_);
  }

 private:
  GraphCharge(std::shared_ptr<GraphShare> share, int64_t bytes)
      : share_(std::move(share)), bytes_(bytes) {}

  std::shared_ptr<GraphShare> share_;
  int64_t bytes_ = 0;
};

}  // namespace carillon
