#include "base/random_id.h"

#include <random>

namespace carillon {

uint64_t RandomId() {
  std::random_device random;
  const uint64_t id = (uint64_t{random()} << 32) | random();
  return id == 0 ? 1 : id;
}

}  // namespace carillon
