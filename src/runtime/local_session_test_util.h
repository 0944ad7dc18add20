// For tests: steps of a LocalSession, without feeds, by the names of the public API.
#pragma once

#include <vector>

#include "carillon/graph.h"
#include "runtime/local_session.h"

namespace carillon {

inline StatusOr<std::vector<Tensor>> RunStep(LocalSession& session,
                                             const std::vector<Output>& fetches,
                                             const std::vector<Operation>& targets = {}) {
  std::vector<Endpoint> ends;
  for (const Output& fetch : fetches) ends.push_back({fetch.node(), fetch.index()});
  std::vector<Node*> nodes;
  for (const Operation& target : targets) nodes.push_back(target.node());
  CARILLON_ASSIGN_OR_RETURN(const auto run, session.Prepare({}, ends, nodes));
  std::vector<Tensor> results;
  CARILLON_RETURN_IF_ERROR(session.Run(*run, {}, {}, &results, nullptr));
  return results;
}

}  // namespace carillon
