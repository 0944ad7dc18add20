// Functions of a graph's library, made callable for kernels.
#pragma once

#include <memory>

#include "graph/function_library.h"
#include "runtime/executable.h"

namespace carillon {

// Lives as long as the kernels are chosen; what it makes keeps library and device alive, and must
// not outlive `options.resources`. Not thread-safe.
class LibraryInstantiator final : public FunctionInstantiator {
 public:
  LibraryInstantiator(std::shared_ptr<FunctionLibrary> library, std::shared_ptr<Device> device,
                      const SpecializeOptions& options)
      : library_(std::move(library)), device_(std::move(device)), options_(options) {}

  StatusOr<std::shared_ptr<CallableFunction>> Instantiate(const FunctionRef& function) override;

 private:
  const std::shared_ptr<FunctionLibrary> library_;
  const std::shared_ptr<Device> device_;
  const SpecializeOptions& options_;
};

}  // namespace carillon
