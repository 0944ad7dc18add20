#include "graph/gradient.h"

namespace carillon {

void AddStateGradients(GradTable& grads) {}

}  // namespace carillon
