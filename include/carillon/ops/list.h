// Arrays and lists of tensors: what loops collect their results in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

// Tensor arrays. One lives for a step. Each element is written once and, when clear_after_read,
// read once. `handle` says which array; `flow` in which order: an op takes the flow of the op
// before it and gives its own. What breaks these rules, or an index out of range, is
// Error(InvalidArgument) of the step.
struct TensorArrayOutputs {
  Output handle;
  Output flow;
};
struct TensorArrayOpOptions {
  PartialShape element_shape = {};  // of each element, as far as it is known
  bool dynamic_size = false;        // writing past the end makes it longer
  bool clear_after_read = true;
  bool identical_element_shapes = false;
  std::string tensor_array_name;  // for messages
};
TensorArrayOutputs TensorArrayV3(Graph& g, const Input& size, DType dtype,
                                 const TensorArrayOpOptions& options = {});
// The array that holds the gradients of the elements; the same for the same `source`. What is
// written twice adds up, what never was is zeros.
TensorArrayOutputs TensorArrayGradV3(const Output& handle, const Input& flow,
                                     const std::string& source);
// All that change the array give the new flow.
Output TensorArrayWriteV3(const Output& handle, const Input& index, const Input& value,
                          const Input& flow);
Output TensorArrayReadV3(const Output& handle, const Input& index, const Input& flow, DType dtype);
// Elements as the rows of a tensor, and the rows of a tensor as elements.
Output TensorArrayGatherV3(const Output& handle, const Input& indices, const Input& flow,
                           DType dtype, const PartialShape& element_shape = {});
Output TensorArrayScatterV3(const Output& handle, const Input& indices, const Input& value,
                            const Input& flow);
// All elements, joined along their first dimension, and their lengths; and the way back.
struct TensorArrayConcatOutputs {
  Output value;
  Output lengths;
};
TensorArrayConcatOutputs TensorArrayConcatV3(const Output& handle, const Input& flow, DType dtype,
                                             const PartialShape& element_shape_except0 = {});
Output TensorArraySplitV3(const Output& handle, const Input& value, const Input& lengths,
                          const Input& flow);
Output TensorArraySizeV3(const Output& handle, const Input& flow);
Operation TensorArrayCloseV3(const Output& handle);

// Tensor lists. A list is a value, like a tensor: ops give new lists and leave the old ones as they
// were. (No element is copied for that when nobody needs the old list any more.) `element_shape` is
// a vector of sizes, -1 where unknown, or the scalar -1 for a shape of which nothing is known.
Output EmptyTensorList(Graph& g, DType element_dtype, const Input& element_shape,
                       const Input& max_num_elements = -1);
// Elements that are not set yet: zeros.
Output TensorListReserve(Graph& g, DType element_dtype, const Input& element_shape,
                         const Input& num_elements);
Output TensorListPushBack(const Output& list, const Input& tensor);
struct TensorListPopBackOutputs {
  Output list;
  Output tensor;
};
TensorListPopBackOutputs TensorListPopBack(const Output& list, const Input& element_shape,
                                           DType element_dtype);
Output TensorListGetItem(const Output& list, const Input& index, const Input& element_shape,
                         DType element_dtype);
Output TensorListSetItem(const Output& list, const Input& index, const Input& item,
                         bool resize_if_index_out_of_bounds = false);
Output TensorListLength(const Output& list);
Output TensorListElementShape(const Output& list, DType shape_type = kInt32);
Output TensorListResize(const Output& list, const Input& size);
Output TensorListConcatLists(const Output& a, const Output& b, DType element_dtype);

// Elements as the rows of a tensor, and the rows of a tensor as elements.
Output TensorListStack(const Output& list, const Input& element_shape, DType element_dtype,
                       int64_t num_elements = -1);
Output TensorListFromTensor(const Input& tensor, const Input& element_shape);
Output TensorListGather(const Output& list, const Input& indices, const Input& element_shape,
                        DType element_dtype);
// As long as the largest index asks for, or num_elements.
Output TensorListScatter(const Input& tensor, const Input& indices, const Input& element_shape,
                         const Input& num_elements = -1);
Output TensorListScatterIntoExistingList(const Output& list, const Input& tensor,
                                         const Input& indices);
// All elements, joined along their first dimension, and their lengths; and the way back.
// `leading_dims`: the lengths of elements that are not set.
struct TensorListConcatOutputs {
  Output tensor;
  Output lengths;
};
TensorListConcatOutputs TensorListConcat(const Output& list, const Input& element_shape,
                                         const Input& leading_dims, DType element_dtype);
Output TensorListSplit(const Input& tensor, const Input& element_shape, const Input& lengths);

}  // namespace carillon
