// Which task of its cluster a server is.
#pragma once

#include "carillon/server.h"

namespace carillon {

// In a cluster of one job, or one task, that need not be named. The options with the name.
ServerOptions WithOnlyTask(ServerOptions options);

}  // namespace carillon
