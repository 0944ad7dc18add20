// What gRPC is told once, before it is used.
#pragma once

namespace carillon {

// Its messages go to our log, as debug lines: what matters comes back as a Status. May be called
// again.
void SetUpGrpc();

}  // namespace carillon
