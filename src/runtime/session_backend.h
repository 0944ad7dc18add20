// What the public Session stands on: steps in this process (LocalSession), or on a server.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "carillon/session.h"
#include "graph/node_graph.h"

namespace carillon {

// One signature, ready to run. Thread-safe. Must not outlive its session.
class StepRunner {
 public:
  virtual ~StepRunner() = default;
  virtual Status Run(std::span<const Tensor> feeds, const RunOptions& options,
                     std::vector<Tensor>* fetches, RunMetadata* metadata) = 0;
};

// A step that runs while its caller feeds and fetches piece by piece. Not thread-safe. Destroying
// it cancels the step.
class PartsRunner {
 public:
  virtual ~PartsRunner() = default;
  // `feeds` and `fetches` are positions in the lists that the step was started with, each used
  // once. Waits for the fetches.
  virtual Status Exchange(const std::vector<std::pair<size_t, Tensor>>& feeds,
                          const std::vector<size_t>& fetches, std::vector<Tensor>* results) = 0;
};

// Thread-safe.
class SessionBackend {
 public:
  virtual ~SessionBackend() = default;
  // The same lists give the same object.
  virtual StatusOr<std::shared_ptr<StepRunner>> PrepareStep(const std::vector<Endpoint>& feeds,
                                                            const std::vector<Endpoint>& fetches,
                                                            const std::vector<Node*>& targets) = 0;
  virtual StatusOr<std::unique_ptr<PartsRunner>> StartStepInParts(
      const std::vector<Endpoint>& feeds, const std::vector<Endpoint>& fetches,
      const std::vector<Node*>& targets) = 0;
  virtual void Close() = 0;
  // Of this process; 0 where the tensors are a server's.
  virtual int64_t bytes_in_use() const { return 0; }
  virtual int64_t peak_bytes() const { return 0; }
};

// What a Session is made of.
struct Session::State {
  Graph& graph;
  std::unique_ptr<SessionBackend> backend;
};

}  // namespace carillon
