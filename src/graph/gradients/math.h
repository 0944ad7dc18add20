// The parts of the math gradients: each adds those of one file.
#pragma once

#include "graph/gradient.h"

namespace carillon {

void AddMathUnaryGradients(GradTable& grads);
void AddMathBinaryGradients(GradTable& grads);
void AddMathReduceGradients(GradTable& grads);
void AddMathMatMulGradients(GradTable& grads);
void AddMathSegmentGradients(GradTable& grads);

}  // namespace carillon
