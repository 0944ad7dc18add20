// The resource store of a server or a session.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "kernels/services.h"

namespace carillon {

// Invariants: resources_ is only touched under mutex_; making_ serialises FindOrMake's slow path,
// so that a resource is made once, while lookups of other names go on.
class MapResourceStore final : public ResourceStore {
 public:
  // Resources that work in the background may look for others until they are gone.
  ~MapResourceStore() override { ClearAll(); }
  std::shared_ptr<Resource> Find(const std::string& container, const std::string& name) override;
  StatusOr<std::shared_ptr<Resource>> FindOrMake(
      const std::string& container, const std::string& name,
      absl::FunctionRef<StatusOr<std::shared_ptr<Resource>>()> make) override;
  Status Remove(const std::string& container, const std::string& name) override;
  void Clear(const std::string& container) override;
  uint64_t generation() const override { return generation_.load(std::memory_order_acquire); }

  bool empty() const;
  void ClearAll();

 private:
  mutable std::mutex mutex_;
  std::mutex making_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Resource>> resources_;
  std::atomic<uint64_t> generation_{1};
};

}  // namespace carillon
