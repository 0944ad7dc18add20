// Shape functions of the math ops.
#pragma once

#include "graph/shape_context.h"

namespace carillon {

Status ShapeEquality(ShapeContext& c);
Status ShapeAccumulate(ShapeContext& c);
Status ShapeReduction(ShapeContext& c);
Status ShapeArgExtreme(ShapeContext& c);
Status ShapeMatMul(ShapeContext& c);
Status ShapeBatchMatMul(ShapeContext& c);    // the same batch dimensions
Status ShapeBatchMatMulV2(ShapeContext& c);  // broadcast batch dimensions
Status ShapeTopK(ShapeContext& c);
Status ShapeTopKV2(ShapeContext& c);
Status ShapeInTopK(ShapeContext& c);
Status ShapeSegment(ShapeContext& c);
Status ShapeUnsortedSegment(ShapeContext& c);
Status ShapeSparseSegment(ShapeContext& c);  // with or without the number of segments
Status ShapeSparseSegmentGrad(ShapeContext& c);
Status ShapeSparseSegmentGradV2(ShapeContext& c);
Status ShapeBincount(ShapeContext& c);
Status ShapeDenseBincount(ShapeContext& c);
Status ShapeCross(ShapeContext& c);
Status ShapeHistogram(ShapeContext& c);

}  // namespace carillon
