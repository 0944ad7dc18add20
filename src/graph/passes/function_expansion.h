// What the passes that replace calls of functions share.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/function_library.h"
#include "graph/passes/pass.h"
#include "graph/passes/rewiring.h"

namespace carillon {

// One expansion under way. Conditionals (lower_conditionals.cc) and loops (lower_loops.cc) become
// Switch, Merge, Enter, … around calls of their functions; calls (inline_functions.cc) become
// copies of the bodies, in which there may be more of all of these. Uses of what was replaced are
// redirected at the end.
class FunctionExpansion {
 public:
  explicit FunctionExpansion(NodeGraph* graph);
  Status Run();

 private:
  // A body that was copied in, and the one that its call stood in.
  struct Scope {
    std::string function;  // with its attributes
    int outer = -1;
    int depth = 0;
  };

  Status Expand(Node* node);
  // `device` is what nodes of the body inherit.
  Status Inline(Node* call, const FunctionRef& function, std::vector<Endpoint> inputs,
                const std::string& device);
  Status LowerIf(Node* node);
  Status LowerCase(Node* node);
  Status LowerWhile(Node* node);
  Status LowerFor(Node* node);

  // Called when `pred` is `taken_when`. The preds of a conditional's branches are such that one is
  // taken.
  struct Branch {
    FunctionRef function;
    Endpoint pred;
    bool taken_when = true;
    std::string name;
  };
  Status LowerBranches(Node* node, const std::vector<Endpoint>& inputs,
                       const std::vector<Branch>& branches);
  // `condition` and `body` add what makes the condition, and the next values, of the loop's
  // variables.
  struct Loop {
    std::vector<Endpoint> initial;
    int64_t parallel_iterations = 10;
    std::function<StatusOr<Endpoint>(const std::vector<Endpoint>&)> condition;
    std::function<StatusOr<std::vector<Endpoint>>(const std::vector<Endpoint>&)> body;
  };
  // The values after the loop.
  StatusOr<std::vector<Endpoint>> LowerLoop(Node* node, const Loop& loop);

  // Add nodes that belong to `origin`: named origin/name, on its device, in its scope. AddOne gives
  // output 0.
  StatusOr<Node*> Add(const Node& origin, std::string_view name, std::string_view op,
                      std::vector<Endpoint> inputs, AttrMap attrs = {},
                      std::vector<Node*> control_inputs = {});
  StatusOr<Endpoint> AddOne(const Node& origin, std::string_view name, std::string_view op,
                            std::vector<Endpoint> inputs, AttrMap attrs = {},
                            std::vector<Node*> control_inputs = {});
  StatusOr<Node*> AddCall(const Node& origin, std::string_view name, const FunctionRef& function,
                          std::vector<Endpoint> inputs, const std::vector<DType>& results,
                          std::vector<Node*> control_inputs = {});
  // A constant that is there when `with` is.
  StatusOr<Endpoint> AddInt32(const Node& origin, std::string_view name, int32_t value,
                              const Endpoint& with);
  // `value`, or what TensorFlow takes for its truth when it is no scalar bool.
  StatusOr<Endpoint> AddBool(const Node& origin, std::string_view name, const Endpoint& value,
                             std::vector<Node*> control_inputs);

  StatusOr<const FunctionBody*> BodyOf(const FunctionRef& function, const std::string& key);
  StatusOr<std::vector<DType>> ResultTypes(const FunctionRef& function);
  // Numbers and dtypes of arguments and results.
  static Status CheckSignature(const Node& call, const FunctionBody& body,
                               const std::vector<Endpoint>& inputs);
  // Opens a scope for a copy of the body, unless that would be too much.
  Status OpenScope(const Node& call, const FunctionRef& function, const std::string& key,
                   const FunctionBody& body);
  Status CopyBody(const Node& call, const FunctionBody& body, const std::vector<Endpoint>& args,
                  Node* start, const std::string& device, std::vector<Node*>* copies);
  static DType DTypeAt(const Endpoint& value) { return value.node->output(value.index).dtype; }
  int ScopeOf(const Node& node) const;  // -1: in no body

  NodeGraph& graph_;
  Rewiring rewiring_;
  bool has_control_flow_ = false;
  const int64_t first_added_;  // node
  std::vector<Scope> scopes_;
  std::unordered_map<int, int> scope_of_;  // by node id
  std::map<std::string, std::unique_ptr<FunctionBody>> bodies_;
};

}  // namespace carillon
