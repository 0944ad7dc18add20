#include "carillon/ops/accumulator.h"

#include "base/throw.h"
#include "carillon/op_builder.h"
#include "carillon/ops/array.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

Output Make(Graph& g, const char* op, DType dtype, const PartialShape& shape,
            const AccumulatorOpOptions& options) {
  return OpBuilder(g, op)
      .Name(options.name)
      .Attr("dtype", dtype)
      .Attr("shape", shape)
      .Attr("reduction_type", options.sum ? "SUM" : "MEAN")
      .Attr("container", options.container)
      .Attr("shared_name", options.shared_name);
}

// `op` on the old handles that sparse accumulators alone have, Resource`op` on the others.
std::string OnHandle(const Output& accumulator, const char* op) {
  if (!accumulator.valid())
    Throw(InvalidArgument("an accumulator that refers to nothing was used"));
  const bool old = accumulator.node()->output(accumulator.index()).is_ref;
  return old ? op : std::string("Resource") + op;
}

DType GradientType(const Output& accumulator) {
  const AttrValue* dtype = accumulator.valid() ? accumulator.node()->FindAttr("dtype") : nullptr;
  if (dtype == nullptr || accumulator.node()->FindAttr("reduction_type") == nullptr) {
    Throw(
        InvalidArgument("'", accumulator.valid() ? accumulator.name() : "", "' is no accumulator"));
  }
  return *dtype->get_if<DType>();
}

Output AsInt64(const Output& value) {
  return value.dtype() == kInt64 ? value : Cast(value, kInt64);
}

}  // namespace

Output ConditionalAccumulator(Graph& g, DType dtype, const PartialShape& shape,
                              const AccumulatorOpOptions& options) {
  return Make(g, "ResourceConditionalAccumulator", dtype, shape, options);
}
Output SparseConditionalAccumulator(Graph& g, DType dtype, const PartialShape& shape,
                                    const AccumulatorOpOptions& options) {
  return Make(g, "SparseConditionalAccumulator", dtype, shape, options);
}

Operation AccumulatorApplyGradient(const Output& accumulator, const Input& local_step,
                                   const Input& gradient) {
  return OpBuilder(OnHandle(accumulator, "AccumulatorApplyGradient"))
      .Arg(accumulator)
      .Arg(local_step)
      .Arg(gradient)
      .Attr("dtype", GradientType(accumulator))
      .Build();
}
Operation SparseAccumulatorApplyGradient(const Output& accumulator, const Input& local_step,
                                         const IndexedSlices& gradient) {
  const bool known = gradient.dense_shape.valid();
  return OpBuilder("SparseAccumulatorApplyGradient")
      .Arg(accumulator)
      .Arg(local_step)
      .Arg(AsInt64(gradient.indices))
      .Arg(gradient.values)
      .Arg(known ? Input(AsInt64(gradient.dense_shape))
                 : Input(Tensor::FromVector(std::vector<int64_t>())))
      .Attr("has_known_shape", known)
      .Build();
}

Output AccumulatorTakeGradient(const Output& accumulator, const Input& num_required) {
  return OpBuilder(OnHandle(accumulator, "AccumulatorTakeGradient"))
      .Arg(accumulator)
      .Arg(num_required)
      .Attr("dtype", GradientType(accumulator));
}
IndexedSlices SparseAccumulatorTakeGradient(const Output& accumulator, const Input& num_required) {
  const Operation take = OpBuilder("SparseAccumulatorTakeGradient")
                             .Arg(accumulator)
                             .Arg(num_required)
                             .Attr("dtype", GradientType(accumulator))
                             .Build();
  return {.values = take.output(1), .indices = take.output(0), .dense_shape = take.output(2)};
}

Output AccumulatorNumAccumulated(const Output& accumulator) {
  return OpBuilder(OnHandle(accumulator, "AccumulatorNumAccumulated")).Arg(accumulator);
}
Operation AccumulatorSetGlobalStep(const Output& accumulator, const Input& new_global_step) {
  return OpBuilder(OnHandle(accumulator, "AccumulatorSetGlobalStep"))
      .Arg(accumulator)
      .Arg(new_global_step)
      .Build();
}

}  // namespace carillon
