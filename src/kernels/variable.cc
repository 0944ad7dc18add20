#include "kernels/variable.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/parallel.h"
#include "base/work_scope.h"
#include "tensor/dispatch.h"
#include "tensor/text_memory.h"

namespace carillon {
namespace {

Status NoMemoryFor(const VariableResource& variable, const Tensor& value) {
  return ResourceExhausted("no memory for a new value of variable ", variable.name(), " (",
                           DTypeName(value.dtype()), value.shape().ToString(), ")");
}

}  // namespace

Tensor VariableResource::Snapshot() const {
  std::shared_lock lock(mutex_);
  return value_;
}

StatusOr<Tensor> VariableResource::Read() const {
  Tensor value = Snapshot();
  if (!value.has_value()) return Uninitialized();
  return value;
}

Status VariableResource::Visit(absl::FunctionRef<Status(const Tensor&)> body) const {
  std::shared_lock lock(mutex_);
  if (!value_.has_value()) return Uninitialized();
  return body(value_);
}

bool VariableResource::IsInitialized() const {
  std::shared_lock lock(mutex_);
  return value_.has_value();
}

void VariableResource::Assign(Tensor value) {
  std::lock_guard lock(mutex_);
  std::swap(value_, value);  // the old memory is freed after the lock
}

std::string VariableResource::DebugString() const {
  return StrCat("variable of ", DTypeName(dtype_), ", value ", Snapshot().ToString());
}

Status VariableResource::Uninitialized() const {
  return FailedPrecondition("variable ", name_,
                            " is uninitialized: run its initializer or restore it first");
}

VariableLock::VariableLock(std::span<VariableResource* const> variables)
    : locked_(variables.begin(), variables.end()) {
  std::ranges::sort(locked_);
  locked_.erase(std::unique(locked_.begin(), locked_.end()), locked_.end());
  for (VariableResource* variable : locked_) variable->mutex_.lock();
}

VariableLock::~VariableLock() {
  const WorkPause pause;
  PutBack();
  for (VariableResource* variable : locked_) variable->mutex_.unlock();
}

StatusOr<const Tensor*> VariableLock::Readable(const VariableResource& variable) const {
  if (!variable.value_.has_value()) return variable.Uninitialized();
  return &variable.value_;
}

Status VariableLock::CountText() const {
  Status status;
  for (const auto& [variable, before] : uncounted_)
    if (status.ok()) status = ChargeText(variable->value_);
  if (!status.ok()) PutBack();
  uncounted_.clear();
  return status;
}

void VariableLock::PutBack() const {
  // The last comes first: a variable may have been changed twice.
  for (auto change = uncounted_.rbegin(); change != uncounted_.rend(); ++change)
    change->first->value_ = std::move(change->second);
}

StatusOr<Tensor*> VariableLock::Writable(VariableResource& variable, Allocator* allocator) const {
  // While somebody else has the value it is copied.
  if (variable.value_.dtype() == DType::kString)
    uncounted_.emplace_back(&variable, variable.value_);
  CARILLON_ASSIGN_OR_RETURN(const Rewrite rewrite, Rewritable(variable, allocator));
  const Tensor& from = rewrite.from;
  Tensor* to = rewrite.to;
  if (from.raw_data() == to->raw_data()) return to;
  if (IsPlainData(from.dtype())) {
    const auto* source = static_cast<const char*>(from.raw_data());
    auto* target = static_cast<char*>(to->mutable_raw_data());
    ParallelFor(static_cast<int64_t>(from.num_bytes()), 1 << 18, [&](int64_t begin, int64_t end) {
      std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
    });
  } else {
    DispatchAnyType(from.dtype(), [&]<typename T>() {
      std::copy_n(from.data<T>(), from.num_elements(), to->mutable_data<T>());
    });
  }
  return to;
}

StatusOr<VariableLock::Rewrite> VariableLock::Rewritable(VariableResource& variable,
                                                         Allocator* allocator) const {
  Tensor& value = variable.value_;
  if (!value.has_value()) return variable.Uninitialized();
  const bool alone = value.IsUnshared();
  Rewrite rewrite{value, &value};
  if (!alone) {
    value = Tensor::TryAllocate(rewrite.from.dtype(), rewrite.from.shape(), allocator);
    if (!value.has_value()) {
      value = rewrite.from;
      return NoMemoryFor(variable, value);
    }
  }
  return rewrite;
}

}  // namespace carillon
