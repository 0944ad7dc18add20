// A MasterClient for a master in this process.
#pragma once

#include <memory>

#include "distributed/cluster/client_session.h"
#include "distributed/cluster/master.h"

namespace carillon {

// `master` outlives the client.
std::unique_ptr<MasterClient> MakeLocalMasterClient(Master* master);

}  // namespace carillon
