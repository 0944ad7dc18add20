// FunctionLibrary: the functions that come with a graph, and their bodies as graphs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "carillon/graph.h"
#include "graph/node_graph.h"
#include "tensor/allocator.h"
#include "tensor/memory_charge.h"

namespace tensorflow {
class FunctionDef;
class FunctionDefLibrary;
}  // namespace tensorflow

namespace carillon {

// One function, instantiated: attributes in place of their names.
struct FunctionBody {
  std::unique_ptr<MemoryCharge> charge;  // to the library's allocator, for the graph; ends last
  std::string name;                      // of the function
  Graph graph;
  std::vector<Node*> args;  // _Arg nodes, by position
  std::vector<Endpoint> results;
  // What runs in every call, though no result may need it: the function's control outputs, and its
  // stateful nodes outside of branches and loops.
  std::vector<Node*> effects;
};

// Thread-safe. Functions are added, never changed. A library is a light reference to what it shares
// with the graphs of its bodies.
class FunctionLibrary {
 public:
  // The constants of instantiated bodies are `allocator`'s memory.
  explicit FunctionLibrary(Allocator* allocator = HostAllocator());

  // All or nothing; `added`, when given, gets the names of those that were not there. A function
  // that is there already must be the same: InvalidArgument otherwise, and for a name that an op
  // has, and for a malformed signature.
  Status Add(const tensorflow::FunctionDefLibrary& library,
             std::vector<std::string>* added = nullptr);
  // Takes back what nobody uses.
  void Remove(const std::vector<std::string>& names);
  void ToProto(tensorflow::FunctionDefLibrary* library) const;

  Allocator* allocator() const;

  // The function as an op, so that nodes can call it by its name; null when there is none. Lives as
  // long as the library.
  const OpSpec* FindSpec(std::string_view name) const;
  // The function that computes the gradient of `name`, when one was given; else empty.
  std::string GradientOf(std::string_view name) const;

  // NotFound when there is no such function; InvalidArgument names the function and the node for
  // whatever does not fit together in it; ResourceExhausted when the library's allocator has no
  // room for the body, which may be much larger than what is written of it.
  StatusOr<std::unique_ptr<FunctionBody>> Instantiate(const FunctionRef& function) const {
    return Instantiate(function, {});
  }
  // What is known of the results from what is known of the arguments. Nothing for a function that
  // cannot be instantiated, or calls itself.
  std::vector<OutputInfo> ResultsOf(const FunctionRef& function,
                                    const std::vector<OutputInfo>& args) const;

 private:
  struct Function {
    std::unique_ptr<tensorflow::FunctionDef> def;
    OpSpec spec;
  };
  struct State;
  FunctionLibrary(std::shared_ptr<State> state, int depth)
      : state_(std::move(state)), depth_(depth) {}
  std::shared_ptr<const Function> Find(const std::string& name) const;
  StatusOr<std::unique_ptr<FunctionBody>> Instantiate(const FunctionRef& function,
                                                      std::vector<OutputInfo> args) const;

  const std::shared_ptr<State> state_;
  // How many bodies are being instantiated around the graph that holds this library.
  const int depth_ = 0;
};

// The function that a node calls: one whose op is a function's name, PartitionedCall,
// StatefulPartitionedCall and RemoteCall. False for all other nodes.
bool IsFunctionCall(const Node& node);
FunctionRef CalledFunction(const Node& node);

}  // namespace carillon
