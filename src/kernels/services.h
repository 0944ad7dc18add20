// What kernels need from above, as pure interfaces: runtime/ and distributed/ implement them and
// hand them in with each step.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/status.h"
#include "base/work_scope.h"
#include "carillon/tensor.h"
#include "tensor/allocator.h"
#include "tensor/object.h"

namespace carillon {

class BackgroundThreads;
struct FunctionRef;

// Resources by (container, name). Thread-safe.
class ResourceStore {
 public:
  virtual ~ResourceStore() = default;
  virtual std::shared_ptr<Resource> Find(const std::string& container,
                                         const std::string& name) = 0;  // null when there is none
  // `make` runs at most once at a time for a name, under no lock that other names need.
  virtual StatusOr<std::shared_ptr<Resource>> FindOrMake(
      const std::string& container, const std::string& name,
      absl::FunctionRef<StatusOr<std::shared_ptr<Resource>>()> make) = 0;
  virtual Status Remove(const std::string& container, const std::string& name) = 0;
  virtual void Clear(const std::string& container) = 0;
  // Grows whenever a resource is removed: what was looked up at an earlier generation must be
  // looked up again.
  virtual uint64_t generation() const = 0;
};

// FindOrMake for one kind of resource; InvalidArgument when the name is taken by another kind.
template <typename T>
StatusOr<std::shared_ptr<T>> FindOrMakeResource(
    ResourceStore& store, const std::string& container, const std::string& name,
    absl::FunctionRef<StatusOr<std::shared_ptr<Resource>>()> make) {
  CARILLON_ASSIGN_OR_RETURN(std::shared_ptr<Resource> found,
                            store.FindOrMake(container, name, make));
  std::shared_ptr<T> typed = std::dynamic_pointer_cast<T>(found);
  if (typed == nullptr) {
    return InvalidArgument("resource ", container, "/", name, " exists and is a ",
                           found->DebugString(), ", not what this op needs");
  }
  return typed;
}

// Tells the parts of a step that it is over. Thread-safe.
class Cancellation : public CancelFlag {
 public:
  // Runs `callback` when the step is cancelled. False when it already is: `callback` will not run.
  // The result is for Deregister.
  virtual bool Register(uint64_t* token, std::function<void()> callback) = 0;
  // Afterwards the callback is not running and will not run. True when it has not run.
  virtual bool Deregister(uint64_t token) = 0;
};

// Where tensors meet between parts of one step. Thread-safe.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  virtual Status Send(const std::string& key, Tensor value, bool is_dead) = 0;
  using Receive = std::function<void(const Status& status, Tensor value, bool is_dead)>;
  virtual void ReceiveAsync(const std::string& key, Receive done) = 0;
};

// A function of the graph's library, ready to be called. Thread-safe. Owns all that it needs, so
// that it may outlive the step, and the session, in which it was made.
class CallableFunction {
 public:
  virtual ~CallableFunction() = default;
  // Blocks until the results are there, or `cancellation` ends the call.
  virtual Status Call(std::span<const Tensor> args, Cancellation* cancellation,
                      std::vector<Tensor>* results) = 0;
};

// Makes functions callable, for kernels that call them (data sets map and filter with them).
class FunctionInstantiator {
 public:
  virtual ~FunctionInstantiator() = default;
  // NotFound when the library has no such function.
  virtual StatusOr<std::shared_ptr<CallableFunction>> Instantiate(const FunctionRef& function) = 0;
};

// What one step lends to its kernels. Outlives every kernel call of the step.
struct StepServices {
  int64_t step_id = 0;
  Allocator* allocator = nullptr;
  ResourceStore* resources = nullptr;  // shared by sessions
  ResourceStore* step_resources =
      nullptr;  // emptied when the step ends: stacks, tensor arrays, temporary variables
  Cancellation* cancellation = nullptr;
  Rendezvous* rendezvous = nullptr;
  BackgroundThreads* background = nullptr;  // for work that blocks
};

}  // namespace carillon
