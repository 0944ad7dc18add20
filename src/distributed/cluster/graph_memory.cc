#include "distributed/cluster/graph_memory.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "graph/function_body.h"
#include "graph/graph_def.h"
#include "graph/op_spec.h"

namespace carillon {

int64_t GraphMemory::Estimate(const tensorflow::GraphDef& graph, const FunctionLibrary* functions) {
  constexpr int64_t kNode = 512;  // with a few attributes
  constexpr int64_t kAttr = sizeof(AttrValue) + sizeof(std::string) + 64;
  constexpr int kFew = 4;
  constexpr int64_t kInput = sizeof(Endpoint) + 8;
  constexpr int64_t kOutput = sizeof(OutputInfo);
  const auto size = [](const auto& message) {
    return static_cast<int64_t>(message.ByteSizeLong());
  };
  const auto space = [](const auto& message) {
    return static_cast<int64_t>(message.SpaceUsedLong());
  };
  // Functions are kept as they came, and their signatures as ops besides. Their bodies count when
  // they are made.
  int64_t bytes = size(graph) - size(graph.library()) + space(graph.library());
  std::unordered_map<std::string_view, OpSpec> added;
  for (const tensorflow::FunctionDef& function : graph.library().function()) {
    bytes += kNode + 2 * space(function.signature());
    if (StatusOr<OpSpec> spec = SpecOfFunction(function); spec.ok())
      added.emplace(function.signature().name(), *std::move(spec));
  }
  for (const tensorflow::NodeDef& node : graph.node()) {
    const OpSpec* spec = AllOps().Find(node.op());
    if (spec == nullptr && functions != nullptr) spec = functions->FindSpec(node.op());
    if (const auto found = added.find(node.op()); spec == nullptr && found != added.end())
      spec = &found->second;
    const int64_t outputs = spec == nullptr ? 0 : NumOutputs(node, *spec);
    bytes += kNode + kInput * node.input_size() + kOutput * std::max<int64_t>(0, outputs - 1) +
             kAttr * std::max(0, static_cast<int>(node.attr_size()) - kFew);
    // It is found by its name; one that is left out has it in its error, too.
    bytes += static_cast<int64_t>((spec == nullptr ? 3 : 1) * node.name().size());
    for (const auto& [name, value] : node.attr()) {
      // Constants become tensors, which have a limit of their own.
      bytes -= static_cast<int64_t>(value.tensor().tensor_content().size());
      // Each element is an object, for which a message needs a byte or two.
      if (value.has_list() || value.has_func()) bytes += 2 * space(value);
    }
  }
  return bytes;
}

}  // namespace carillon
