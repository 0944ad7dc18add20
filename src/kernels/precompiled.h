// What most sources of this folder include. Sanitized builds compile it once (carillon_precompile).
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/strings.h"
#include "kernels/families.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/work.h"
#include "tensor/dispatch.h"
