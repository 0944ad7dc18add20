// Specs of the ops for random numbers.
#include "graph/op_spec.h"
#include "graph/shape_context.h"

namespace carillon {

void AddRandomOps(OpTable& ops) {
  ops.Add("RandomUniform(shape: T) -> (output: dtype)",
          "seed: int = 0; seed2: int = 0; dtype: {floating}; T: {index}", {stateful});
  ops.Add("RandomUniformInt(shape: T, minval: Tout, maxval: Tout) -> (output: Tout)",
          "seed: int = 0; seed2: int = 0; Tout: {index}; T: {index}", {stateful});
  ops.Add("RandomStandardNormal(shape: T) -> (output: dtype)",
          "seed: int = 0; seed2: int = 0; dtype: {floating}; T: {index}", {stateful});
  ops.Add("TruncatedNormal(shape: T) -> (output: dtype)",
          "seed: int = 0; seed2: int = 0; dtype: {floating}; T: {index}", {stateful});
  ops.Add(
      "ParameterizedTruncatedNormal(shape: T, means: dtype, stdevs: dtype, minvals: dtype, "
      "maxvals: dtype) -> (output: dtype)",
      "seed: int = 0; seed2: int = 0; dtype: {floating}; T: {index}", {stateful});
  ops.Add("RandomShuffle(value: T) -> (output: T)", "seed: int = 0; seed2: int = 0; T: type",
          {stateful});
  ops.Add("Multinomial(logits: T, num_samples: int32) -> (output: output_dtype)",
          "seed: int = 0; seed2: int = 0; T: {number}; output_dtype: {index} = int64", {stateful});
  ops.Add("StatelessRandomUniform(shape: T, seed: Tseed) -> (output: dtype)",
          "dtype: {floating} = float; T: {index} = int32; Tseed: {index} = int64");
  ops.Add("StatelessRandomNormal(shape: T, seed: Tseed) -> (output: dtype)",
          "dtype: {floating} = float; T: {index} = int32; Tseed: {index} = int64");
  ops.Add("StatelessTruncatedNormal(shape: T, seed: Tseed) -> (output: dtype)",
          "dtype: {floating} = float; T: {index} = int32; Tseed: {index} = int64");
  ops.Add(
      "StatelessRandomUniformInt(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> (output: "
      "dtype)",
      "dtype: {index}; T: {index}; Tseed: {index} = int64");
  ops.Add("StatelessRandomUniformFullInt(shape: T, seed: Tseed) -> (output: dtype)",
          "dtype: {int32, int64, uint32, uint64} = uint64; T: {index} = int32; Tseed: {int32, "
          "int64, uint32, uint64} = int64");
  ops.Add(
      "StatelessRandomUniformV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> "
      "(output: dtype)",
      "dtype: {floating} = float; Tshape: {index} = int32");
  ops.Add(
      "StatelessRandomNormalV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> "
      "(output: dtype)",
      "dtype: {floating} = float; Tshape: {index} = int32");
  ops.Add(
      "StatelessTruncatedNormalV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> "
      "(output: dtype)",
      "dtype: {floating} = float; Tshape: {index} = int32");
  ops.Add(
      "StatelessRandomUniformIntV2(shape: Tshape, key: uint64, counter: uint64, alg: int32, "
      "minval: dtype, maxval: dtype) -> (output: dtype)",
      "dtype: {int32, int64, uint32, uint64}; Tshape: {index} = int32");
  ops.Add(
      "StatelessRandomUniformFullIntV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> "
      "(output: dtype)",
      "dtype: {int32, int64, uint32, uint64} = uint64; Tshape: {index} = int32");
  ops.Add("StatelessRandomGetKeyCounter(seed: Tseed) -> (key: uint64, counter: uint64)",
          "Tseed: {index} = int64");
  ops.Add(
      "StatelessRandomGetKeyCounterAlg(seed: Tseed) -> (key: uint64, counter: uint64, alg: int32)",
      "Tseed: {index} = int64");
  ops.Add("StatelessRandomGetAlg() -> (alg: int32)", "", {stateful});
  ops.Add(
      "StatelessMultinomial(logits: T, num_samples: int32, seed: Tseed) -> (output: output_dtype)",
      "T: {number}; Tseed: {index} = int64; output_dtype: {index} = int64");
}

}  // namespace carillon
