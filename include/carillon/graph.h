// Graph, the things in it (Output, Operation), and the scopes under which ops are made.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "carillon/dtype.h"
#include "carillon/shape.h"
#include "carillon/tensor.h"

namespace carillon {

class Graph;
class Node;
class NodeGraph;
class Operation;

// One output of an op: the value that other ops take as input. A light reference; valid as long as
// its graph.
class Output {
 public:
  Output() = default;  // refers to nothing
  Output(Node* node, int index) : node_(node), index_(index) {}

  bool valid() const { return node_ != nullptr; }
  Graph& graph() const;
  Operation op() const;
  int index() const { return index_; }
  std::string name() const;  // "dense/MatMul:0"
  DType dtype() const;
  PartialShape shape() const;  // as far as it is known before a step
  Node* node() const { return node_; }
  bool operator==(const Output&) const = default;

 private:
  Node* node_ = nullptr;
  int index_ = 0;
};

// One op of a graph. A light reference; valid as long as its graph.
class Operation {
 public:
  Operation() = default;
  explicit Operation(Node* node) : node_(node) {}
  Operation(const Output& output) : node_(output.node()) {}  // NOLINT: an output names its op

  bool valid() const { return node_ != nullptr; }
  Graph& graph() const;
  const std::string& name() const;
  const std::string& type() const;
  const std::string& device() const;
  int num_inputs() const;
  Output input(int i) const;
  int num_outputs() const;
  // Throws Error(OutOfRange) when there is none.
  Output output(int i = 0) const;
  Node* node() const { return node_; }
  bool operator==(const Operation&) const = default;

 private:
  Node* node_ = nullptr;
};

// Chooses a device for a new op; sees the op, returns a device string.
using DeviceFunction = std::function<std::string(const Operation& op)>;

// Ops with names, made under scopes. Not thread-safe. Ops are never removed or changed, so sessions
// may run while none is added.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Reads a GraphDef into a new or existing graph; names are prefixed with `prefix/` when one is
  // given. Throws Error(InvalidArgument) and adds nothing when it is malformed.
  void ImportBinary(std::string_view graph_def, const std::string& prefix = "");
  void ImportText(std::string_view graph_def, const std::string& prefix = "");
  std::string ExportBinary() const;
  std::string ExportText() const;
  std::string ExportGraphviz() const;

  // Throws Error(NotFound) and names the nearest match.
  Operation FindOperation(std::string_view name) const;
  Output FindOutput(std::string_view name) const;  // "name" or "name:index"
  std::vector<Operation> operations() const;

  // From then on adding an op throws Error(FailedPrecondition).
  void Freeze();
  void Unfreeze();
  bool frozen() const;

  // The seed that random ops without one of their own derive theirs from. Unset: each run of the
  // program differs.
  void SetSeed(int64_t seed);

  // Collections: ordered lists of outputs under a key ("trainable_variables", "losses", …). Of an
  // operation that is there for its effects ("update_ops") only Output::op() has a meaning.
  void AddToCollection(const std::string& key, const Output& output);
  void AddToCollection(const std::string& key, const Operation& op) {
    AddToCollection(key, Output(op.node(), 0));
  }
  std::vector<Output> Collection(const std::string& key) const;

  struct State;
  State& state() const { return *state_; }
  NodeGraph& nodes() const;

 private:
  std::unique_ptr<State> state_;
};

// An argument of an op function: an Output, or a literal that becomes a Const of the dtype that the
// op wants: Reshape(x, {-1, 784}), Mul(x, 0.5).
class Input {
 public:
  Input() = default;
  Input(const Output& output) : output_(output) {}                          // NOLINT
  Input(const Operation& op) : output_(op.output(0)) {}                     // NOLINT
  Input(const Tensor& value) : value_(value) {}                             // NOLINT
  Input(const char* value) : value_(Tensor::Scalar(std::string(value))) {}  // NOLINT
  Input(const std::string& value) : value_(Tensor::Scalar(value)) {}        // NOLINT
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Input(T value) : value_(Literal(value)), weak_(true) {}  // NOLINT
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Input(std::initializer_list<T> values)
      : value_(Tensor::FromVector(Literals(values))), weak_(true) {}

  bool valid() const { return output_.valid() || value_.has_value(); }
  bool is_output() const { return output_.valid(); }
  const Output& output() const { return output_; }
  const Tensor& value() const { return value_; }
  // True for C++ literals, whose dtype adapts; a Tensor keeps its own.
  bool is_weak() const { return weak_; }

 private:
  template <typename T>
  using Stored =
      std::conditional_t<std::is_same_v<T, bool>, bool,
                         std::conditional_t<std::is_floating_point_v<T>, T,
                                            std::conditional_t<sizeof(T) <= 4, int32_t, int64_t>>>;
  template <typename T>
  static Tensor Literal(T value) {
    return Tensor::Scalar(static_cast<Stored<T>>(value));
  }
  template <typename T>
  static std::vector<Stored<T>> Literals(std::initializer_list<T> values) {
    return {values.begin(), values.end()};
  }
  Output output_;
  Tensor value_;
  bool weak_ = false;
};

// Ops made while it lives are named "name/…" (made unique: name_1/… when the name was used). A name
// that ends in '/' is a whole scope to enter again, whatever scopes are open: "tower/dense/"; "/"
// is the outermost.
class NameScope {
 public:
  NameScope(Graph& graph, std::string_view name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;
  // What names begin with here, "tower/dense_1/": enters this very scope again.
  const std::string& prefix() const { return prefix_; }

 private:
  Graph& graph_;
  std::string outer_;
  std::string prefix_;
};

// Ops made while it lives get the device. Scopes nest: an outer one only fills what the inner ones
// leave open.
class DeviceScope {
 public:
  DeviceScope(Graph& graph, std::string device);
  DeviceScope(Graph& graph, DeviceFunction function);
  // Outer scopes do not apply inside.
  DeviceScope(Graph& graph, std::nullptr_t);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  Graph& graph_;
};

// Ops made while it lives run after `before`.
class ControlDependencies {
 public:
  ControlDependencies(Graph& graph, std::vector<Operation> before);
  // No dependencies from outer scopes inside.
  ControlDependencies(Graph& graph, std::nullptr_t);
  ~ControlDependencies();
  ControlDependencies(const ControlDependencies&) = delete;
  ControlDependencies& operator=(const ControlDependencies&) = delete;

 private:
  Graph& graph_;
};

// Ops made while it lives are placed with `with`.
class ColocateWith {
 public:
  ColocateWith(Graph& graph, Operation with);
  ~ColocateWith();
  ColocateWith(const ColocateWith&) = delete;
  ColocateWith& operator=(const ColocateWith&) = delete;

 private:
  Graph& graph_;
};

}  // namespace carillon
