// A GraphDef: imported, and every value of it that is a sink fetched, in little memory and time.
#include <set>

#include "fuzz_target.h"
#include "master_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carillon;
  static FuzzedMaster* const fuzzed = new FuzzedMaster;
  tensorflow::CreateSessionRequest request;
  if (!request.mutable_graph_def()->ParseFromArray(data, static_cast<int>(size))) return 0;
  tensorflow::CreateSessionResponse response;
  if (!fuzzed->master().CreateSession(request, &response).ok()) return 0;
  if (!TouchesFiles(request.graph_def())) {
    std::set<std::string> used;
    for (const auto& node : request.graph_def().node())
      for (const std::string& input : node.input()) used.insert(input.substr(0, input.find(':')));
    constexpr int kMostSteps = 4;
    int steps = 0;
    for (const auto& node : request.graph_def().node()) {
      if (used.contains(node.name()) || ++steps > kMostSteps) continue;
      StepRequest step{.session_handle = response.session_handle()};
      step.fetches.push_back(node.name() + ":0");
      if (!fuzzed->Run(step).ok()) {
        step.targets = {node.name()};
        step.fetches.clear();
        (void)fuzzed->Run(step);
      }
    }
  }
  tensorflow::CloseSessionRequest close;
  close.set_session_handle(response.session_handle());
  Require(fuzzed->master().CloseSession(close).ok(), "a session can be closed");
  tensorflow::ResetRequest reset;
  Require(fuzzed->master().Reset(reset).ok(), "resources can be let go of");
  return 0;
}
