// The checks that make a node: its name, attributes and inputs against its op's spec.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/node_graph.h"

namespace carillon {

// "string", "int" and so on, as specs spell them.
const char* AttrKindName(AttrKind kind);

// Letters, digits and . _ / - >, starting with a letter, digit or '.' ('_' only for nodes that
// passes make).
Status CheckNodeName(std::string_view name);

// The error of a node whose op is not known, …
Status UnknownOp(const std::string& op, const std::string& node, const std::string& hint);
// … with a hint at what may be meant, if anything. Takes a look at each op that there is.
std::string HintForOp(const OpTable& ops, const std::string& op);

// Checks what is given, fills in defaults, gives empty lists the kind that the spec says.
Status CompleteAttrs(const OpSpec& spec, AttrMap* attrs);

// No node has more inputs or outputs of one argument.
inline constexpr int64_t kMostListed = 1 << 20;

// The dtypes of one argument, once the attributes are complete: one, or those of the list.
std::vector<DType> ArgDTypes(const ArgSpec& arg, const AttrMap& attrs);

// Number, dtypes and reference-ness of the inputs.
Status CheckInputs(const Node& node, bool open_inputs_allowed);

// "with inputs float[2,3], int32[]: ", for messages.
std::string DescribeInputs(const Node& node);

}  // namespace carillon
