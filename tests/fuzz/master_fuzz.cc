// A request to the master: the first byte says which method, the rest is the message. Requests are
// about a session that is there, since nobody can guess the name of one.
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/text_format.h>

#include "distributed/rpc/feed_placer.h"
#include "fuzz_target.h"
#include "master_fixture.h"

namespace carillon {
namespace {

// A graph with something of each kind: a feed, a variable, a queue that steps wait for, a loop.
constexpr char kGraph[] = R"(
  node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
  node { name: "s" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }
  node { name: "y" op: "Add" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "z" op: "Sum" input: "y" input: "axes" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "axes" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
         attr { key: "value" value { tensor { dtype: DT_INT32 int_val: 0 } } } }
  node { name: "v" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape { } } } }
  node { name: "set" op: "Assign" input: "v" input: "z" attr { key: "T" value { type: DT_FLOAT } } }
  node { name: "q" op: "FIFOQueueV2" attr { key: "component_types" value { list { type: DT_FLOAT } } } }
  node { name: "take" op: "QueueDequeueV2" input: "q"
         attr { key: "component_types" value { list { type: DT_FLOAT } } } }
)";

struct Known {
  FuzzedMaster fuzzed;
  std::string session;
  int64_t callable = 0;  // one that takes x and gives y

  // A session that an input closed is made again.
  void Renew() {
    tensorflow::CreateSessionRequest request;
    Require(google::protobuf::TextFormat::ParseFromString(kGraph, request.mutable_graph_def()),
            "the graph is well-formed");
    tensorflow::CreateSessionResponse response;
    Require(fuzzed.master().CreateSession(request, &response).ok(), "a session can be made");
    session = response.session_handle();
    tensorflow::MakeCallableRequest make;
    make.set_session_handle(session);
    make.mutable_options()->add_feed("x:0");
    make.mutable_options()->add_fetch("y:0");
    tensorflow::MakeCallableResponse made;
    Require(fuzzed.master().MakeCallable(make, &made).ok(), "a callable can be made");
    callable = made.handle();
  }
};

template <typename Request>
bool Parse(std::string_view bytes, Request* request) {
  return request->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// The request comes in two parts, the first of them so long that a large feed gets its place.
template <typename Request, typename Read>
bool ReadWith(Read read, FeedPlacer::Kind kind, Master& master, std::string_view bytes,
              Request* request) {
  const auto allocator_of = [&](const std::string& handle) { return master.AllocatorOf(handle); };
  ReceivedMessage message(std::make_shared<MessageMemory>(0), bytes.size(),
                          ReceivedMessage::Packing::kNone);
  message.Take(bytes.substr(0, bytes.size() / 2));
  FeedPlacer(kind, 16).Place(&message, allocator_of);
  message.Take(bytes.substr(bytes.size() / 2));
  Require(message.is_whole() && message.ToString() == bytes, "places change no byte");
  ReceivedMessage::Stream stream(message);
  google::protobuf::io::CodedInputStream in(&stream);
  in.PushLimit(static_cast<int>(bytes.size()));
  return read(&in, message.contents(), allocator_of, request).ok();
}

void Play(Known& known, int method, std::string_view bytes) {
  Master& master = known.fuzzed.master();
  switch (method) {
    case 0: {
      tensorflow::CreateSessionRequest request;
      tensorflow::CreateSessionResponse response;
      if (!Parse(bytes, &request) || !master.CreateSession(request, &response).ok()) return;
      tensorflow::CloseSessionRequest close;
      close.set_session_handle(response.session_handle());
      Require(master.CloseSession(close).ok(), "a session can be closed");
      return;
    }
    case 1: {
      tensorflow::ExtendSessionRequest request;
      tensorflow::ExtendSessionResponse response;
      if (!Parse(bytes, &request)) return;
      request.set_session_handle(known.session);
      request.set_current_graph_version(1);
      (void)master.ExtendSession(request, &response);
      return;
    }
    case 2: {
      StepRequest request;
      if (!ReadWith(ReadStepRequest, FeedPlacer::Kind::kStep, master, bytes, &request)) return;
      request.session_handle = known.session;
      (void)known.fuzzed.Run(std::move(request));
      return;
    }
    case 3: {
      tensorflow::PartialRunSetupRequest request;
      tensorflow::PartialRunSetupResponse response;
      if (!Parse(bytes, &request)) return;
      request.set_session_handle(known.session);
      if (!master.PartialRunSetup(request, &response).ok()) return;
      StepRequest step{.session_handle = known.session};
      step.partial_run_handle = response.partial_run_handle();
      for (const std::string& feed : request.feed())
        step.feeds.emplace_back(feed, Tensor::Scalar(1.0f));
      step.fetches.assign(request.fetch().begin(), request.fetch().end());
      (void)known.fuzzed.Run(std::move(step));
      return;
    }
    case 4: {
      tensorflow::MakeCallableRequest request;
      tensorflow::MakeCallableResponse response;
      if (!Parse(bytes, &request)) return;
      request.set_session_handle(known.session);
      if (!master.MakeCallable(request, &response).ok()) return;
      CallableRequest call{.session_handle = known.session, .handle = response.handle()};
      call.feeds.assign(static_cast<size_t>(request.options().feed_size()), Tensor::Scalar(1.0f));
      (void)known.fuzzed.Run(std::move(call));
      tensorflow::ReleaseCallableRequest release;
      release.set_session_handle(known.session);
      release.set_handle(response.handle());
      Require(master.ReleaseCallable(release).ok(), "a callable can be released");
      return;
    }
    case 5: {
      CallableRequest request;
      if (!ReadWith(ReadCallableRequest, FeedPlacer::Kind::kCallable, master, bytes, &request))
        return;
      request.session_handle = known.session;
      request.handle = known.callable;
      (void)known.fuzzed.Run(std::move(request));
      return;
    }
    case 6: {
      tensorflow::ListDevicesRequest request;
      tensorflow::ListDevicesResponse response;
      if (Parse(bytes, &request)) (void)master.ListDevices(request, &response);
      return;
    }
    case 7: {
      tensorflow::CloseSessionRequest request;
      if (Parse(bytes, &request)) (void)master.CloseSession(request);
      return;
    }
    case 8: {
      tensorflow::ResetRequest request;
      if (Parse(bytes, &request)) (void)master.Reset(request);
      known.Renew();
      return;
    }
    case 9: {
      tensorflow::ReleaseCallableRequest request;
      if (!Parse(bytes, &request)) return;
      request.set_session_handle(known.session);
      if (request.handle() != known.callable) (void)master.ReleaseCallable(request);
      return;
    }
  }
}

}  // namespace
}  // namespace carillon

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carillon;
  if (size == 0) return 0;
  static Known* const known = new Known;
  static int inputs = 0;
  // Sessions keep what they prepare for each signature: every so often all is made anew.
  if (inputs++ % 200 == 0) {
    Require(known->fuzzed.master().Reset({}).ok(), "sessions can be closed");
    known->Renew();
  }
  constexpr int kMethods = 10;
  Play(*known, data[0] % kMethods, ViewOf(data + 1, size - 1));
  if (data[0] % kMethods == 1) {  // the graph may have grown
    Require(known->fuzzed.master().Reset({}).ok(), "sessions can be closed");
    known->Renew();
  }
  return 0;
}
