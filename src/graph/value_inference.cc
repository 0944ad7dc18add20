#include "graph/value_inference.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/ops/array_rules.h"
#include "graph/ops/array_shapes.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

// A rule sees the node after its shape function and gives what is known of output 0: as many
// elements as that scalar or vector has, -1 where one is not known. An element that really is -1
// counts as unknown, so no rule may conclude anything from -1.
using Elements = std::vector<int64_t>;
using Values = std::optional<Elements>;

bool HoldsSizes(const OutputInfo& output) {
  return (output.dtype == DType::kInt32 || output.dtype == DType::kInt64) &&
         output.shape.rank() >= 0 && output.shape.rank() <= 1;
}

// The elements of input i, -1 where they are not known.
Values InputValues(const ShapeContext& c, int i) {
  const Endpoint& from = c.node().input(i);
  if (from.node == nullptr || !HoldsSizes(from.node->output(from.index))) return std::nullopt;
  const PartialShape shape = c.input(i);
  if (shape.rank() == 1 && (shape.dim(0) < 0 || shape.dim(0) > kMaxRank)) return std::nullopt;
  Elements elements(static_cast<size_t>(shape.rank() == 0 ? 1 : shape.dim(0)), -1);
  if (const std::optional<Dims> known = InputInts(c, i); known.has_value()) {
    std::ranges::transform(*known, elements.begin(),
                           [](int64_t value) { return std::max<int64_t>(value, -1); });
  }
  return elements;
}

void SetValues(Node& node, int i, const Elements& values) {
  OutputInfo& output = node.mutable_output(i);
  if (!HoldsSizes(output)) return;
  if (output.shape.rank() == 0 && values.size() != 1) return;
  const int64_t most = output.dtype == DType::kInt32 ? std::numeric_limits<int32_t>::max()
                                                     : std::numeric_limits<int64_t>::max();
  Elements elements;
  for (const int64_t value : values)
    elements.push_back(value > most ? -1 : std::max<int64_t>(value, -1));
  PartialShape made;
  if (PartialShape::TryMake(elements, &made)) output.partial_value = made;
}

Values OfShape(const PartialShape& shape) {
  if (!shape.has_rank()) return std::nullopt;
  return Elements(shape.dims().begin(), shape.dims().end());
}

// The product of sizes; 0 when one of them is, whatever the others.
int64_t ProductOf(std::span<const int64_t> sizes) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
  int64_t product = 1;
  for (const int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(product, size, &product)) return -1;
  }
  return product;
}

Values ConstRule(const ShapeContext& c) {
  const Tensor& value = c.attr<Tensor>("value");
  if (value.num_elements() > kMaxRank) return std::nullopt;
  Elements elements;
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    if (value.dtype() == DType::kInt32) {
      elements.push_back(value.data<int32_t>()[i]);
    } else if (value.dtype() == DType::kInt64) {
      elements.push_back(value.data<int64_t>()[i]);
    }
  }
  return elements;
}

Values ShapeRule(const ShapeContext& c) { return OfShape(c.input(0)); }

Values VariableShapeRule(const ShapeContext& c) {
  const std::optional<HandleInfo> handle = c.input_handle(0);
  return handle.has_value() ? OfShape(handle->shape) : std::nullopt;
}

Values SizeRule(const ShapeContext& c) {
  const PartialShape shape = c.input(0);
  if (!shape.has_rank()) return std::nullopt;
  return Elements{ProductOf(shape.dims())};
}

Values RankRule(const ShapeContext& c) { return Elements{c.input(0).rank()}; }

// The same elements in the same order: Identity, Cast between integers, reshapes of vectors.
Values SameRule(const ShapeContext& c) { return InputValues(c, 0); }

// Inputs [first, past) one after another.
Values JoinInputs(const ShapeContext& c, int first, int past) {
  Elements joined;
  for (int i = first; i < past; ++i) {
    const Values values = InputValues(c, i);
    if (!values.has_value()) return std::nullopt;
    joined.insert(joined.end(), values->begin(), values->end());
  }
  return joined;
}

Values PackRule(const ShapeContext& c) { return JoinInputs(c, 0, c.num_inputs()); }
Values ConcatRule(const ShapeContext& c) { return JoinInputs(c, 1, c.num_inputs()); }
Values ConcatV2Rule(const ShapeContext& c) { return JoinInputs(c, 0, c.num_inputs() - 1); }

