// ConvAlgorithm: one way to compute a convolution or one of its gradients. Which one is the fastest
// no rule tells (Winograd or direct, blocked or not): conv_choice.h times them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "graph/window.h"
#include "kernels/kernel.h"
#include "kernels/layout.h"

namespace carillon {

enum class ConvPass {
  kForward,         // input, filter, bias → output
  kBackwardInput,   // filter, output gradient → input gradient
  kBackwardFilter,  // input, output gradient → filter gradient, bias gradient
};

// What is to be computed, in float. The filter is row-major: [height, width, in, out].
struct ConvProblem {
  ConvPass pass = ConvPass::kForward;
  ConvGeometry geometry;
  bool depthwise = false;  // the filter is [height, width, channels, multiplier]
  bool has_bias = false;   // forward: added to the output; backward filter: its gradient is wanted
  bool has_relu = false;   // forward: applied last
  Layout input_layout;     // as the producer of the input (not backward input) left it …
  Layout output_layout;    // … and that of the output's gradient (not forward)

  // A text that two problems share only when one algorithm is as good for one as for the other.
  std::string Key() const;
};

// Several threads may run it at once.
class ConvAlgorithm {
 public:
  virtual ~ConvAlgorithm() = default;
  const std::string& name() const { return name_; }
  // How the input (or its gradient) and the output (or its gradient) lie.
  const Layout& input_layout() const { return input_layout_; }
  const Layout& output_layout() const { return output_layout_; }
  size_t scratch_bytes() const { return scratch_bytes_; }

  // The pass says which are read and which written; bias is null when the problem has none.
  struct Buffers {
    void* input = nullptr;
    void* filter = nullptr;
    void* bias = nullptr;
    void* output = nullptr;
    void* scratch = nullptr;  // scratch_bytes(), aligned like tensors
  };
  virtual Status Run(const Buffers& buffers) = 0;

 protected:
  std::string name_;
  Layout input_layout_;
  Layout output_layout_;
  size_t scratch_bytes_ = 0;
};

using ConvAlgorithmResult = StatusOr<std::unique_ptr<ConvAlgorithm>>;

// One entry of the ordered table of algorithms. `make` declines with Unimplemented.
struct ConvCandidate {
  const char* name;
  bool exact;  // rounds like the plain sum of products
  ConvAlgorithmResult (*make)(const ConvProblem& problem);
};

// oneDNN's primitives. They are made for the number of threads that is set when they are made.
ConvAlgorithmResult MakeDirectBlockedConv(const ConvProblem& problem);
ConvAlgorithmResult MakeDirectChannelsLastConv(const ConvProblem& problem);
ConvAlgorithmResult MakeDirectAsGivenConv(const ConvProblem& problem);
ConvAlgorithmResult MakeWinogradConv(const ConvProblem& problem);

// Our own, for 3x3 and 5x5 filters, likewise made for the threads that are set.
ConvAlgorithmResult MakeOwnWinogradConv(const ConvProblem& problem);

}  // namespace carillon
