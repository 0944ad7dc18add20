// Specs of the ops for random numbers.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

Status CheckScalar(const ShapeContext& c, int input) { return c.WithRank(input, 0).status(); }

// A vector of `length` elements.
Status CheckVector(const ShapeContext& c, int input, int64_t length) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, c.WithRank(input, 1));
  if (shape.dim(0) >= 0 && shape.dim(0) != length) {
    return InvalidArgument("input ", input, " should have shape [", length, "] but has ",
                           shape.ToString());
  }
  return absl::OkStatus();
}

// Output 0 has the shape that the elements of input 0 spell.
Status ShapeFromInput(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 1).status());
  c.set_output(0, c.input_as_sizes(0).value_or(PartialShape()));
  return absl::OkStatus();
}

Status UniformIntShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(CheckScalar(c, 1));
  CARILLON_RETURN_IF_ERROR(CheckScalar(c, 2));
  return ShapeFromInput(c);
}

Status ParameterizedTruncatedNormalShape(ShapeContext& c) {
  for (int i = 1; i < 5; ++i) {
    if (c.input(i).rank() > 1) {
      return InvalidArgument("input ", i, " should be a scalar or vector but has shape ",
                             c.input(i).ToString());
    }
  }
  return ShapeFromInput(c);
}

Status MultinomialShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape logits, c.WithRank(0, 2));
  CARILLON_RETURN_IF_ERROR(CheckScalar(c, 1));
  const int64_t samples = c.input_as_int(1).value_or(-1);
  if (samples < -1) return InvalidArgument("num_samples should be non-negative, got ", samples);
  c.set_output(0, {logits.dim(0), samples});
  return absl::OkStatus();
}

Status StatelessShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(CheckVector(c, 1, 2));
  return ShapeFromInput(c);
}

Status StatelessIntShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(CheckScalar(c, 2));
  CARILLON_RETURN_IF_ERROR(CheckScalar(c, 3));
  return StatelessShape(c);
}

Status StatelessMultinomialShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(CheckVector(c, 2, 2));
  return MultinomialShape(c);
}

Status StatelessV2Shape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(CheckVector(c, 1, 1));
  CARILLON_RETURN_IF_ERROR(c.WithRank(2, 1).status());
  CARILLON_RETURN_IF_ERROR(CheckScalar(c, 3));
  return ShapeFromInput(c);
}

Status StatelessIntV2Shape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(CheckScalar(c, 4));
  CARILLON_RETURN_IF_ERROR(CheckScalar(c, 5));
  return StatelessV2Shape(c);
}

Status KeyCounterShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(CheckVector(c, 0, 2));
  c.set_output(0, Shape{1});
  c.set_output(1, Shape{2});
  if (c.num_outputs() > 2) c.set_output(2, Shape{});
  return absl::OkStatus();
}

}  // namespace

void AddRandomOps(OpTable& ops) {
  ops.Add("RandomUniform(shape: T) -> (output: dtype)",
          "seed: int = 0; seed2: int = 0; dtype: {floating}; T: {index}", {stateful},
          ShapeFromInput);
  ops.Add("RandomUniformInt(shape: T, minval: Tout, maxval: Tout) -> (output: Tout)",
          "seed: int = 0; seed2: int = 0; Tout: {index}; T: {index}", {stateful}, UniformIntShape);
  ops.Add("RandomStandardNormal(shape: T) -> (output: dtype)",
          "seed: int = 0; seed2: int = 0; dtype: {floating}; T: {index}", {stateful},
          ShapeFromInput);
  ops.Add("TruncatedNormal(shape: T) -> (output: dtype)",
          "seed: int = 0; seed2: int = 0; dtype: {floating}; T: {index}", {stateful},
          ShapeFromInput);
  ops.Add(
      "ParameterizedTruncatedNormal(shape: T, means: dtype, stdevs: dtype, minvals: dtype, "
      "maxvals: dtype) -> (output: dtype)",
      "seed: int = 0; seed2: int = 0; dtype: {floating}; T: {index}", {stateful},
      ParameterizedTruncatedNormalShape);
  ops.Add("RandomShuffle(value: T) -> (output: T)", "seed: int = 0; seed2: int = 0; T: type",
          {stateful}, ShapeOfInput);
  ops.Add("Multinomial(logits: T, num_samples: int32) -> (output: output_dtype)",
          "seed: int = 0; seed2: int = 0; T: {number}; output_dtype: {index} = int64", {stateful},
          MultinomialShape);
  ops.Add("StatelessRandomUniform(shape: T, seed: Tseed) -> (output: dtype)",
          "dtype: {floating} = float; T: {index} = int32; Tseed: {index} = int64", StatelessShape);
  ops.Add("StatelessRandomNormal(shape: T, seed: Tseed) -> (output: dtype)",
          "dtype: {floating} = float; T: {index} = int32; Tseed: {index} = int64", StatelessShape);
  ops.Add("StatelessTruncatedNormal(shape: T, seed: Tseed) -> (output: dtype)",
          "dtype: {floating} = float; T: {index} = int32; Tseed: {index} = int64", StatelessShape);
  ops.Add(
      "StatelessRandomUniformInt(shape: T, seed: Tseed, minval: dtype, maxval: dtype) -> (output: "
      "dtype)",
      "dtype: {index}; T: {index}; Tseed: {index} = int64", StatelessIntShape);
  ops.Add("StatelessRandomUniformFullInt(shape: T, seed: Tseed) -> (output: dtype)",
          "dtype: {int32, int64, uint32, uint64} = uint64; T: {index} = int32; Tseed: {int32, "
          "int64, uint32, uint64} = int64",
          StatelessShape);
  ops.Add(
      "StatelessRandomUniformV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> "
      "(output: dtype)",
      "dtype: {floating} = float; Tshape: {index} = int32", StatelessV2Shape);
  ops.Add(
      "StatelessRandomNormalV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> "
      "(output: dtype)",
      "dtype: {floating} = float; Tshape: {index} = int32", StatelessV2Shape);
  ops.Add(
      "StatelessTruncatedNormalV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> "
      "(output: dtype)",
      "dtype: {floating} = float; Tshape: {index} = int32", StatelessV2Shape);
  ops.Add(
      "StatelessRandomUniformIntV2(shape: Tshape, key: uint64, counter: uint64, alg: int32, "
      "minval: dtype, maxval: dtype) -> (output: dtype)",
      "dtype: {int32, int64, uint32, uint64}; Tshape: {index} = int32", StatelessIntV2Shape);
  ops.Add(
      "StatelessRandomUniformFullIntV2(shape: Tshape, key: uint64, counter: uint64, alg: int32) -> "
      "(output: dtype)",
      "dtype: {int32, int64, uint32, uint64} = uint64; Tshape: {index} = int32", StatelessV2Shape);
  ops.Add("StatelessRandomGetKeyCounter(seed: Tseed) -> (key: uint64, counter: uint64)",
          "Tseed: {index} = int64", KeyCounterShape);
  ops.Add(
      "StatelessRandomGetKeyCounterAlg(seed: Tseed) -> (key: uint64, counter: uint64, alg: int32)",
      "Tseed: {index} = int64", KeyCounterShape);
  ops.Add("StatelessRandomGetAlg() -> (alg: int32)", "", {stateful}, ShapeScalar);
  ops.Add(
      "StatelessMultinomial(logits: T, num_samples: int32, seed: Tseed) -> (output: output_dtype)",
      "T: {number}; Tseed: {index} = int64; output_dtype: {index} = int64",
      StatelessMultinomialShape);
}

}  // namespace carillon