Values StridedSliceRule(const ShapeContext& c) {
  const Values values = InputValues(c, 0);
  const std::optional<Dims> begin = InputInts(c, 1), end = InputInts(c, 2),
                            strides = InputInts(c, 3);
  if (!values.has_value() || c.input(0).rank() != 1 || !begin.has_value() || !end.has_value() ||
      !strides.has_value() || std::ranges::find(*strides, kUnknownIndex) != strides->end()) {
    return std::nullopt;
  }
  const StatusOr<StridedSlicePlan> plan =
      PlanStridedSlice(c.input(0), *begin, *end, *strides, StridedSliceMasks(c.node()));
  if (!plan.ok()) return std::nullopt;
  const SlicedDim& dim = plan->dims[0];
  // Of an index that is not known the plan says only that it takes one element.
  const bool unknown_index =
      dim.result_dim < 0 && begin->size() == 1 && begin->front() == kUnknownIndex;
  if (dim.size < 0 || unknown_index) return std::nullopt;
  Elements taken;
  for (int64_t i = 0; i < dim.size; ++i)
    taken.push_back((*values)[static_cast<size_t>(dim.begin + i * dim.stride)]);
  return taken;
}

Values SliceRule(const ShapeContext& c) {
  const Values values = InputValues(c, 0);
  const std::optional<int64_t> begin = InputInt(c, 1);
  const PartialShape out = c.node().output(0).shape;
  if (!values.has_value() || !begin.has_value() || out.rank() != 1 || out.dim(0) < 0)
    return std::nullopt;
  Elements taken;
  for (int64_t i = *begin; i < *begin + out.dim(0); ++i) {
    if (i < 0 || i >= static_cast<int64_t>(values->size())) return std::nullopt;
    taken.push_back((*values)[static_cast<size_t>(i)]);
  }
  return taken;
}

Values GatherRule(const ShapeContext& c) {
  const Values values = InputValues(c, 0);
  const std::optional<Dims> indices = InputInts(c, 1);
  if (!values.has_value() || !indices.has_value() || c.input(0).rank() != 1) return std::nullopt;
  if (c.num_inputs() > 2 && c.attr<int64_t>("batch_dims") != 0) return std::nullopt;
  Elements taken;
  for (const int64_t index : *indices) {
    const bool known = index >= 0 && index < static_cast<int64_t>(values->size());
    taken.push_back(known ? (*values)[static_cast<size_t>(index)] : -1);
  }
  return taken;
}

Values FillRule(const ShapeContext& c) {
  const Values value = InputValues(c, 1);
  const PartialShape out = c.node().output(0).shape;
  if (!value.has_value() || value->size() != 1) return std::nullopt;
  if (out.rank() == 0) return value;
  if (out.rank() != 1 || out.dim(0) < 0 || out.dim(0) > kMaxRank) return std::nullopt;
  return Elements(static_cast<size_t>(out.dim(0)), value->front());
}

Values RangeRule(const ShapeContext& c) {
  const std::optional<int64_t> start = InputInt(c, 0);
  const std::optional<int64_t> delta = InputInt(c, 2);
  const PartialShape out = c.node().output(0).shape;
  if (!start.has_value() || !delta.has_value() || out.rank() != 1 || out.dim(0) < 0 ||
      out.dim(0) > kMaxRank) {
    return std::nullopt;
  }
  Elements values;
  int64_t value = *start;
  for (int64_t i = 0; i < out.dim(0); ++i) {
    values.push_back(value);
    if (__builtin_add_overflow(value, *delta, &value)) value = -1;
  }
  return values;
}

// Arithmetic on sizes of which either may be unknown. The result is -1 when it is unknown, is
// negative, or overflows.
using SizeFn = int64_t (*)(int64_t a, int64_t b);

