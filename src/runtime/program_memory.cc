#include "runtime/program_memory.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

namespace carillon {
namespace {

// What an attribute takes outside of itself. Tensors are shared by whoever has a copy, and have a
// limit of their own.
struct BytesOutside {
  int64_t operator()(const std::string& text) const { return static_cast<int64_t>(text.size()); }
  int64_t operator()(const FunctionRef& function) const {
    auto bytes = static_cast<int64_t>(function.name.size());
    for (const auto& [name, value] : function.attrs) {
      bytes += static_cast<int64_t>(sizeof(AttrValue) + sizeof(std::string) + name.size()) +
               std::visit(*this, value.variant());
    }
    return bytes;
  }
  template <typename T>
  int64_t operator()(const std::vector<T>& list) const {
    auto bytes = static_cast<int64_t>(list.size() * sizeof(T));
    for (const T& value : list) bytes += (*this)(value);
    return bytes;
  }
  template <typename T>
  int64_t operator()(const T&) const {
    return 0;
  }
};

}  // namespace

int64_t EstimateGraph(const NodeGraph& graph) {
  constexpr int64_t kNode = 1024;  // with a few attributes, and names of a usual length
  constexpr int64_t kUsual = 256;
  constexpr int64_t kAttr = sizeof(AttrValue) + sizeof(std::string) + 64;
  constexpr int64_t kFew = 4;
  int64_t bytes = graph.num_nodes() * kNode;
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    bytes += static_cast<int64_t>(sizeof(OutputInfo)) * std::max(0, node->num_outputs() - 1) +
             static_cast<int64_t>(node->num_inputs() * sizeof(Endpoint) +
                                  node->control_inputs().size() * sizeof(Node*)) +
             kAttr * std::max<int64_t>(0, static_cast<int64_t>(node->attrs().size()) - kFew);
    // The name is also how the node is found.
    auto text = static_cast<int64_t>(2 * node->name().size() + node->device().size());
    for (const auto& [name, value] : node->attrs())
      text += static_cast<int64_t>(name.size()) + std::visit(BytesOutside(), value.variant());
    bytes += std::max<int64_t>(0, text - kUsual);
  }
  return bytes;
}

int64_t EstimateProgram(const NodeGraph& graph) {
  constexpr int64_t kNode = 1024;  // its kernel, and its places in the plan
  constexpr int64_t kInput = 32;   // a slot, a pointer, and a place among the uses of the value
  int64_t bytes = EstimateGraph(graph) + graph.num_nodes() * kNode;
  for (const auto& node : graph.nodes()) {
    if (node == nullptr) continue;
    bytes += kInput * (node->num_inputs() + static_cast<int64_t>(node->control_inputs().size()));
  }
  return bytes;
}

}  // namespace carillon
