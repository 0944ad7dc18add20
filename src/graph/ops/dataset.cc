// Specs of the ops for data sets and iterators.
#include <algorithm>
#include <string_view>

#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

// A data set is a scalar, and so is all that it is made from: but for the components and padded
// shapes of some, the values that functions capture, and lists of names.
Status DatasetShape(ShapeContext& c) {
  static constexpr std::string_view kOthers[] = {"components",
                                                 "padded_shapes",
                                                 "padding_values",
                                                 "other_arguments",
                                                 "filenames",
                                                 "byte_offsets",
                                                 "optimizations",
                                                 "optimizations_enabled",
                                                 "optimizations_disabled",
                                                 "optimizations_default",
                                                 "input_datasets"};
  for (const ArgSpec& arg : c.node().spec().inputs) {
    if (std::ranges::find(kOthers, arg.name) != std::end(kOthers)) continue;
    CARILLON_RETURN_IF_ERROR(c.WithRank(c.node().InputRange(arg.name).first, 0).status());
  }
  c.set_output(0, Shape{});
  return absl::OkStatus();
}

// What the attributes say of an element.
Status ElementShapes(ShapeContext& c) {
  const auto& shapes = c.attr<std::vector<PartialShape>>("output_shapes");
  if (shapes.size() != static_cast<size_t>(c.num_outputs()))
    return InvalidArgument("there are ", shapes.size(), " output_shapes for ", c.num_outputs(),
                           " output_types");
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[static_cast<size_t>(i)]);
  return absl::OkStatus();
}

}  // namespace

