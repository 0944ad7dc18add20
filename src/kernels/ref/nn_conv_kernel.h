// What the plain convolution kernels share, dense and depthwise.
#pragma once

#include <memory>
#include <utility>

#include "kernels/ref/nn.h"

namespace carillon {

// Reads its attributes once, when it is made.
class ConvKernel : public Kernel {
 public:
  explicit ConvKernel(WindowAttrs attrs) : attrs_(std::move(attrs)) {}
  template <typename K>
  static KernelResult MakeOf(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(WindowAttrs attrs, WindowAttrs::Read(request.node));
    CARILLON_RETURN_IF_ERROR(attrs.RequireSpatial());
    return std::make_unique<K>(std::move(attrs));
  }

 protected:
  static Status CheckGradient(const ConvGeometry& g, const Tensor& grad) {
    if (grad.shape() == g.OutputShape()) return absl::OkStatus();
    return InvalidArgument("the gradient should have the convolution's output shape ",
                           g.OutputShape().ToString(), " but is ", grad.shape().ToString());
  }

  const WindowAttrs attrs_;
};

}  // namespace carillon
