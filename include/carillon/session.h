// Session: runs steps of a graph.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "carillon/graph.h"
#include "carillon/security.h"
#include "carillon/tensor.h"

namespace carillon {

struct SessionOptions {
  // Behaviour.
  bool exact = false;                 // only algorithms that round like the plain ones: no Winograd
  bool allow_soft_placement = false;  // ops that name a device which is not there run on the CPU
  int64_t memory_limit_bytes = 0;  // most memory that tensors of this session may take; 0: no limit
  std::chrono::milliseconds connect_timeout{10'000};  // of sessions on a server
  Security security;                                  // likewise, over the network
  // Performance.
  int threads = 0;      // that a kernel may use; 0: all cores
  bool measure = true;  // time candidate algorithms when a signature is first run, keep the fastest
  bool optimize = true;  // fold, merge and fuse; off: run the graph as it was built
  // Looking inside.
  bool reference_kernels = false;  // only the plain kernels
  bool log_kernels =
      false;  // say which kernel was chosen for each node, and which declined and why
  // A folder. Each signature gets a folder of its own in it (1, 2, …), with the graph after each
  // pass, as text and for Graphviz, and the program that comes of it.
  std::string dump_graphs;
};

struct RunOptions {
  std::chrono::milliseconds timeout{0};  // 0: none. When it passes, Error(DeadlineExceeded)
  bool trace = false;                    // fill RunMetadata
};

// When and how one node ran.
struct NodeTiming {
  std::string node;
  std::string op;
  std::string kernel;  // "onednn", "ref", …; not known of a step on a server
  std::string device;  // where it ran
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t output_bytes = 0;
  // As far as they were known before the step. Of a handle: its own, not that of the variable.
  std::vector<PartialShape> input_shapes;
  std::vector<PartialShape> output_shapes;
  std::vector<std::string> inputs;  // the values that it reads: "w/read", "split:1", "_arg_x_0"
  std::vector<DType> output_dtypes;
};

struct RunMetadata {
  std::string device;  // of nodes that name none
  std::vector<NodeTiming> nodes;
  // A trace file that Perfetto and chrome://tracing open: each device is a process, with a row for
  // its kernels, and more where some wait while others run. Throws Error when it cannot be written.
  void WriteTrace(const std::string& path) const;
  // The same as a serialized tensorflow.StepStats.
  std::string SerializeStepStats() const;
};

using Feed = std::pair<Output, Tensor>;
using Feeds = std::vector<Feed>;

class Server;
class Session;

// A signature prepared once: feeds and fetches by position. Thread-safe. Must not outlive its
// session.
class Callable {
 public:
  Callable() = default;
  std::vector<Tensor> operator()(const std::vector<Tensor>& feeds,
                                 const RunOptions& options = {}) const;
  // The same, into `fetches`, whose memory is reused.
  void Run(const std::vector<Tensor>& feeds, std::vector<Tensor>* fetches,
           const RunOptions& options = {}) const;

 private:
  friend class Session;
  struct State;
  std::shared_ptr<State> state_;
};

// A step in parts: feed some, fetch some, go on. Each feed and fetch of the set-up can be given
// once.
class PartialRun {
 public:
  std::vector<Tensor> Run(const std::vector<Output>& fetches, const Feeds& feeds = {});

 private:
  friend class Session;
  struct State;
  std::shared_ptr<State> state_;
};

// Thread-safe: several steps may run at once. Ops may be added to the graph between runs, not
// during one. Every failure is an Error that names the node, its op and what to do; the session
// stays usable.
class Session {
 public:
  // Steps run in this process.
  explicit Session(Graph& graph, const SessionOptions& options = {});
  // Steps run on the server at `target`, "grpc://host:port": one of ours, or one of TensorFlow's.
  // Its variables and other resources are shared with the server's other sessions. Connects with
  // the first step, and throws Error(Unavailable) there when nobody answers within
  // options.connect_timeout, Error(Unauthenticated) when the server does not let it in.
  Session(const std::string& target, Graph& graph, const SessionOptions& options = {});
  // The same on a server of this process, without the network in between. The session must not
  // outlive it.
  Session(Server& server, Graph& graph, const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // The values of `fetches`, in order. `targets` run too.
  std::vector<Tensor> Run(const std::vector<Output>& fetches, const Feeds& feeds = {},
                          const std::vector<Operation>& targets = {},
                          const RunOptions& options = {}, RunMetadata* metadata = nullptr);
  // One value.
  Tensor Run(const Output& fetch, const Feeds& feeds = {});
  // No value: session.Run(train, {{x, images}, {y, labels}}).
  void Run(const Operation& target, const Feeds& feeds = {});

  Callable MakeCallable(const std::vector<Output>& feeds, const std::vector<Output>& fetches,
                        const std::vector<Operation>& targets = {});
  PartialRun MakePartialRun(const std::vector<Output>& feeds, const std::vector<Output>& fetches,
                            const std::vector<Operation>& targets = {});

  // Ends running steps with Error(Cancelled); later runs throw Error(FailedPrecondition).
  void Close();

  // Memory that tensors of this session take now and took at most.
  int64_t bytes_in_use() const;
  int64_t peak_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace carillon
