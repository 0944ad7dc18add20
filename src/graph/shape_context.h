// What a shape function sees.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/node_graph.h"

namespace carillon {

class ShapeContext {
 public:
  explicit ShapeContext(Node& node) : node_(node) {}

  const Node& node() const { return node_; }
  template <typename T>
  const T& attr(std::string_view name) const {
    return node_.attr<T>(name);
  }
  int num_inputs() const { return node_.num_inputs(); }
  int num_outputs() const { return node_.num_outputs(); }

  // Unknown for the open input of a Merge whose loop is not closed yet.
  PartialShape input(int i) const;
  DType input_dtype(int i) const { return node_.input_dtype(i); }
  // The value of input i when it is a constant; null otherwise.
  const Tensor* input_value(int i) const;
  // Input i read as a vector of sizes: from its constant value or from what is known of it; nullopt
  // when nothing is. Elements of -1 are unknown or really -1: ops for which that differs (Reshape)
  // use input_value.
  std::optional<PartialShape> input_as_sizes(int i) const;
  // A constant scalar integer input, of whichever integer dtype.
  std::optional<int64_t> input_as_int(int i) const;
  std::optional<HandleInfo> input_handle(int i) const;

  void set_output(int i, PartialShape shape) { node_.mutable_output(i).shape = shape; }
  void set_output_handle(int i, HandleInfo handle) {
    node_.mutable_output(i).handle = std::move(handle);
  }

  // Checks that give the knowledge they add. Errors name the input.
  StatusOr<PartialShape> WithRank(int input, int rank) const;
  StatusOr<PartialShape> WithRankAtLeast(int input, int rank) const;

 private:
  std::string InputName(int i) const;  // "input 2 ('lr')", for messages
  Node& node_;
};

// The two sizes agree, or one is unknown (-1): the known one.
StatusOr<int64_t> MergeDim(int64_t a, int64_t b);
StatusOr<PartialShape> MergeShapes(const PartialShape& a, const PartialShape& b);
StatusOr<PartialShape> BroadcastShapes(const PartialShape& a, const PartialShape& b);
// `axis` in [-rank, rank), made positive.
StatusOr<int> ResolveAxis(int64_t axis, int rank);

// Shape functions that many ops share.
Status ShapeUnknown(ShapeContext& c);      // nothing known
Status ShapeScalar(ShapeContext& c);       // every output a scalar
Status ShapeOfInput(ShapeContext& c);      // every output like input 0
Status ShapeMergeInputs(ShapeContext& c);  // output 0 like all inputs, which must agree
Status ShapeBroadcast(ShapeContext& c);    // output 0 the broadcast of inputs 0 and 1
Status ShapeNothing(ShapeContext& c);      // no outputs

}  // namespace carillon
