#include "distributed/cluster/graph_memory.h"

#include <string>
#include <string_view>
#include <unordered_map>

#include "graph/node_check.h"
#include "graph/op_spec.h"

namespace carillon {
namespace {

// How many outputs of one argument a node has, by what its attributes say of lists: a small node
// may have many.
int64_t NumOutputs(const tensorflow::NodeDef& node, const std::string& number_attr,
                   const std::string& type_list_attr) {
  if (number_attr.empty() && type_list_attr.empty()) return 1;
  const auto attr = node.attr().find(number_attr.empty() ? type_list_attr : number_attr);
  if (attr == node.attr().end()) return 0;
  if (number_attr.empty()) return attr->second.list().type_size();
  return std::clamp<int64_t>(attr->second.i(), 0, kMostListed);
}

}  // namespace

int64_t GraphMemory::Estimate(const tensorflow::GraphDef& graph, const FunctionLibrary* functions) {
  constexpr int64_t kNode = 512;  // besides its attributes and names
  std::unordered_map<std::string_view, const tensorflow::OpDef*> added;
  for (const tensorflow::FunctionDef& function : graph.library().function())
    added.emplace(function.signature().name(), &function.signature());
  const auto outputs_of = [&](const tensorflow::NodeDef& node) {
    int64_t outputs = 0;
    const OpSpec* spec = AllOps().Find(node.op());
    if (spec == nullptr && functions != nullptr) spec = functions->FindSpec(node.op());
    if (spec != nullptr) {
      for (const ArgSpec& arg : spec->outputs)
        outputs += NumOutputs(node, arg.number_attr, arg.type_list_attr);
    } else if (const auto found = added.find(node.op()); found != added.end()) {
      for (const tensorflow::OpDef::ArgDef& arg : found->second->output_arg())
        outputs += NumOutputs(node, arg.number_attr(), arg.type_list_attr());
    }
    return outputs;
  };
  auto bytes = static_cast<int64_t>(graph.ByteSizeLong());
  const auto add = [&](const auto& nodes) {
    bytes += nodes.size() * kNode;
    for (const tensorflow::NodeDef& node : nodes) {
      bytes += kOutput * std::max<int64_t>(0, outputs_of(node) - 1);
      // Constants become tensors, which have a limit of their own.
      for (const auto& [name, value] : node.attr())
        bytes -= static_cast<int64_t>(value.tensor().tensor_content().size());
    }
  };
  add(graph.node());
  for (const tensorflow::FunctionDef& function : graph.library().function())
    add(function.node_def());
  return bytes;
}

}  // namespace carillon
