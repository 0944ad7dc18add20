// Runs kernels on the bytes of an input: a graph that is fed one string.
#pragma once

#include <string_view>
#include <vector>

#include "carillon/carillon.h"

namespace carillon {

class KernelRunner {
 public:
  // Each fetch is a step of its own; those that are no Error are good.
  void Run(std::string_view bytes) {
    for (const std::vector<Output>& fetch : fetches_) {
      try {
        Tensor input(kString, {});
        *input.mutable_data<std::string>() = std::string(bytes);
        session_.Run(fetch, {{text_, input}});
      } catch (const Error&) {
      }
    }
  }

 protected:
  Graph g_;
  const Output text_ = Placeholder(g_, kString, {});
  std::vector<std::vector<Output>> fetches_;
  Session session_{g_, {.memory_limit_bytes = 64 << 20}};
};

}  // namespace carillon
