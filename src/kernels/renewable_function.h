// RenewableFunction: a function that can be had anew, as if it had never been called.
#pragma once

#include <memory>

#include "kernels/services.h"

namespace carillon {

class RenewableFunction : public CallableFunction {
 public:
  // The same function; what it keeps between calls (the state of random ops) is its own.
  virtual std::shared_ptr<CallableFunction> WithFreshState() = 0;
};

}  // namespace carillon
