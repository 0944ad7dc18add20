#include "runtime/feeds.h"

#include "graph/node_mark.h"

namespace carillon {

Status CheckFeeds(std::span<const Endpoint> to, std::span<const Tensor> values) {
  if (values.size() != to.size())
    return InvalidArgument(values.size(), " tensors are fed but ", to.size(), " are expected");
  for (size_t i = 0; i < values.size(); ++i) {
    const Node& node = *to[i].node;
    const OutputInfo& wanted = node.output(to[i].index);
    if (values[i].dtype() != wanted.dtype) {
      return InvalidArgument(
          "'", node.name(), ":", to[i].index, "' takes ", DTypeName(wanted.dtype), " but is fed ",
          values[i].has_value() ? DTypeName(values[i].dtype()) : "nothing", NodeMark(node));
    }
    if (!wanted.shape.IsCompatibleWith(values[i].shape())) {
      return InvalidArgument("'", node.name(), ":", to[i].index, "' has shape ",
                             wanted.shape.ToString(), " and cannot be fed a tensor of shape ",
                             values[i].shape().ToString(), NodeMark(node));
    }
  }
  return absl::OkStatus();
}

}  // namespace carillon
