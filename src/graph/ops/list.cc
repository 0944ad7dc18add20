// Specs of the ops for arrays and lists of tensors.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/ops/list_shapes.h"
#include "graph/shape_context.h"

namespace carillon {

void AddListOps(OpTable& ops) {
  ops.Add("TensorArrayV3(size: int32) -> (handle: resource, flow: float)",
          "dtype: type; element_shape: shape = ?; dynamic_size: bool = false; clear_after_read: "
          "bool = true; identical_element_shapes: bool = false; tensor_array_name: string = ''",
          {stateful}, TensorArrayShape);
  ops.Add(
      "TensorArrayGradV3(handle: resource, flow_in: float) -> (grad_handle: resource, flow_out: "
      "float)",
      "source: string", {stateful}, GradArrayShape);
  ops.Add(
      "TensorArrayGradWithShape(handle: resource, flow_in: float, shape_to_prepend: int32) -> "
      "(grad_handle: resource, flow_out: float)",
      "source: string", {stateful}, GradArrayShape);
  ops.Add(
      "TensorArrayWriteV3(handle: resource, index: int32, value: T, flow_in: float) -> (flow_out: "
      "float)",
      "T: type", {stateful}, WriteShape);
  ops.Add("TensorArrayReadV3(handle: resource, index: int32, flow_in: float) -> (value: dtype)",
          "dtype: type", {stateful}, ReadShape);
  ops.Add("TensorArrayGatherV3(handle: resource, indices: int32, flow_in: float) -> (value: dtype)",
          "dtype: type; element_shape: shape = ?", {stateful}, GatherShape);
  ops.Add(
      "TensorArrayScatterV3(handle: resource, indices: int32, value: T, flow_in: float) -> "
      "(flow_out: float)",
      "T: type", {stateful}, ScatterShape);
  ops.Add("TensorArrayConcatV3(handle: resource, flow_in: float) -> (value: dtype, lengths: int64)",
          "dtype: type; element_shape_except0: shape = ?", {stateful}, ConcatShape);
  ops.Add(
      "TensorArraySplitV3(handle: resource, value: T, lengths: int64, flow_in: float) -> "
      "(flow_out: float)",
      "T: type", {stateful}, SplitShape);
  ops.Add("TensorArraySizeV3(handle: resource, flow_in: float) -> (size: int32)", "", {stateful},
          ShapeScalar);
  ops.Add("TensorArrayCloseV3(handle: resource) -> ()", "", {stateful}, ShapeNothing);
  ops.Add(
      "EmptyTensorList(element_shape: shape_type, max_num_elements: int32) -> (handle: variant)",
      "element_dtype: type; shape_type: {index}", NewListShape);
  ops.Add("TensorListReserve(element_shape: shape_type, num_elements: int32) -> (handle: variant)",
          "element_dtype: type; shape_type: {index}", NewListShape);
  ops.Add(
      "TensorListPushBack(input_handle: variant, tensor: element_dtype) -> (output_handle: "
      "variant)",
      "element_dtype: type", ListPushShape);
  ops.Add(
      "TensorListPopBack(input_handle: variant, element_shape: int32) -> (output_handle: variant, "
      "tensor: element_dtype)",
      "element_dtype: type", ListPopShape);
  ops.Add(
      "TensorListGetItem(input_handle: variant, index: int32, element_shape: Tshape) -> (item: "
      "element_dtype)",
      "element_dtype: type; Tshape: {index} = int32", ListGetShape);
  ops.Add(
      "TensorListSetItem(input_handle: variant, index: int32, item: element_dtype) -> "
      "(output_handle: variant)",
      "element_dtype: type; resize_if_index_out_of_bounds: bool = false", ListSetShape);
  ops.Add("TensorListStack(input_handle: variant, element_shape: int32) -> (tensor: element_dtype)",
          "element_dtype: type; num_elements: int = -1", ListStackShape);
  ops.Add(
      "TensorListFromTensor(tensor: element_dtype, element_shape: shape_type) -> (output_handle: "
      "variant)",
      "element_dtype: type; shape_type: {index}", ListFromShape);
  ops.Add(
      "TensorListGather(input_handle: variant, indices: int32, element_shape: int32) -> (values: "
      "element_dtype)",
      "element_dtype: type", ListGatherShape);
  ops.Add(
      "TensorListScatter(tensor: element_dtype, indices: int32, element_shape: shape_type) -> "
      "(output_handle: variant)",
      "element_dtype: type; shape_type: {index}", ListScatterShape);
  ops.Add(
      "TensorListScatterV2(tensor: element_dtype, indices: int32, element_shape: shape_type, "
      "num_elements: int32) -> (output_handle: variant)",
      "element_dtype: type; shape_type: {index}", ListScatterShape);
  ops.Add(
      "TensorListScatterIntoExistingList(input_handle: variant, tensor: element_dtype, indices: "
      "int32) -> (output_handle: variant)",
      "element_dtype: type", ListIntoShape);
  ops.Add("TensorListConcat(input_handle: variant) -> (tensor: element_dtype, lengths: int64)",
          "element_dtype: type; element_shape: shape = ?", ListConcatShape);
  ops.Add(
      "TensorListConcatV2(input_handle: variant, element_shape: shape_type, leading_dims: int64) "
      "-> (tensor: element_dtype, lengths: int64)",
      "element_dtype: type; shape_type: {index}", ListConcatShape);
  ops.Add("TensorListConcatLists(input_a: variant, input_b: variant) -> (output: variant)",
          "element_dtype: type", ListJoinShape);
  ops.Add(
      "TensorListSplit(tensor: element_dtype, element_shape: shape_type, lengths: int64) -> "
      "(output_handle: variant)",
      "element_dtype: type; shape_type: {index}", ListSplitShape);
  ops.Add("TensorListLength(input_handle: variant) -> (length: int32)", "", ShapeScalar);
  ops.Add("TensorListElementShape(input_handle: variant) -> (element_shape: shape_type)",
          "shape_type: {index}", ListElementShapeShape);
  ops.Add("TensorListResize(input_handle: variant, size: int32) -> (output_handle: variant)", "",
          ListResizeShape);
  ops.Add(
      "TensorListPushBackBatch(input_handles: variant, tensor: element_dtype) -> (output_handles: "
      "variant)",
      "element_dtype: type", ListBatchShape);
}

}  // namespace carillon
