// gRPC's own log, which would otherwise go to standard error in its own form.
#pragma once

namespace carillon {

// From now on gRPC's lines are debug lines of ours: what concerns users reaches them as errors.
void RouteGrpcLog();

}  // namespace carillon
