// VariableResource: the resource behind VariableV2 and VarHandleOp alike.
#pragma once

#include <initializer_list>
#include <shared_mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "base/status.h"
#include "carillon/tensor.h"
#include "tensor/allocator.h"
#include "tensor/object.h"

namespace carillon {

// Invariants:
//   1. value_ is read under mutex_ held shared and written under mutex_ held exclusively;
//   2. a tensor handed out by Snapshot() never changes: who writes does so in place only when
//      nobody else holds the memory (a new holder would need mutex_), and into other memory
//      otherwise;
//   3. several variables are locked in the order of their addresses (VariableLock).
class VariableResource final : public Resource {
 public:
  VariableResource(DType dtype, std::string name) : dtype_(dtype), name_(std::move(name)) {}

  DType dtype() const { return dtype_; }
  const std::string& name() const { return name_; }
  // Its value now; holds nothing when uninitialised.
  Tensor Snapshot() const;
  // The same, but FailedPrecondition when uninitialised.
  StatusOr<Tensor> Read() const;
  // Calls body(value) and returns what it does; FailedPrecondition when uninitialised. Updates wait
  // meanwhile. For who wants a small part of a large value: while nobody holds a snapshot, an
  // update of a part need not copy the rest.
  Status Visit(absl::FunctionRef<Status(const Tensor&)> body) const;
  bool IsInitialized() const;
  // `value` must not be step memory (KernelContext::Keep, Take).
  void Assign(Tensor value);
  std::string DebugString() const override;
  // The error for a read before the first assignment; SessionManager looks for the word
  // "uninitialized".
  Status Uninitialized() const;

 private:
  friend class VariableLock;
  const DType dtype_;
  const std::string name_;
  mutable std::shared_mutex mutex_;
  Tensor value_;
};

// Holds one or several variables (the same one twice is fine) for an update.
class VariableLock {
 public:
  explicit VariableLock(std::span<VariableResource* const> variables);
  explicit VariableLock(std::initializer_list<VariableResource*> variables)
      : VariableLock(std::span(variables.begin(), variables.size())) {}
  ~VariableLock();
  VariableLock(const VariableLock&) = delete;
  VariableLock& operator=(const VariableLock&) = delete;

  // The value to read. FailedPrecondition when uninitialised.
  StatusOr<const Tensor*> Readable(const VariableResource& variable) const;
  // The value to change in place: copied first when somebody else holds the memory, and always when
  // it is of strings, whose text is then counted anew. FailedPrecondition when uninitialised.
  StatusOr<Tensor*> Writable(VariableResource& variable, Allocator* allocator) const;
  // To be called once the strings of Writable are set: ResourceExhausted, with the values as they
  // were before, when there is no memory for their text. Without it the end of the lock puts these
  // back.
  Status CountText() const;

  // For a pass that computes every element anew: `from` is the value as it was, `to` the value as
  // it will be. They are the same memory when nobody else holds that; so no copy is ever made.
  struct Rewrite {
    Tensor from;
    Tensor* to;
  };
  // The caller must now set all elements of `to`. FailedPrecondition when uninitialised.
  StatusOr<Rewrite> Rewritable(VariableResource& variable, Allocator* allocator) const;

  // The value itself; holds nothing when uninitialised. Its elements may be changed only while it
  // is unshared.
  Tensor& Value(VariableResource& variable) const { return variable.value_; }
  // Replaces the value, also the one of an uninitialised variable. Not step memory.
  void Set(VariableResource& variable, Tensor value) const { variable.value_ = std::move(value); }

 private:
  void PutBack() const;

  absl::InlinedVector<VariableResource*, 4> locked_;  // sorted, unique
  // Values of strings before the changes that are not counted yet.
  mutable std::vector<std::pair<VariableResource*, Tensor>> uncounted_;
};

}  // namespace carillon
