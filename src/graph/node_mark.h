// The mark in an error by which TensorFlow's client finds the op that failed.
#pragma once

#include <string>

#include "graph/node_graph.h"

namespace carillon {

// An attribute of nodes that a pass made: the name of the user's node that they stand for.
inline constexpr const char* kStandsForAttr = "_stands_for";

// The name under which users know the node.
inline const std::string& UserNameOf(const Node& node) {
  const AttrValue* attr = node.FindAttr(kStandsForAttr);
  const std::string* name = attr == nullptr ? nullptr : attr->get_if<std::string>();
  return name == nullptr ? node.name() : *name;
}

inline std::string NodeMark(const std::string& user_name) {
  return "\n\t [[{{node " + user_name + "}}]]";
}
inline std::string NodeMark(const Node& node) { return NodeMark(UserNameOf(node)); }

}  // namespace carillon
