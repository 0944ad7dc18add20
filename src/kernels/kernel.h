// Kernel: how one node is computed on one device; and the ordered tables from which kernels are
// chosen.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "graph/node_graph.h"
#include "kernels/context.h"
#include "kernels/layout.h"
#include "tensor/allocator.h"

namespace carillon {

// What is known of a value when a kernel is chosen.
struct ValueInfo {
  DType dtype = DType::kInvalid;
  PartialShape shape;
  Layout layout;                     // of inputs: as their producer left it
  const Tensor* constant = nullptr;  // of inputs: the value, when it never changes
};

struct KernelOptions {
  int threads = 1;
  bool exact = false;   // no algorithm that rounds differently from the plain one (Winograd, …)
  bool measure = true;  // time the candidate algorithms rather than trusting a rule
  bool reference = false;                  // only plain kernels: the oracle of our own tests
  Allocator* allocator = HostAllocator();  // for what is timed while a kernel is made
};

// What a kernel is made from. Valid only during the call.
struct KernelRequest {
  const Node& node;
  std::span<const ValueInfo> inputs;
  std::span<const ValueInfo> outputs;
  const KernelOptions& options;
  ResourceStore* session_state;  // per session: what a stateful op keeps between steps (random
                                 // generators), under its node's name
  FunctionInstantiator* functions = nullptr;  // null where kernels cannot call functions

  template <typename T>
  const T& attr(std::string_view name) const {
    return node.attr<T>(name);
  }
  DType input_dtype(int i) const { return inputs[static_cast<size_t>(i)].dtype; }
  DType output_dtype(int i) const { return outputs[static_cast<size_t>(i)].dtype; }
  // Fills *shape when every dimension is known.
  bool InputShape(int i, Shape* shape) const {
    return inputs[static_cast<size_t>(i)].shape.AsShape(shape);
  }
  bool OutputShape(int i, Shape* shape) const {
    return outputs[static_cast<size_t>(i)].shape.AsShape(shape);
  }
  bool InputIsPlain(int i) const { return inputs[static_cast<size_t>(i)].layout == nullptr; }
};

// What lowering must know of a kernel. {input, output} pairs are flat indices.
struct KernelTraits {
  bool is_async = false;
  std::vector<Layout> input_layouts;   // empty: all plain; a differing input is reordered first
  std::vector<Layout> output_layouts;  // empty: all plain
  std::vector<std::pair<int, int>>
      reuses;  // the output may be written over the input, when nobody else needs that
  std::vector<std::pair<int, int>> aliases;  // the output is the input's memory (Identity, Reshape)
  size_t scratch_bytes = 0;                  // memory for the time of one Run
};

// Made once for a node of an Executable, then run in every step, also in several steps at once: Run
// must not change the kernel, or must guard what it changes. A kernel made for known shapes may
// rely on them: the executor checks feeds and shape inference is exact, but kernels compare before
// they touch memory.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // Computes all outputs. Must not block: what waits is async.
  virtual Status Run(KernelContext& context) = 0;
  const KernelTraits& traits() const { return traits_; }

 protected:
  KernelTraits traits_;
};

// A kernel that may wait. `done` is called exactly once, from any thread, also after cancellation;
// the context lives until then.
class AsyncKernel : public Kernel {
 public:
  using Done = std::function<void(Status)>;
  AsyncKernel() { traits_.is_async = true; }
  virtual void RunAsync(KernelContext& context, Done done) = 0;
  Status Run(KernelContext& context) final;  // Internal: never called
};

// A kernel without state of its own: one function.
using KernelFn = Status (*)(KernelContext& context);
std::unique_ptr<Kernel> MakeFunctionKernel(KernelFn fn, KernelTraits traits = {});

using KernelResult = StatusOr<std::unique_ptr<Kernel>>;

// One way to compute an op. `make` declines with Unimplemented and a message that says why; any
// other error is the user's (a bad attribute).
struct KernelEntry {
  std::string_view op;
  std::string_view name;  // "ref", "simd", "onednn": which way, for messages
  KernelResult (*make)(const KernelRequest& request);
};

// For the tables: an entry whose kernel is one function without conditions.
//   {"Shape", "ref", FromFunction<RunShape>},
template <KernelFn fn>
KernelResult FromFunction(const KernelRequest&) {
  return MakeFunctionKernel(fn);
}
// The same for elementwise functions: output 0 may overwrite input 0 (and input 1).
template <KernelFn fn>
KernelResult FromElementwise(const KernelRequest& request) {
  KernelTraits traits;
  traits.reuses.push_back({0, 0});
  if (request.node.num_inputs() > 1) traits.reuses.push_back({1, 0});
  return MakeFunctionKernel(fn, std::move(traits));
}
// Kernel classes with a constructor or a static Make(request).
template <typename K>
KernelResult FromClass(const KernelRequest& request) {
  if constexpr (requires { K::Make(request); }) {
    return K::Make(request);
  } else {
    return std::make_unique<K>(request);
  }
}

// All ways to compute the ops of one device, in the order in which they are tried.
class KernelTable {
 public:
  void Add(std::initializer_list<KernelEntry> entries);
  void Add(const KernelEntry& entry);
  // The first that accepts. When all decline: Unimplemented, with every reason. `log`, when given,
  // hears of each refusal and the choice. Entries called "ref" are the only candidates when
  // request.options.reference is set.
  KernelResult Make(const KernelRequest& request, std::string_view* chosen,
                    const std::function<void(const std::string&)>& log = nullptr) const;
  bool Has(std::string_view op) const { return entries_.contains(std::string(op)); }

  // Turns a value from one layout into another; set by the device that has layouts.
  using MakeReorder = KernelResult (*)(const ValueInfo& from, const Layout& to,
                                       const KernelOptions& options);
  void set_reorder(MakeReorder make) { reorder_ = make; }
  MakeReorder reorder() const { return reorder_; }

 private:
  std::unordered_map<std::string, std::vector<KernelEntry>> entries_;
  MakeReorder reorder_ = nullptr;
};

// The immutable table of the CPU: the fast kernels of cpu/ before those of ref/.
const KernelTable& CpuKernels();

}  // namespace carillon
