#include "base/strings.h"
#include "graph/passes/pass.h"

namespace carillon {

std::string FeedKey(int64_t index) { return StrCat("feed ", index); }
std::string FetchKey(int64_t index) { return StrCat("fetch ", index); }
bool IsPartKey(std::string_view key) {
  return key.starts_with("feed ") || key.starts_with("fetch ");
}

Status ExchangeInParts(NodeGraph* graph) {
  const int n = graph->num_nodes();
  for (int id = 0; id < n; ++id) {
    Node* node = graph->nodes()[static_cast<size_t>(id)].get();
    if (node == nullptr || (node->op() != "_Arg" && node->op() != "_Retval")) continue;
    const bool is_feed = node->op() == "_Arg";
    const auto index = node->attr<int64_t>("index");
    AttrMap attrs;
    attrs.emplace("T", AttrValue(node->attr<DType>("T")));
    attrs.emplace("key", AttrValue(is_feed ? FeedKey(index) : FetchKey(index)));
    if (is_feed) attrs.emplace("shape", AttrValue(node->attr<PartialShape>("shape")));
    CARILLON_ASSIGN_OR_RETURN(Node * end,
                              graph->Add({.name = graph->UniqueName(node->name() + "_part"),
                                          .op = is_feed ? "_Recv" : "_Send",
                                          .inputs = node->inputs(),
                                          .attrs = std::move(attrs)}));
    if (is_feed) graph->ReplaceUses({node, 0}, {end, 0});
    graph->Remove(node);
  }
  return absl::OkStatus();
}

}  // namespace carillon
