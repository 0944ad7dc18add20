// Layers that are not matrices: stacks, flattening, dropout, embeddings.
#include <memory>

#include "base/throw.h"
#include "carillon/nn.h"
#include "carillon/ops/array.h"
#include "carillon/ops/control_flow.h"
#include "carillon/ops/math.h"
#include "carillon/ops/random.h"
#include "carillon/ops/state.h"
#include "nn/weights.h"

namespace carillon::nn {
namespace {

bool IsOne(const Input& number) {
  if (number.is_output() || number.value().num_elements() != 1) return false;
  const Tensor& value = number.value();
  return (value.dtype() == kDouble && value.scalar<double>() == 1) ||
         (value.dtype() == kFloat && value.scalar<float>() == 1) ||
         (value.dtype() == kInt32 && value.scalar<int32_t>() == 1);
}

}  // namespace

Layer Sequential(std::vector<Layer> layers) {
  return [layers = std::move(layers)](const Output& x, const Training& training) {
    Output y = x;
    for (const Layer& layer : layers) y = layer(y, training);
    return y;
  };
}

Layer Flatten() {
  return [](const Output& x) { return Flatten(x); };
}
Output Flatten(const Output& x) {
  KnownDim(x, 1, "flatten");
  const PartialShape shape = x.shape();
  for (int i = 2; i < shape.rank(); ++i) KnownDim(x, i, "flatten");
  const Shape features(shape.dims().subspan(1));
  return Reshape(x, {int64_t{-1}, features.num_elements()});
}

Layer Dropout(const Input& keep_prob, init::Seed seed) {
  if (IsOne(keep_prob)) return Sequential({});
  return [=](const Output& x, const Training& training) -> Output {
    if (training.is_known()) return training.known() ? Dropout(x, keep_prob, seed) : x;
    return Cond(
        training.fed(), [&]() -> BranchResult { return Dropout(x, keep_prob, seed); },
        [&]() -> BranchResult { return Identity(x); })[0];
  };
}

Output Dropout(const Output& x, const Input& keep_prob, init::Seed seed) {
  Graph& graph = x.graph();
  const NameScope scope(graph, "dropout");
  const Output keep = Cast(
      keep_prob.is_output() ? keep_prob.output() : Const(graph, keep_prob.value(), "keep_prob"),
      x.dtype());
  const Output kept = GreaterEqual(RandomUniform(graph, ShapeOf(x), x.dtype(), {seed}), 1 - keep);
  return x * (Cast(kept, x.dtype()) / keep);
}

Layer Embedding(int64_t ids, int64_t dimension, const EmbeddingOptions& options) {
  if (ids <= 0 || dimension <= 0)
    Throw(InvalidArgument("layer '", options.name, "' cannot have ", ids, " rows of ", dimension,
                          " numbers"));
  return [=, weights = std::make_shared<Weights>(options.name)](const Output& x) {
    const NameScope scope = weights->Enter(x.graph());
    return EmbeddingLookup(weights->Get(x.graph(), "embeddings", {ids, dimension}, kFloat,
                                        {options.initializer, options.trainable}),
                           x);
  };
}

Output EmbeddingLookup(const Variable& table, const Input& ids) {
  const NameScope scope(table.graph(), "embedding_lookup");
  return table.Gather(ids);
}

Output EmbeddingLookup(const std::vector<Variable>& tables, const Input& ids) {
  if (tables.empty()) Throw(InvalidArgument("EmbeddingLookup: there is no table"));
  if (tables.size() == 1) return EmbeddingLookup(tables.front(), ids);
  Graph& graph = tables.front().graph();
  const NameScope scope(graph, "embedding_lookup");
  const auto count = static_cast<int64_t>(tables.size());
  const Output all = ids.is_output() ? ids.output() : Const(graph, ids.value());
  const Output flat = Reshape(all, {-1});
  const Output table_of = Cast(FloorMod(flat, count), kInt32);
  const std::vector<Output> rows = DynamicPartition(FloorDiv(flat, count), table_of, count);
  const std::vector<Output> positions =
      DynamicPartition(Range(graph, 0, Size(flat), 1), table_of, count);
  std::vector<Output> found;
  for (size_t i = 0; i < tables.size(); ++i) found.push_back(EmbeddingLookup(tables[i], rows[i]));
  const Output row = Slice(ShapeOf(found.front()), {1}, {-1});
  return Reshape(ParallelDynamicStitch(positions, found), Concat({ShapeOf(all), row}, 0));
}

}  // namespace carillon::nn
