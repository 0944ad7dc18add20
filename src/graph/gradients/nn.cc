#include "graph/gradients/nn.h"

namespace carillon {

void AddNnGradients(GradTable& grads) {
  AddConvGradients(grads);
  AddPoolGradients(grads);
  AddActivationGradients(grads);
  AddLossGradients(grads);
  AddNormGradients(grads);
}

}  // namespace carillon
