// Shape functions of the ops for arrays and lists of tensors.
#pragma once

#include "graph/shape_context.h"

namespace carillon {

Status TensorArrayShape(ShapeContext& c);
Status GradArrayShape(ShapeContext& c);
Status WriteShape(ShapeContext& c);
Status ReadShape(ShapeContext& c);
Status GatherShape(ShapeContext& c);
Status ScatterShape(ShapeContext& c);
Status ConcatShape(ShapeContext& c);
Status SplitShape(ShapeContext& c);

Status ListBatchShape(ShapeContext& c);
Status ListConcatShape(ShapeContext& c);
Status ListElementShapeShape(ShapeContext& c);
Status ListFromShape(ShapeContext& c);
Status ListGatherShape(ShapeContext& c);
Status ListGetShape(ShapeContext& c);
Status ListIntoShape(ShapeContext& c);
Status ListJoinShape(ShapeContext& c);
Status ListPopShape(ShapeContext& c);
Status ListPushShape(ShapeContext& c);
Status ListResizeShape(ShapeContext& c);
Status ListScatterShape(ShapeContext& c);
Status ListSetShape(ShapeContext& c);
Status ListSplitShape(ShapeContext& c);
Status ListStackShape(ShapeContext& c);
Status NewListShape(ShapeContext& c);

}  // namespace carillon
