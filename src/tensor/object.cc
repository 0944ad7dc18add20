#include "tensor/object.h"

#include <utility>
#include <vector>

namespace carillon {
namespace {

// What is to end after the value that is ending on this thread, in which it was found; null: none
// is ending.
thread_local std::vector<std::shared_ptr<const VariantValue>>* waiting = nullptr;

}  // namespace

void Variant::End(std::shared_ptr<const VariantValue> value) {
  if (waiting != nullptr) return waiting->push_back(std::move(value));
  std::vector<std::shared_ptr<const VariantValue>> inner;
  waiting = &inner;
  value.reset();
  while (!inner.empty()) {
    value = std::move(inner.back());
    inner.pop_back();
    value.reset();
  }
  waiting = nullptr;
}

}  // namespace carillon
