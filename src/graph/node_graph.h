// Node and NodeGraph: the graph that every layer works on. The public Graph adds scopes and naming
// on top; passes rewrite copies of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "graph/attr.h"
#include "graph/op_spec.h"

namespace carillon {

class FunctionLibrary;
class Graph;
class Node;
class NodeGraph;

// Output `index` of `node`.
struct Endpoint {
  Node* node = nullptr;
  int index = 0;
  bool operator==(const Endpoint&) const = default;
};

// What a resource handle leads to, as far as it is known before the step runs.
struct HandleInfo {
  DType dtype = DType::kInvalid;
  PartialShape shape;
};

// What is known of one output before the step runs.
struct OutputInfo {
  DType dtype = DType::kInvalid;
  bool is_ref = false;
  PartialShape shape;
  std::optional<HandleInfo> handle;  // of resource outputs
  // Of small integer vectors and scalars that are computed from shapes: the elements, -1 where
  // unknown. See value_inference.h.
  std::optional<PartialShape> partial_value;
};

class Node {
 public:
  int id() const { return id_; }  // position in NodeGraph::nodes()
  const std::string& name() const { return name_; }
  const OpSpec& spec() const { return *spec_; }
  const std::string& op() const { return spec_->name; }
  const std::string& device() const { return device_; }  // as requested; may be empty
  void set_device(std::string device) { device_ = std::move(device); }
  NodeGraph& graph() const { return *graph_; }

  // Attributes, defaults filled in. attr<T>() is for attributes that the op's spec declares with
  // that type: asking for another is a bug and throws Error(Internal).
  const AttrMap& attrs() const { return attrs_; }
  const AttrValue* FindAttr(std::string_view name) const;
  template <typename T>
  const T& attr(std::string_view name) const {
    const AttrValue* value = FindAttr(name);
    const T* typed = value == nullptr ? nullptr : value->get_if<T>();
    if (typed == nullptr) ThrowNoAttr(name);
    return *typed;
  }
  void set_attr(std::string name, AttrValue value) {
    attrs_.insert_or_assign(std::move(name), std::move(value));
  }

  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  const Endpoint& input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  const std::vector<Endpoint>& inputs() const { return inputs_; }
  const std::vector<Node*>& control_inputs() const { return control_inputs_; }
  DType input_dtype(int i) const { return input(i).node->output(input(i).index).dtype; }
  // True when input i is declared ref(T): the op changes the variable rather than reading its
  // value.
  bool input_wants_ref(int i) const { return input_wants_ref_[static_cast<size_t>(i)]; }
  // First and past-the-last flat input of the argument `name` of the spec.
  std::pair<int, int> InputRange(std::string_view argument) const;

  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  const OutputInfo& output(int i) const { return outputs_[static_cast<size_t>(i)]; }
  OutputInfo& mutable_output(int i) { return outputs_[static_cast<size_t>(i)]; }

  // "conv1 (Conv2D)", for messages.
  std::string Describe() const;

 private:
  friend class NodeGraph;
  [[noreturn]] void ThrowNoAttr(std::string_view name) const;

  int id_ = -1;
  std::string name_;
  const OpSpec* spec_ = nullptr;
  std::string device_;
  NodeGraph* graph_ = nullptr;
  AttrMap attrs_;
  std::vector<Endpoint> inputs_;
  std::vector<Node*> control_inputs_;
  std::vector<bool> input_wants_ref_;
  std::vector<OutputInfo> outputs_;
};

// What Add makes a node of. `attrs` may leave out attributes with defaults.
struct NodeInit {
  std::string name;
  std::string op;
  std::vector<Endpoint> inputs;
  std::vector<Node*> control_inputs;
  AttrMap attrs;
  std::string device;
};

// Owns its nodes. Not thread-safe; concurrent reads are fine while nobody writes.
class NodeGraph {
 public:
  explicit NodeGraph(const OpTable& ops = AllOps()) : ops_(ops) {}
  NodeGraph(const NodeGraph&) = delete;
  NodeGraph& operator=(const NodeGraph&) = delete;

  // Checks op, attributes, number and dtypes of the inputs, infers shapes, and adds. The error
  // names node and op. Nothing is added on failure. A null Endpoint is allowed only as an input of
  // Merge or RefMerge, to be filled in by SetInput when the loop closes.
  StatusOr<Node*> Add(NodeInit init);
  // NotFound, with the nearest name, when there is no such op, and no function of that name.
  Status CheckOp(const std::string& op, const std::string& node) const;

  // Nodes in the order of their ids; null where one was removed.
  const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  int num_nodes() const { return static_cast<int>(nodes_.size()); }  // removed ones included
  Node* Find(std::string_view name) const;                           // null when there is none
  const OpTable& ops() const { return ops_; }

  // Rewiring, for passes and for closing loops. Dtypes must agree (InvalidArgument otherwise).
  Status SetInput(Node* node, int i, Endpoint input);
  void SetInputs(Node* node,
                 std::vector<Endpoint>
                     inputs);  // unchecked: the caller keeps attributes and inputs consistent
  void AddControlInput(Node* node, Node* before);
  void SetControlInputs(Node* node, std::vector<Node*> before);
  // Every use of `from` (not `except`) reads `to` instead; control dependencies on from.node stay.
  void ReplaceUses(Endpoint from, Endpoint to, const Node* except = nullptr);
  // The node must have no uses left.
  void Remove(Node* node);

  // Producers before consumers; edges out of NextIteration are left out. A cycle is InvalidArgument
  // and names its nodes.
  StatusOr<std::vector<Node*>> TopologicalOrder() const;

  // Runs the shape function of `node` again, from what is now known of its inputs.
  Status InferShapes(Node* node);

  // A graph with copies of exactly those nodes that `keep` marks by id (inputs must be marked too);
  // `copies`, when given, maps old ids to new nodes.
  std::unique_ptr<NodeGraph> CopySubset(const std::vector<bool>& keep,
                                        std::vector<Node*>* copies = nullptr) const;

  // A name that no node has: `wanted`, or wanted_1, wanted_2, …
  std::string UniqueName(std::string_view wanted) const;

  // The functions that nodes may call; null when there are none. Copies of the graph share them.
  const std::shared_ptr<FunctionLibrary>& functions() const { return functions_; }
  void set_functions(std::shared_ptr<FunctionLibrary> functions) {
    functions_ = std::move(functions);
  }

  // The public graph that owns this one, when there is one.
  Graph* owner() const { return owner_; }
  void set_owner(Graph* owner) { owner_ = owner; }

 private:
  const OpSpec* FindSpec(const std::string& op) const;  // null when there is none

  const OpTable& ops_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_map<std::string, Node*> by_name_;
  mutable std::unordered_map<std::string, int> next_suffix_;
  std::shared_ptr<FunctionLibrary> functions_;
  Graph* owner_ = nullptr;
};

// Consumers of every output, taken at one moment.
class UseMap {
 public:
  struct Use {
    Node* node;
    int input;  // -1: a control dependency
  };
  explicit UseMap(const NodeGraph& graph);
  // False for nodes that were added since.
  bool Knows(const Node& node) const { return static_cast<size_t>(node.id()) < uses_.size(); }
  const std::vector<Use>& uses(const Node& node) const {
    return uses_[static_cast<size_t>(node.id())];
  }
  // Data uses of one output.
  std::vector<Use> uses(Endpoint output) const;

 private:
  std::vector<std::vector<Use>> uses_;
};

}  // namespace carillon
