// Shape functions of the nn ops.
#pragma once

#include "graph/shape_context.h"

namespace carillon {

Status Conv2DShape(ShapeContext& c);
Status Conv2DBackpropInputShape(ShapeContext& c);
Status Conv2DBackpropFilterShape(ShapeContext& c);
Status DepthwiseConv2dShape(ShapeContext& c);
Status DepthwiseConv2dBackpropInputShape(ShapeContext& c);
Status DepthwiseConv2dBackpropFilterShape(ShapeContext& c);

Status PoolShape(ShapeContext& c);    // window in the attributes ksize and strides; all outputs
Status PoolV2Shape(ShapeContext& c);  // window in inputs 1 and 2
Status MaxPoolGradShape(ShapeContext& c);
Status MaxPoolGradGradShape(ShapeContext& c);
Status MaxPoolGradWithArgmaxShape(ShapeContext& c);
Status AvgPoolGradShape(ShapeContext& c);

Status BiasAddShape(ShapeContext& c);
Status BiasAddGradShape(ShapeContext& c);
Status SoftmaxShape(ShapeContext& c);
Status SoftmaxCrossEntropyShape(ShapeContext& c);
Status SparseSoftmaxCrossEntropyShape(ShapeContext& c);
Status LrnShape(ShapeContext& c);
Status LrnGradShape(ShapeContext& c);
Status FusedBatchNormShape(ShapeContext& c);
Status FusedBatchNormGradShape(ShapeContext& c);

// Of the ops that passes make.
Status FusedConv2DShape(ShapeContext& c);
Status FusedMatMulShape(ShapeContext& c);
Status FusedBatchNormReluShape(ShapeContext& c);
Status FusedBatchNormReluGradShape(ShapeContext& c);
Status ConvBackpropFilterBiasShape(ShapeContext& c);

}  // namespace carillon
