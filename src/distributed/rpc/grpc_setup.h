// What gRPC is told once, before it is used.
#pragma once

#include <string>

namespace carillon {

// Its messages go to our log, as debug lines: what matters comes back as a Status; except that
// nobody else tells a server of certificates it has refused. The first call warns of a proxy that
// is set, and initialises gRPC for good. May be called again.
void SetUpGrpc();

// The variable of the environment that names a proxy, which gRPC is told not to use; empty: none
// does.
std::string ProxyVariable();

}  // namespace carillon
