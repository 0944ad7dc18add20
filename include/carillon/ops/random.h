// Random numbers.
//
// Two seeds decide what a random op gives: the graph's (Graph::SetSeed) and the op's
// (RandomOptions::seed). With both, or with one of them, every run of the program gives the same
// numbers, TensorFlow's on a CPU; with neither, each run differs. An op without a seed of its own
// takes the number of ops made before it, so equal programs get equal numbers.
//
// Each op has a sequence of its own, which goes on from step to step of a session. Stateless ops
// have none: equal arguments give equal numbers.
#pragma once

#include <cstdint>
#include <optional>

#include "carillon/graph.h"

namespace carillon {

struct RandomOptions {
  std::optional<int64_t> seed;
};

// Tensors of the shape that the int32 or int64 vector `shape` spells, of a floating dtype.
// Uniform in [0, 1).
Output RandomUniform(Graph& g, const Input& shape, DType dtype = kFloat,
                     const RandomOptions& options = {});
// Normal, with mean 0 and deviation 1.
Output RandomStandardNormal(Graph& g, const Input& shape, DType dtype = kFloat,
                            const RandomOptions& options = {});
// The same, where numbers beyond two deviations are drawn again.
Output TruncatedNormal(Graph& g, const Input& shape, DType dtype = kFloat,
                       const RandomOptions& options = {});
// Normal numbers between bounds. Each parameter is one for all, or one for each row of the result.
Output ParameterizedTruncatedNormal(Graph& g, const Input& shape, const Input& means,
                                    const Input& stdevs, const Input& minvals, const Input& maxvals,
                                    const RandomOptions& options = {});
// Integers in [minval, maxval), of the dtype of the bounds: int32 or int64.
Output RandomUniformInt(Graph& g, const Input& shape, const Input& minval, const Input& maxval,
                        const RandomOptions& options = {});
// The rows of `value` in a random order.
Output RandomShuffle(const Input& value, const RandomOptions& options = {});
// [batch, num_samples] class numbers, drawn for each row of `logits` [batch, classes] with
// probabilities softmax(logits).
Output Multinomial(const Input& logits, const Input& num_samples, DType output_dtype = kInt64,
                   const RandomOptions& options = {});

// `seed` is two int32 or int64.
Output StatelessRandomUniform(Graph& g, const Input& shape, const Input& seed,
                              DType dtype = kFloat);
Output StatelessRandomNormal(Graph& g, const Input& shape, const Input& seed, DType dtype = kFloat);
Output StatelessTruncatedNormal(Graph& g, const Input& shape, const Input& seed,
                                DType dtype = kFloat);
Output StatelessRandomUniformInt(Graph& g, const Input& shape, const Input& seed,
                                 const Input& minval, const Input& maxval);
// Any value of the dtype: int32, int64, uint32, uint64.
Output StatelessRandomUniformFullInt(Graph& g, const Input& shape, const Input& seed,
                                     DType dtype = DType::kUint64);
Output StatelessMultinomial(const Input& logits, const Input& num_samples, const Input& seed,
                            DType output_dtype = kInt64);

// What the V2 forms take in place of a seed: a key [1], a counter [2] and the algorithm (1:
// Philox).
struct RandomKey {
  Output key;
  Output counter;
  Output alg;
};
RandomKey StatelessRandomGetKeyCounterAlg(Graph& g, const Input& seed);
Output StatelessRandomUniformV2(const Input& shape, const RandomKey& key, DType dtype = kFloat);
Output StatelessRandomNormalV2(const Input& shape, const RandomKey& key, DType dtype = kFloat);
Output StatelessTruncatedNormalV2(const Input& shape, const RandomKey& key, DType dtype = kFloat);
Output StatelessRandomUniformIntV2(const Input& shape, const RandomKey& key, const Input& minval,
                                   const Input& maxval);
Output StatelessRandomUniformFullIntV2(const Input& shape, const RandomKey& key,
                                       DType dtype = DType::kUint64);

}  // namespace carillon
