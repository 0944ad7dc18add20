#include "graph/value_inference.h"

namespace carillon {

void InferPartialValue(Node& node) {
  if (node.op() == "Shape" && node.input(0).node->output(node.input(0).index).shape.has_rank()) {
    node.mutable_output(0).partial_value = node.input(0).node->output(node.input(0).index).shape;
  }
}

}  // namespace carillon
