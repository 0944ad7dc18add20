// The parts of the nn gradients: each adds those of one file.
#pragma once

#include <initializer_list>

#include "carillon/op_builder.h"
#include "graph/gradient.h"
#include "graph/node_graph.h"

namespace carillon {

void AddConvGradients(GradTable& grads);
void AddPoolGradients(GradTable& grads);
void AddActivationGradients(GradTable& grads);
void AddLossGradients(GradTable& grads);
void AddNormGradients(GradTable& grads);

// Gives the op in the making those attributes of `like` (window, format and so on).
inline OpBuilder& WithAttrs(OpBuilder& builder, const Operation& like,
                            std::initializer_list<std::string_view> attrs) {
  for (const std::string_view name : attrs) {
    if (const AttrValue* value = like.node()->FindAttr(name)) builder.AttrValueOf(name, *value);
  }
  return builder;
}
// The same for a temporary, as long as it lives.
inline OpBuilder& WithAttrs(OpBuilder&& builder, const Operation& like,
                            std::initializer_list<std::string_view> attrs) {
  return WithAttrs(builder, like, attrs);
}

}  // namespace carillon
