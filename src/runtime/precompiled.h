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
#include <thread>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/op_builder.h"
#include "carillon/session.h"
#include "runtime/local_session.h"
#include "runtime/resource_store.h"