void AddDatasetOps(OpTable& ops) {
  ops.Add("TensorDataset(components: list(Toutput_types)) -> (handle: variant)",
          "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''",
          {stateful}, DatasetShape);
  ops.Add("TensorSliceDataset(components: list(Toutput_types)) -> (handle: variant)",
          "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; is_files: bool = "
          "false; metadata: string = ''; replicate_on_split: bool = false",
          {stateful}, DatasetShape);
  ops.Add("RangeDataset(start: int64, stop: int64, step: int64) -> (handle: variant)",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''; "
          "replicate_on_split: bool = false",
          {stateful}, DatasetShape);
  ops.Add("RepeatDataset(input_dataset: variant, count: int64) -> (handle: variant)",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''",
          DatasetShape);
  ops.Add(
      "ShuffleDataset(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64) -> "
      "(handle: variant)",
      "reshuffle_each_iteration: bool = true; output_types: list(type) >= 1; output_shapes: "
      "list(shape) >= 1; metadata: string = ''",
      DatasetShape);
  ops.Add(
      "ShuffleDatasetV2(input_dataset: variant, buffer_size: int64, seed_generator: resource) -> "
      "(handle: variant)",
      "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''",
      {stateful}, DatasetShape);
  ops.Add(
      "ShuffleDatasetV3(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, "
      "seed_generator: resource) -> (handle: variant)",
      "reshuffle_each_iteration: bool = true; output_types: list(type) >= 1; output_shapes: "
      "list(shape) >= 1; metadata: string = ''",
      {stateful}, DatasetShape);
  ops.Add(
      "ShuffleAndRepeatDataset(input_dataset: variant, buffer_size: int64, seed: int64, seed2: "
      "int64, count: int64) -> (handle: variant)",
      "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; reshuffle_each_iteration: "
      "bool = true; metadata: string = ''",
      DatasetShape);
  ops.Add(
      "ShuffleAndRepeatDatasetV2(input_dataset: variant, buffer_size: int64, seed: int64, seed2: "
      "int64, count: int64, seed_generator: resource) -> (handle: variant)",
      "reshuffle_each_iteration: bool = true; output_types: list(type) >= 1; output_shapes: "
      "list(shape) >= 1; metadata: string = ''",
      {stateful}, DatasetShape);
  ops.Add("BatchDataset(input_dataset: variant, batch_size: int64) -> (handle: variant)",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''",
          DatasetShape);
  ops.Add(
      "BatchDatasetV2(input_dataset: variant, batch_size: int64, drop_remainder: bool) -> (handle: "
      "variant)",
      "parallel_copy: bool = false; output_types: list(type) >= 1; output_shapes: list(shape) >= "
      "1; metadata: string = ''",
      DatasetShape);
  ops.Add(
      "PaddedBatchDataset(input_dataset: variant, batch_size: int64, padded_shapes: N * int64, "
      "padding_values: list(Toutput_types)) -> (handle: variant)",
      "Toutput_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1; metadata: "
      "string = ''",
      DatasetShape);
  ops.Add(
      "PaddedBatchDatasetV2(input_dataset: variant, batch_size: int64, padded_shapes: N * int64, "
      "padding_values: list(Toutput_types), drop_remainder: bool) -> (handle: variant)",
      "parallel_copy: bool = false; Toutput_types: list(type) >= 1; output_shapes: list(shape) >= "
      "1; N: int >= 1; metadata: string = ''",
      DatasetShape);
  ops.Add(
      "ParallelBatchDataset(input_dataset: variant, batch_size: int64, num_parallel_calls: int64, "
      "drop_remainder: bool) -> (handle: variant)",
      "parallel_copy: bool = false; output_types: list(type) >= 1; output_shapes: list(shape) >= "
      "1; deterministic: string = 'default'; metadata: string = ''",
      DatasetShape);
  ops.Add(
      "MapDataset(input_dataset: variant, other_arguments: list(Targuments)) -> (handle: variant)",
      "f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: "
      "list(shape) >= 1; use_inter_op_parallelism: bool = true; preserve_cardinality: bool = "
      "false; force_synchronous: bool = false; metadata: string = ''",
      DatasetShape);
  ops.Add(
      "ParallelMapDataset(input_dataset: variant, other_arguments: list(Targuments), "
      "num_parallel_calls: int32) -> (handle: variant)",
      "f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: "
      "list(shape) >= 1; use_inter_op_parallelism: bool = true; sloppy: bool = false; "
      "preserve_cardinality: bool = false; metadata: string = ''",
      DatasetShape);
  ops.Add(
      "ParallelMapDatasetV2(input_dataset: variant, other_arguments: list(Targuments), "
      "num_parallel_calls: int64) -> (handle: variant)",
      "f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: "
      "list(shape) >= 1; use_inter_op_parallelism: bool = true; deterministic: string = 'default'; "
      "preserve_cardinality: bool = false; use_unbounded_threadpool: bool = false; metadata: "
      "string = ''",
      DatasetShape);
  ops.Add(
      "MapAndBatchDataset(input_dataset: variant, other_arguments: list(Targuments), batch_size: "
      "int64, num_parallel_calls: int64, drop_remainder: bool) -> (handle: variant)",
      "f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: "
      "list(shape) >= 1; preserve_cardinality: bool = false; metadata: string = ''",
      DatasetShape);
  ops.Add(
      "FilterDataset(input_dataset: variant, other_arguments: list(Targuments)) -> (handle: "
      "variant)",
      "predicate: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: "
      "list(shape) >= 1; metadata: string = ''",
      DatasetShape);
  ops.Add(
      "FlatMapDataset(input_dataset: variant, other_arguments: list(Targuments)) -> (handle: "
      "variant)",
      "f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: "
      "list(shape) >= 1; metadata: string = ''",
      DatasetShape);
  ops.Add(
      "InterleaveDataset(input_dataset: variant, other_arguments: list(Targuments), cycle_length: "
      "int64, block_length: int64) -> (handle: variant)",
      "f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: "
      "list(shape) >= 1; metadata: string = ''",
      DatasetShape);
  ops.Add(
      "ParallelInterleaveDatasetV2(input_dataset: variant, other_arguments: list(Targuments), "
      "cycle_length: int64, block_length: int64, num_parallel_calls: int64) -> (handle: variant)",
      "f: func; Targuments: list(type) >= 0; output_types: list(type) >= 1; output_shapes: "
      "list(shape) >= 1; sloppy: bool = false; metadata: string = ''",
      DatasetShape);
  ops.Add(
      "ParallelInterleaveDatasetV3(input_dataset: variant, other_arguments: list(Targuments), "
      "cycle_length: int64, block_length: int64, num_parallel_calls: int64) -> (handle: variant)",
      "f: func; deterministic: string = 'default'; Targuments: list(type) >= 0; output_types: "
      "list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''",
      DatasetShape);
  ops.Add(
      "ParallelInterleaveDatasetV4(input_dataset: variant, other_arguments: list(Targuments), "
      "cycle_length: int64, block_length: int64, buffer_output_elements: int64, "
      "prefetch_input_elements: int64, num_parallel_calls: int64) -> (handle: variant)",
      "f: func; deterministic: string = 'default'; Targuments: list(type) >= 0; output_types: "
      "list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''",
      DatasetShape);
  ops.Add("TakeDataset(input_dataset: variant, count: int64) -> (handle: variant)",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''",
          DatasetShape);
  ops.Add("SkipDataset(input_dataset: variant, count: int64) -> (handle: variant)",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''",
          DatasetShape);
  ops.Add(
      "ShardDataset(input_dataset: variant, num_shards: int64, index: int64) -> (handle: variant)",
      "require_non_empty: bool = false; output_types: list(type) >= 1; output_shapes: list(shape) "
      ">= 1; metadata: string = ''",
      DatasetShape);
  ops.Add("ZipDataset(input_datasets: N * variant) -> (handle: variant)",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; N: int >= 1; metadata: "
          "string = ''",
          DatasetShape);
  ops.Add(
      "ConcatenateDataset(input_dataset: variant, another_dataset: variant) -> (handle: variant)",
      "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''",
      DatasetShape);
  ops.Add("PrefetchDataset(input_dataset: variant, buffer_size: int64) -> (handle: variant)",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; slack_period: int = 0; "
          "legacy_autotune: bool = true; buffer_size_min: int = 0; metadata: string = ''",
          DatasetShape);
  ops.Add("CacheDataset(input_dataset: variant, filename: string) -> (handle: variant)",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''",
          DatasetShape);
  ops.Add(
      "CacheDatasetV2(input_dataset: variant, filename: string, cache: resource) -> (handle: "
      "variant)",
      "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; metadata: string = ''",
      {stateful}, DatasetShape);
  ops.Add("OptionsDataset(input_dataset: variant) -> (handle: variant)",
          "serialized_options: string; output_types: list(type) >= 1; output_shapes: list(shape) "
          ">= 1; metadata: string = ''",
          DatasetShape);
  ops.Add("ModelDataset(input_dataset: variant) -> (handle: variant)",
          "algorithm: int = 0; cpu_budget: int = 0; ram_budget: int = 0; output_types: list(type) "
          ">= 1; output_shapes: list(shape) >= 1",
          DatasetShape);
  ops.Add("OptimizeDataset(input_dataset: variant, optimizations: string) -> (handle: variant)",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; optimization_configs: "
          "list(string) = []",
          DatasetShape);
  ops.Add(
      "OptimizeDatasetV2(input_dataset: variant, optimizations_enabled: string, "
      "optimizations_disabled: string, optimizations_default: string) -> (handle: variant)",
      "output_types: list(type) >= 1; output_shapes: list(shape) >= 1; optimization_configs: "
      "list(string) = []",
      DatasetShape);
  ops.Add(
      "MaxIntraOpParallelismDataset(input_dataset: variant, max_intra_op_parallelism: int64) -> "
      "(handle: variant)",
      "output_types: list(type) >= 1; output_shapes: list(shape) >= 1", DatasetShape);
  ops.Add(
      "PrivateThreadPoolDataset(input_dataset: variant, num_threads: int64) -> (handle: variant)",
      "output_types: list(type) >= 1; output_shapes: list(shape) >= 1", DatasetShape);
  ops.Add("FinalizeDataset(input_dataset: variant) -> (handle: variant)",
          "has_captured_ref: bool = false; output_types: list(type) >= 1; output_shapes: "
          "list(shape) >= 1",
          DatasetShape);
  ops.Add(
      "TextLineDataset(filenames: string, compression_type: string, buffer_size: int64) -> "
      "(handle: variant)",
      "metadata: string = ''", {stateful}, DatasetShape);
  ops.Add(
      "TFRecordDataset(filenames: string, compression_type: string, buffer_size: int64) -> "
      "(handle: variant)",
      "metadata: string = ''", {stateful}, DatasetShape);
  ops.Add(
      "TFRecordDatasetV2(filenames: string, compression_type: string, buffer_size: int64, "
      "byte_offsets: int64) -> (handle: variant)",
      "metadata: string = ''", {stateful}, DatasetShape);
  ops.Add(
      "FixedLengthRecordDataset(filenames: string, header_bytes: int64, record_bytes: int64, "
      "footer_bytes: int64, buffer_size: int64) -> (handle: variant)",
      "metadata: string = ''", {stateful}, DatasetShape);
  ops.Add(
      "FixedLengthRecordDatasetV2(filenames: string, header_bytes: int64, record_bytes: int64, "
      "footer_bytes: int64, buffer_size: int64, compression_type: string) -> (handle: variant)",
      "metadata: string = ''", {stateful}, DatasetShape);
  ops.Add("OneShotIterator() -> (handle: resource)",
          "dataset_factory: func; output_types: list(type) >= 1; output_shapes: list(shape) >= 1; "
          "container: string = ''; shared_name: string = ''",
          {stateful}, ShapeScalar);
  ops.Add("Iterator() -> (handle: resource)",
          "shared_name: string; container: string; output_types: list(type) >= 1; output_shapes: "
          "list(shape) >= 1",
          {stateful}, ShapeScalar);
  ops.Add("IteratorV2() -> (handle: resource)",
          "shared_name: string; container: string; output_types: list(type) >= 1; output_shapes: "
          "list(shape) >= 1",
          {stateful}, ShapeScalar);
  ops.Add("AnonymousIterator() -> (handle: resource)",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1", {stateful},
          ShapeScalar);
  ops.Add("AnonymousIteratorV2() -> (handle: resource, deleter: variant)",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1", {stateful},
          ShapeScalar);
  ops.Add("AnonymousIteratorV3() -> (handle: resource)",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1", {stateful},
          ShapeScalar);
  ops.Add("DeleteIterator(handle: resource, deleter: variant) -> ()", "", {stateful}, ShapeNothing);
  ops.Add("MakeIterator(dataset: variant, iterator: resource) -> ()", "", {stateful}, ShapeNothing);
  ops.Add("IteratorGetNext(iterator: resource) -> (components: list(output_types))",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1", {stateful},
          ElementShapes);
  ops.Add("IteratorGetNextSync(iterator: resource) -> (components: list(output_types))",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1", {stateful},
          ElementShapes);
  ops.Add("IteratorToStringHandle(resource_handle: resource) -> (string_handle: string)", "",
          {stateful}, ShapeScalar);
  ops.Add("IteratorFromStringHandle(string_handle: string) -> (resource_handle: resource)",
          "output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []", {stateful},
          ShapeScalar);
  ops.Add("IteratorFromStringHandleV2(string_handle: string) -> (resource_handle: resource)",
          "output_types: list(type) >= 0 = []; output_shapes: list(shape) >= 0 = []", {stateful},
          ShapeScalar);
  ops.Add("IteratorGetNextAsOptional(iterator: resource) -> (optional: variant)",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1", {stateful},
          ShapeScalar);
  ops.Add("OptionalFromValue(components: list(Toutput_types)) -> (optional: variant)",
          "Toutput_types: list(type) >= 1", ShapeScalar);
  ops.Add("OptionalNone() -> (optional: variant)", "", ShapeScalar);
  ops.Add("OptionalHasValue(optional: variant) -> (has_value: bool)", "", ShapeScalar);
  ops.Add("OptionalGetValue(optional: variant) -> (components: list(output_types))",
          "output_types: list(type) >= 1; output_shapes: list(shape) >= 1", ElementShapes);
  ops.Add(
      "AnonymousSeedGenerator(seed: int64, seed2: int64, reshuffle: bool) -> (handle: resource, "
      "deleter: variant)",
      "", {stateful}, ShapeScalar);
  ops.Add("DummySeedGenerator() -> (handle: resource)", "", {stateful}, ShapeScalar);
  ops.Add("DeleteSeedGenerator(handle: resource, deleter: variant) -> ()", "", {stateful},
          ShapeNothing);
  ops.Add("DummyMemoryCache() -> (handle: resource)", "", {stateful}, ShapeScalar);
  ops.Add("AnonymousMemoryCache() -> (handle: resource, deleter: variant)", "", {stateful},
          ShapeScalar);
  ops.Add("DeleteMemoryCache(handle: resource, deleter: variant) -> ()", "", {stateful},
          ShapeNothing);
  ops.Add("DatasetCardinality(input_dataset: variant) -> (cardinality: int64)",
          "cardinality_options: string = ''", ShapeScalar);
  ops.Add("DummyIterationCounter() -> (handle: resource)", "", {stateful}, ShapeScalar);
  ops.Add(
      "AnonymousRandomSeedGenerator(seed: int64, seed2: int64) -> (handle: resource, deleter: "
      "variant)",
      "", {stateful}, ShapeScalar);
  ops.Add("DeleteRandomSeedGenerator(handle: resource, deleter: variant) -> ()", "", {stateful},
          ShapeNothing);
}

}  // namespace carillon
