#include "carillon/ops/random.h"

#include "base/throw.h"
#include "carillon/op_builder.h"
#include "graph/graph_state.h"

namespace carillon {
namespace {

// What TensorFlow takes for the graph's seed when only the op has one.
constexpr int64_t kDefaultGraphSeed = 87654321;
constexpr int64_t kSeedModulus = 0x7fffffff;

struct Seeds {
  int64_t seed = 0, seed2 = 0;
};

int64_t Reduced(int64_t seed) {
  const int64_t rest = seed % kSeedModulus;
  return rest < 0 ? rest + kSeedModulus : rest;
}

// The seeds of an op that is about to be made.
Seeds SeedsFor(const Graph& graph, const RandomOptions& options) {
  const std::optional<int64_t> graph_seed = graph.state().seed;
  if (!graph_seed.has_value() && !options.seed.has_value()) return {};
  Seeds seeds = {Reduced(graph_seed.value_or(kDefaultGraphSeed)),
                 Reduced(options.seed.value_or(graph.nodes().num_nodes()))};
  if (seeds.seed == 0 && seeds.seed2 == 0) seeds.seed2 = kSeedModulus;  // 0, 0 means no seeds
  return seeds;
}

OpBuilder& WithSeeds(OpBuilder& builder, const Graph& graph, const RandomOptions& options) {
  const auto [seed, seed2] = SeedsFor(graph, options);
  return builder.Attr("seed", seed).Attr("seed2", seed2);
}

Output Fill(Graph& g, const char* op, const Input& shape, DType dtype,
            const RandomOptions& options) {
  OpBuilder builder(g, op);
  builder.Arg(shape).Attr("dtype", dtype);
  return WithSeeds(builder, g, options);
}

Output Stateless(Graph& g, const char* op, const Input& shape, const Input& seed, DType dtype) {
  return OpBuilder(g, op).Arg(shape).Arg(seed).Attr("dtype", dtype);
}

Output StatelessV2(const char* op, const Input& shape, const RandomKey& key, DType dtype) {
  return OpBuilder(op).Arg(shape).Arg(key.key).Arg(key.counter).Arg(key.alg).Attr("dtype", dtype);
}

Graph& GraphOf(const Input& input, const char* op) {
  if (!input.is_output()) {
    Throw(InvalidArgument(op, " of a literal has no graph: give it an Output"));
  }
  return input.output().graph();
}

}  // namespace

Output RandomUniform(Graph& g, const Input& shape, DType dtype, const RandomOptions& options) {
  return Fill(g, "RandomUniform", shape, dtype, options);
}
Output RandomStandardNormal(Graph& g, const Input& shape, DType dtype,
                            const RandomOptions& options) {
  return Fill(g, "RandomStandardNormal", shape, dtype, options);
}
Output TruncatedNormal(Graph& g, const Input& shape, DType dtype, const RandomOptions& options) {
  return Fill(g, "TruncatedNormal", shape, dtype, options);
}

Output ParameterizedTruncatedNormal(Graph& g, const Input& shape, const Input& means,
                                    const Input& stdevs, const Input& minvals, const Input& maxvals,
                                    const RandomOptions& options) {
  OpBuilder builder(g, "ParameterizedTruncatedNormal");
  builder.Arg(shape).Arg(means).Arg(stdevs).Arg(minvals).Arg(maxvals);
  return WithSeeds(builder, g, options);
}

Output RandomUniformInt(Graph& g, const Input& shape, const Input& minval, const Input& maxval,
                        const RandomOptions& options) {
  OpBuilder builder(g, "RandomUniformInt");
  builder.Arg(shape).Arg(minval).Arg(maxval);
  return WithSeeds(builder, g, options);
}

Output RandomShuffle(const Input& value, const RandomOptions& options) {
  OpBuilder builder("RandomShuffle");
  return WithSeeds(builder.Arg(value), GraphOf(value, "RandomShuffle"), options);
}

Output Multinomial(const Input& logits, const Input& num_samples, DType output_dtype,
                   const RandomOptions& options) {
  OpBuilder builder("Multinomial");
  builder.Arg(logits).Arg(num_samples).Attr("output_dtype", output_dtype);
  return WithSeeds(builder, GraphOf(logits, "Multinomial"), options);
}

Output StatelessRandomUniform(Graph& g, const Input& shape, const Input& seed, DType dtype) {
  return Stateless(g, "StatelessRandomUniform", shape, seed, dtype);
}
Output StatelessRandomNormal(Graph& g, const Input& shape, const Input& seed, DType dtype) {
  return Stateless(g, "StatelessRandomNormal", shape, seed, dtype);
}
Output StatelessTruncatedNormal(Graph& g, const Input& shape, const Input& seed, DType dtype) {
  return Stateless(g, "StatelessTruncatedNormal", shape, seed, dtype);
}
Output StatelessRandomUniformInt(Graph& g, const Input& shape, const Input& seed,
                                 const Input& minval, const Input& maxval) {
  return OpBuilder(g, "StatelessRandomUniformInt").Arg(shape).Arg(seed).Arg(minval).Arg(maxval);
}
Output StatelessRandomUniformFullInt(Graph& g, const Input& shape, const Input& seed, DType dtype) {
  return Stateless(g, "StatelessRandomUniformFullInt", shape, seed, dtype);
}
Output StatelessMultinomial(const Input& logits, const Input& num_samples, const Input& seed,
                            DType output_dtype) {
  return OpBuilder("StatelessMultinomial")
      .Arg(logits)
      .Arg(num_samples)
      .Arg(seed)
      .Attr("output_dtype", output_dtype);
}

RandomKey StatelessRandomGetKeyCounterAlg(Graph& g, const Input& seed) {
  const Operation op = OpBuilder(g, "StatelessRandomGetKeyCounterAlg").Arg(seed).Build();
  return {op.output(0), op.output(1), op.output(2)};
}
Output StatelessRandomUniformV2(const Input& shape, const RandomKey& key, DType dtype) {
  return StatelessV2("StatelessRandomUniformV2", shape, key, dtype);
}
Output StatelessRandomNormalV2(const Input& shape, const RandomKey& key, DType dtype) {
  return StatelessV2("StatelessRandomNormalV2", shape, key, dtype);
}
Output StatelessTruncatedNormalV2(const Input& shape, const RandomKey& key, DType dtype) {
  return StatelessV2("StatelessTruncatedNormalV2", shape, key, dtype);
}
Output StatelessRandomUniformIntV2(const Input& shape, const RandomKey& key, const Input& minval,
                                   const Input& maxval) {
  return OpBuilder("StatelessRandomUniformIntV2")
      .Arg(shape)
      .Arg(key.key)
      .Arg(key.counter)
      .Arg(key.alg)
      .Arg(minval)
      .Arg(maxval);
}
Output StatelessRandomUniformFullIntV2(const Input& shape, const RandomKey& key, DType dtype) {
  return StatelessV2("StatelessRandomUniformFullIntV2", shape, key, dtype);
}

}  // namespace carillon
