// What most sources of this folder include. Sanitized builds compile it once (carillon_precompile).
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/op_builder.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "graph/node_graph.h"
#include "graph/shape_context.h"
