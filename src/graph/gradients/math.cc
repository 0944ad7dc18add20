#include "graph/gradients/math.h"

namespace carillon {

void AddMathGradients(GradTable& grads) {
  AddMathUnaryGradients(grads);
  AddMathBinaryGradients(grads);
  AddMathReduceGradients(grads);
  AddMathMatMulGradients(grads);
  AddMathSegmentGradients(grads);
  grads.AddNone({"Equal",
                 "NotEqual",
                 "ApproximateEqual",
                 "Less",
                 "LessEqual",
                 "Greater",
                 "GreaterEqual",
                 "LogicalAnd",
                 "LogicalOr",
                 "LogicalNot",
                 "IsNan",
                 "IsInf",
                 "IsFinite",
                 "All",
                 "Any",
                 "ArgMax",
                 "ArgMin",
                 "FloorDiv",
                 "TruncateDiv",
                 "Floor",
                 "Ceil",
                 "Round",
                 "Rint",
                 "LeftShift",
                 "RightShift",
                 "BitwiseAnd",
                 "BitwiseOr",
                 "BitwiseXor",
                 "Invert",
                 "InTopK",
                 "InTopKV2",
                 "Bincount",
                 "DenseBincount",
                 "Bucketize",
                 "HistogramFixedWidth"});
}

}  // namespace carillon
