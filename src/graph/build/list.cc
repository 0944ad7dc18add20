#include "carillon/ops/list.h"

#include "carillon/op_builder.h"

namespace carillon {

TensorArrayOutputs TensorArrayV3(Graph& g, const Input& size, DType dtype,
                                 const TensorArrayOpOptions& options) {
  const Operation array = OpBuilder(g, "TensorArrayV3")
                              .Arg(size)
                              .Attr("dtype", dtype)
                              .Attr("element_shape", options.element_shape)
                              .Attr("dynamic_size", options.dynamic_size)
                              .Attr("clear_after_read", options.clear_after_read)
                              .Attr("identical_element_shapes", options.identical_element_shapes)
                              .Attr("tensor_array_name", options.tensor_array_name)
                              .Build();
  return {array.output(0), array.output(1)};
}
TensorArrayOutputs TensorArrayGradV3(const Output& handle, const Input& flow,
                                     const std::string& source) {
  const Operation array =
      OpBuilder("TensorArrayGradV3").Arg(handle).Arg(flow).Attr("source", source).Build();
  return {array.output(0), array.output(1)};
}
Output TensorArrayWriteV3(const Output& handle, const Input& index, const Input& value,
                          const Input& flow) {
  return OpBuilder("TensorArrayWriteV3").Arg(handle).Arg(index).Arg(value).Arg(flow);
}
Output TensorArrayReadV3(const Output& handle, const Input& index, const Input& flow, DType dtype) {
  return OpBuilder("TensorArrayReadV3").Arg(handle).Arg(index).Arg(flow).Attr("dtype", dtype);
}
Output TensorArrayGatherV3(const Output& handle, const Input& indices, const Input& flow,
                           DType dtype, const PartialShape& element_shape) {
  return OpBuilder("TensorArrayGatherV3")
      .Arg(handle)
      .Arg(indices)
      .Arg(flow)
      .Attr("dtype", dtype)
      .Attr("element_shape", element_shape);
}
Output TensorArrayScatterV3(const Output& handle, const Input& indices, const Input& value,
                            const Input& flow) {
  return OpBuilder("TensorArrayScatterV3").Arg(handle).Arg(indices).Arg(value).Arg(flow);
}
TensorArrayConcatOutputs TensorArrayConcatV3(const Output& handle, const Input& flow, DType dtype,
                                             const PartialShape& element_shape_except0) {
  const Operation concat = OpBuilder("TensorArrayConcatV3")
                               .Arg(handle)
                               .Arg(flow)
                               .Attr("dtype", dtype)
                               .Attr("element_shape_except0", element_shape_except0)
                               .Build();
  return {concat.output(0), concat.output(1)};
}
Output TensorArraySplitV3(const Output& handle, const Input& value, const Input& lengths,
                          const Input& flow) {
  return OpBuilder("TensorArraySplitV3").Arg(handle).Arg(value).Arg(lengths).Arg(flow);
}
Output TensorArraySizeV3(const Output& handle, const Input& flow) {
  return OpBuilder("TensorArraySizeV3").Arg(handle).Arg(flow);
}
Operation TensorArrayCloseV3(const Output& handle) {
  return OpBuilder("TensorArrayCloseV3").Arg(handle).Build();
}

Output EmptyTensorList(Graph& g, DType element_dtype, const Input& element_shape,
                       const Input& max_num_elements) {
  return OpBuilder(g, "EmptyTensorList")
      .Arg(element_shape)
      .Arg(max_num_elements)
      .Attr("element_dtype", element_dtype);
}
Output TensorListReserve(Graph& g, DType element_dtype, const Input& element_shape,
                         const Input& num_elements) {
  return OpBuilder(g, "TensorListReserve")
      .Arg(element_shape)
      .Arg(num_elements)
      .Attr("element_dtype", element_dtype);
}
Output TensorListPushBack(const Output& list, const Input& tensor) {
  return OpBuilder("TensorListPushBack").Arg(list).Arg(tensor);
}
TensorListPopBackOutputs TensorListPopBack(const Output& list, const Input& element_shape,
                                           DType element_dtype) {
  const Operation pop = OpBuilder("TensorListPopBack")
                            .Arg(list)
                            .Arg(element_shape)
                            .Attr("element_dtype", element_dtype)
                            .Build();
  return {pop.output(0), pop.output(1)};
}
Output TensorListGetItem(const Output& list, const Input& index, const Input& element_shape,
                         DType element_dtype) {
  return OpBuilder("TensorListGetItem")
      .Arg(list)
      .Arg(index)
      .Arg(element_shape)
      .Attr("element_dtype", element_dtype);
}
Output TensorListSetItem(const Output& list, const Input& index, const Input& item,
                         bool resize_if_index_out_of_bounds) {
  return OpBuilder("TensorListSetItem")
      .Arg(list)
      .Arg(index)
      .Arg(item)
      .Attr("resize_if_index_out_of_bounds", resize_if_index_out_of_bounds);
}
Output TensorListLength(const Output& list) { return OpBuilder("TensorListLength").Arg(list); }
Output TensorListElementShape(const Output& list, DType shape_type) {
  return OpBuilder("TensorListElementShape").Arg(list).Attr("shape_type", shape_type);
}
Output TensorListResize(const Output& list, const Input& size) {
  return OpBuilder("TensorListResize").Arg(list).Arg(size);
}
Output TensorListConcatLists(const Output& a, const Output& b, DType element_dtype) {
  return OpBuilder("TensorListConcatLists").Arg(a).Arg(b).Attr("element_dtype", element_dtype);
}

Output TensorListStack(const Output& list, const Input& element_shape, DType element_dtype,
                       int64_t num_elements) {
  return OpBuilder("TensorListStack")
      .Arg(list)
      .Arg(element_shape)
      .Attr("element_dtype", element_dtype)
      .Attr("num_elements", num_elements);
}
Output TensorListFromTensor(const Input& tensor, const Input& element_shape) {
  return OpBuilder("TensorListFromTensor").Arg(tensor).Arg(element_shape);
}
Output TensorListGather(const Output& list, const Input& indices, const Input& element_shape,
                        DType element_dtype) {
  return OpBuilder("TensorListGather")
      .Arg(list)
      .Arg(indices)
      .Arg(element_shape)
      .Attr("element_dtype", element_dtype);
}
Output TensorListScatter(const Input& tensor, const Input& indices, const Input& element_shape,
                         const Input& num_elements) {
  return OpBuilder("TensorListScatterV2")
      .Arg(tensor)
      .Arg(indices)
      .Arg(element_shape)
      .Arg(num_elements);
}
Output TensorListScatterIntoExistingList(const Output& list, const Input& tensor,
                                         const Input& indices) {
  return OpBuilder("TensorListScatterIntoExistingList").Arg(list).Arg(tensor).Arg(indices);
}
TensorListConcatOutputs TensorListConcat(const Output& list, const Input& element_shape,
                                         const Input& leading_dims, DType element_dtype) {
  const Operation concat = OpBuilder("TensorListConcatV2")
                               .Arg(list)
                               .Arg(element_shape)
                               .Arg(leading_dims)
                               .Attr("element_dtype", element_dtype)
                               .Build();
  return {concat.output(0), concat.output(1)};
}
Output TensorListSplit(const Input& tensor, const Input& element_shape, const Input& lengths) {
  return OpBuilder("TensorListSplit").Arg(tensor).Arg(element_shape).Arg(lengths);
}

}  // namespace carillon
