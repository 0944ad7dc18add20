// The parts of the array gradients: each adds those of one file.
#pragma once

#include "graph/gradient.h"

namespace carillon {

void AddArrayJoinGradients(GradTable& grads);    // concat, split, pack, partition
void AddArrayIndexGradients(GradTable& grads);   // slices, gathers, scatters, select
void AddArrayLayoutGradients(GradTable& grads);  // reshapes, pads, tiles, permutations, matrices

}  // namespace carillon