int64_t Plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}
int64_t Minus(int64_t a, int64_t b) { return a < 0 || b < 0 ? -1 : a - b; }
int64_t Times(int64_t a, int64_t b) {
  const int64_t both[2] = {a, b};
  return ProductOf(both);
}
int64_t Quotient(int64_t a, int64_t b) { return a < 0 || b <= 0 ? -1 : a / b; }
int64_t Remainder(int64_t a, int64_t b) { return a < 0 || b <= 0 ? -1 : a % b; }
int64_t Greater(int64_t a, int64_t b) { return a < 0 || b < 0 ? -1 : std::max(a, b); }
int64_t Lesser(int64_t a, int64_t b) { return a < 0 || b < 0 ? -1 : std::min(a, b); }

template <SizeFn fn>
Values ElementwiseRule(const ShapeContext& c) {
  const Values a = InputValues(c, 0);
  const Values b = InputValues(c, 1);
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  if (a->size() != b->size() && a->size() != 1 && b->size() != 1) return std::nullopt;
  Elements results;
  const size_t size = a->empty() || b->empty() ? 0 : std::max(a->size(), b->size());
  for (size_t i = 0; i < size; ++i) {
    results.push_back(fn((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]));
  }
  return results;
}

Values ProdRule(const ShapeContext& c) {
  const Values values = InputValues(c, 0);
  const std::optional<Dims> axes = InputInts(c, 1);
  if (!values.has_value() || !axes.has_value() || c.input(0).rank() != 1) return std::nullopt;
  if (axes->empty()) return values;
  return Elements{ProductOf(*values)};
}

Values BroadcastArgsRule(const ShapeContext& c) {
  const Values a = InputValues(c, 0);
  const Values b = InputValues(c, 1);
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  const StatusOr<PartialShape> both = BroadcastShapes(PartialShape(std::span<const int64_t>(*a)),
                                                      PartialShape(std::span<const int64_t>(*b)));
  return both.ok() ? OfShape(*both) : std::nullopt;
}

using Rule = Values (*)(const ShapeContext&);

Rule FindRule(std::string_view op) {
  static const std::unordered_map<std::string_view, Rule> rules = {
      {"Const", ConstRule},
      {"Shape", ShapeRule},
      {"VariableShape", VariableShapeRule},
      {"Size", SizeRule},
      {"Rank", RankRule},
      {"Identity", SameRule},
      {"Snapshot", SameRule},
      {"StopGradient", SameRule},
      {"Cast", SameRule},
      {"Reshape", SameRule},
      {"ExpandDims", SameRule},
      {"Squeeze", SameRule},
      {"Pack", PackRule},
      {"Concat", ConcatRule},
      {"ConcatV2", ConcatV2Rule},
      {"StridedSlice", StridedSliceRule},
      {"Slice", SliceRule},
      {"Gather", GatherRule},
      {"GatherV2", GatherRule},
      {"Fill", FillRule},
      {"Range", RangeRule},
      {"Add", ElementwiseRule<Plus>},
      {"AddV2", ElementwiseRule<Plus>},
      {"Sub", ElementwiseRule<Minus>},
      {"Mul", ElementwiseRule<Times>},
      {"Div", ElementwiseRule<Quotient>},
      {"FloorDiv", ElementwiseRule<Quotient>},
      {"TruncateDiv", ElementwiseRule<Quotient>},
      {"FloorMod", ElementwiseRule<Remainder>},
      {"Maximum", ElementwiseRule<Greater>},
      {"Minimum", ElementwiseRule<Lesser>},
      {"Prod", ProdRule},
      {"BroadcastArgs", BroadcastArgsRule},
  };
  const auto found = rules.find(op);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace

void InferPartialValue(Node& node) {
  const ShapeContext context(node);
  if (node.op() == "ShapeN") {
    for (int i = 0; i < node.num_outputs(); ++i) {
      if (const Values values = OfShape(context.input(i))) SetValues(node, i, *values);
    }
  } else if (node.op() == "Unpack") {
    const Values values = InputValues(context, 0);
    if (!values.has_value() || static_cast<int>(values->size()) != node.num_outputs()) return;
    for (int i = 0; i < node.num_outputs(); ++i)
      SetValues(node, i, Elements{(*values)[static_cast<size_t>(i)]});
  } else if (const Rule rule = FindRule(node.op());
             rule != nullptr && node.num_outputs() > 0 && HoldsSizes(node.output(0))) {
    if (const Values values = rule(context)) SetValues(node, 0, *values);
  }
}

}  // namespace carillon
