#pragma once

#include <cstdint>

namespace carillon {

// A number that nobody can guess, never 0: incarnations, handles of sessions.
uint64_t RandomId();

}  // namespace carillon
