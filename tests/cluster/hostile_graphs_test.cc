// Sessions that are small, but many.
#include <gtest/gtest.h>
#include <string>

#include "base/strings.h"
#include "carillon/server.h"
#include "own_process.h"
#include "raw_client.h"

namespace carillon {
namespace {

TEST(ManySessions, TakeNoMoreThanTheirGraphsMay) {
  const Server server({.memory_limit_bytes = 16 << 20});
  RawClient client(server.port());
  tensorflow::GraphDef graph;
  for (int i = 0; i < 1000; ++i) {
    graph.add_node()->set_name(StrCat("n", i));
    graph.mutable_node(i)->set_op("NoOp");
  }
  std::vector<std::string> sessions;
  StatusOr<std::string> session = client.CreateSession(graph);
  for (; session.ok() && sessions.size() < 1000; session = client.CreateSession(graph))
    sessions.push_back(*session);
  EXPECT_EQ(session.status().code(), absl::StatusCode::kResourceExhausted) << session.status();
  EXPECT_GT(sessions.size(), 5u);
  EXPECT_LT(sessions.size(), 50u);
  // What one gives back another can have.
  ASSERT_TRUE(client.CloseSession(sessions.back()).ok());
  EXPECT_TRUE(client.CreateSession(graph).ok());
  EXPECT_FALSE(client.CreateSession(graph).ok());
}

TEST(ManySessions, CountThoughTheirGraphsAreEmpty) {
  const Server server({.memory_limit_bytes = 16 << 20});
  RawClient client(server.port());
  int sessions = 0;
  Status status = client.CreateSession({}).status();
  for (; status.ok() && sessions < 1000; ++sessions) status = client.CreateSession({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_GT(sessions, 100);
}

TEST(ManyCallables, CountUntilTheyAreReleased) {
  const Server server({.memory_limit_bytes = 1 << 20});
  RawClient client(server.port());
  const StatusOr<std::string> session = client.CreateSession(GraphOf(NodeText("n", "NoOp", {})));
  ASSERT_TRUE(session.ok()) << session.status();
  tensorflow::MakeCallableRequest request;
  request.set_session_handle(*session);
  request.mutable_options()->add_target("n");
  tensorflow::MakeCallableResponse reply;
  const auto make = [&] { return client.Master("MakeCallable", request, &reply); };
  int callables = 0;
  Status status = make();
  for (; status.ok() && callables < 2000; ++callables) status = make();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_GT(callables, 500);
  tensorflow::ReleaseCallableRequest release;
  release.set_session_handle(*session);
  release.set_handle(reply.handle());
  tensorflow::ReleaseCallableResponse released;
  EXPECT_TRUE(client.Master("ReleaseCallable", release, &released).ok());
  EXPECT_TRUE(make().ok());
  EXPECT_FALSE(make().ok());
}

constexpr int kChain = 2000;

// A placeholder "n0" and operations one after the other.
tensorflow::GraphDef Chain() {
  tensorflow::GraphDef graph =
      GraphOf(NodeText("n0", "Placeholder", {}, Attr("dtype", "type: DT_FLOAT")));
  for (int i = 1; i < kChain; ++i) {
    graph.MergeFrom(GraphOf(
        NodeText(StrCat("n", i), "Neg", {StrCat("n", i - 1)}, Attr("T", "type: DT_FLOAT"))));
  }
  return graph;
}

// Each program is nearly as large as the graph. Those of other signatures make room for it.
TEST(ManySignatures, TakeNoMoreThanTheirProgramsMay) {
  const Server server({.memory_limit_bytes = 64 << 20});
  RawClient client(server.port());
  const StatusOr<std::string> session = client.CreateSession(Chain());
  ASSERT_TRUE(session.ok()) << session.status();
  const auto run = [&](int fetch) {
    tensorflow::RunStepRequest request;
    request.set_session_handle(*session);
    request.add_fetch(StrCat("n", fetch, ":0"));
    auto* const feed = request.add_feed();
    feed->set_name("n0:0");
    feed->mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
    feed->mutable_tensor()->add_float_val(1.0f);
    tensorflow::RunStepResponse reply;
    return client.Master("RunStep", request, &reply);
  };
  EXPECT_TRUE(run(kChain - 1).ok());
  const int64_t before = BytesInUse();
  for (int i = 0; i < 150; ++i) {
    const Status status = run(kChain - 1 - i);
    ASSERT_TRUE(status.ok()) << i << ": " << status;
  }
  EXPECT_LT(BytesInUse() - before, 128 << 20);  // all of them would take four times as much
}

// Whoever begins partial runs and never goes on with them is refused, until the session ends.
TEST(ManySignatures, PartialRunsThatAreNeverContinuedCount) {
  const Server server({.memory_limit_bytes = 64 << 20});
  RawClient client(server.port());
  for (int round = 0; round < 2; ++round) {
    const StatusOr<std::string> session = client.CreateSession(Chain());
    ASSERT_TRUE(session.ok()) << session.status();
    tensorflow::PartialRunSetupRequest request;
    request.set_session_handle(*session);
    request.add_feed("n0:0");
    request.add_fetch(StrCat("n", kChain - 1, ":0"));
    tensorflow::PartialRunSetupResponse reply;
    int runs = 0;
    Status status = client.Master("PartialRunSetup", request, &reply);
    for (; status.ok() && runs < 100; ++runs)
      status = client.Master("PartialRunSetup", request, &reply);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_GT(runs, 2);
    EXPECT_LT(runs, 20);
    EXPECT_TRUE(client.CloseSession(*session).ok());
  }
}

// A node with a name of this length, and others that make signatures differ.
constexpr int64_t kLongName = 30'000;
constexpr int kNamed = 40;

tensorflow::GraphDef LongNames() {
  tensorflow::GraphDef graph =
      GraphOf(ConstText(std::string(kLongName, 'a'), {1}, "DT_INT32", true));
  for (int i = 0; i < kNamed; ++i)
    graph.MergeFrom(GraphOf(ConstText(StrCat("n", i), {1}, "DT_INT32", true)));
  return graph;
}

// `names` of some list of a signature: together 3 MB.
template <typename Names>
void AddLongNames(int i, const std::string& suffix, Names* names) {
  for (int j = 0; j < 100; ++j) *names->Add() = std::string(kLongName, 'a') + suffix;
  *names->Add() = StrCat("n", i, suffix);
}

// However many there are, a feed that comes twice is found.
TEST(LongSignatures, FeedEachValueOnce) {
  const Server server;
  RawClient client(server.port());
  const StatusOr<std::string> session = client.CreateSession(LongNames());
  ASSERT_TRUE(session.ok()) << session.status();
  tensorflow::MakeCallableRequest request;
  request.set_session_handle(*session);
  for (int i = 0; i < kNamed; ++i) request.mutable_options()->add_feed(StrCat("n", i, ":0"));
  tensorflow::MakeCallableResponse reply;
  EXPECT_TRUE(client.Master("MakeCallable", request, &reply).ok());
  request.mutable_options()->add_feed("n7:0");
  for (int round = 0; round < 2; ++round) {
    const Status status = client.Master("MakeCallable", request, &reply);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

// Names make way for those of others, whether steps or callables have them.
TEST(LongSignatures, TakeNoMoreThanGraphsMay) {
  const Server server({.memory_limit_bytes = 64 << 20});
  RawClient client(server.port());
  const StatusOr<std::string> session = client.CreateSession(LongNames());
  ASSERT_TRUE(session.ok()) << session.status();
  const int64_t before = BytesInUse();
  for (int i = 0; i < kNamed; ++i) {
    tensorflow::RunStepRequest step;
    step.set_session_handle(*session);
    AddLongNames(i, "", step.mutable_target());
    tensorflow::RunStepResponse stepped;
    Status status = client.Master("RunStep", step, &stepped);
    ASSERT_TRUE(status.ok()) << i << ": " << status;
    tensorflow::MakeCallableRequest callable;
    callable.set_session_handle(*session);
    AddLongNames(i, ":0", callable.mutable_options()->mutable_fetch());
    tensorflow::MakeCallableResponse made;
    status = client.Master("MakeCallable", callable, &made);
    ASSERT_TRUE(status.ok()) << i << ": " << status;
  }
  EXPECT_LT(BytesInUse() - before, 64 << 20);  // all of them would take 240 MB
}

// Those of a partial run are needed until it is over.
TEST(LongSignatures, OfPartialRunsAreRefused) {
  const Server server({.memory_limit_bytes = 64 << 20});
  RawClient client(server.port());
  tensorflow::GraphDef graph;
  for (int i = 0; i < 200; ++i)
    graph.MergeFrom(GraphOf(ConstText(StrCat(std::string(kLongName / 2, 'a'), i), {1})));
  const StatusOr<std::string> session = client.CreateSession(graph);
  ASSERT_TRUE(session.ok()) << session.status();
  tensorflow::PartialRunSetupRequest request;
  request.set_session_handle(*session);
  for (const tensorflow::NodeDef& node : graph.node()) request.add_fetch(node.name() + ":0");
  tensorflow::PartialRunSetupResponse reply;
  const int64_t before = BytesInUse();
  int runs = 0;
  Status status = client.Master("PartialRunSetup", request, &reply);
  for (; status.ok() && runs < kNamed; ++runs)
    status = client.Master("PartialRunSetup", request, &reply);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_LT(runs, 8);  // their programs alone would leave room for many more
  EXPECT_LT(BytesInUse() - before, 64 << 20);
}

// A program has its own copy of the nodes, with their names and attributes.
TEST(LongSignatures, OfProgramsCount) {
  const Server server({.memory_limit_bytes = 64 << 20});
  RawClient client(server.port());
  tensorflow::GraphDef graph;
  const std::string text(100'000, 'a');
  for (int i = 0; i < kNamed; ++i)
    graph.MergeFrom(
        GraphOf(NodeText(StrCat(text, i), "NoOp", {}, Attr("_x", StrCat("s: \"", text, "\"")))));
  const StatusOr<std::string> session = client.CreateSession(graph);
  ASSERT_TRUE(session.ok()) << session.status();
  tensorflow::MakeCallableRequest callable;
  callable.set_session_handle(*session);
  Status status;
  const int64_t before = BytesInUse();
  for (int i = 0; i < kNamed && status.ok(); ++i) {
    callable.mutable_options()->add_target(graph.node(i).name());
    tensorflow::MakeCallableResponse made;
    status = client.Master("MakeCallable", callable, &made);
    if (!status.ok()) break;
    tensorflow::RunCallableRequest run;
    run.set_session_handle(*session);
    run.set_handle(made.handle());
    tensorflow::RunCallableResponse ran;
    status = client.Master("RunCallable", run, &ran);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_LT(BytesInUse() - before, 64 << 20);
}

// A function without arguments but a number: random, and long.
void AddLongFunction(const std::string& name, tensorflow::GraphDef* graph) {
  tensorflow::FunctionDef* const function = graph->mutable_library()->add_function();
  tensorflow::OpDef* const signature = function->mutable_signature();
  signature->set_name(name);
  signature->set_is_stateful(true);
  signature->add_input_arg()->set_name("i");
  signature->mutable_input_arg(0)->set_type(tensorflow::DT_INT64);
  signature->add_output_arg()->set_name("o");
  signature->mutable_output_arg(0)->set_type(tensorflow::DT_FLOAT);
  tensorflow::GraphDef body =
      GraphOf(ConstText("shape", {1}, "DT_INT32") +
              NodeText("random", "RandomUniform", {"shape:output:0"},
                       Attr("T", "type: DT_INT32") + Attr("dtype", "type: DT_FLOAT")) +
              NodeText("n0", "Sin", {"random:output:0"}, Attr("T", "type: DT_FLOAT")));
  for (int i = 1; i < kChain; ++i) {
    body.MergeFrom(GraphOf(NodeText(StrCat("n", i), i % 2 == 0 ? "Sin" : "Cos",
                                    {StrCat("n", i - 1, ":y:0")}, Attr("T", "type: DT_FLOAT"))));
  }
  *function->mutable_node_def() = body.node();
  (*function->mutable_ret())["o"] = StrCat("n", kChain - 1, ":y:0");
}

// An iterator has programs of its own of the functions that have state.
TEST(DataSets, CountTheProgramsOfTheirFunctions) {
  constexpr int kIterators = 40;
  const Server server({.memory_limit_bytes = 64 << 20});
  RawClient client(server.port());
  const std::string numbers =
      Attr("output_types", "list { type: DT_INT64 }") + Attr("output_shapes", "list { shape { } }");
  const std::string values = Attr("output_types", "list { type: DT_FLOAT }") +
                             Attr("output_shapes", "list { shape { unknown_rank: true } }");
  tensorflow::GraphDef graph = GraphOf(
      ConstText("from", {0}, "DT_INT64", true) + ConstText("to", {1000}, "DT_INT64", true) +
      ConstText("step", {1}, "DT_INT64", true) +
      NodeText("range", "RangeDataset", {"from", "to", "step"}, numbers) +
      NodeText("map", "MapDataset", {"range"},
               values + Attr("f", "func { name: \"long\" }") + Attr("Targuments", "list { }")));
  AddLongFunction("long", &graph);
  for (int i = 0; i < kIterators; ++i) {
    graph.MergeFrom(
        GraphOf(NodeText(StrCat("iterator", i), "IteratorV2", {},
                         values + Attr("shared_name", StrCat("s: \"", i, "\"")) +
                             Attr("container", "s: \"\"")) +
                NodeText(StrCat("start", i), "MakeIterator", {"map", StrCat("iterator", i)}) +
                NodeText(StrCat("next", i), "IteratorGetNext",
                         {StrCat("iterator", i), StrCat("^start", i)}, values)));
  }
  const StatusOr<std::string> session = client.CreateSession(graph);
  ASSERT_TRUE(session.ok()) << session.status();
  const int64_t before = BytesInUse();
  Status status;
  int iterators = 0;
  for (; status.ok() && iterators < kIterators; ++iterators) {
    tensorflow::RunStepRequest request;
    request.set_session_handle(*session);
    request.add_fetch(StrCat("next", iterators, ":0"));
    tensorflow::RunStepResponse reply;
    status = client.Master("RunStep", request, &reply);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_GT(iterators, 3);
  EXPECT_LT(BytesInUse() - before, 96 << 20);
}

// Walking one is a call inside of a call for each that it is made of.
TEST(DataSets, AreNotMadeOfOthersWithoutEnd) {
  const Server server;
  RawClient client(server.port());
  const std::string types =
      Attr("output_types", "list { type: DT_INT64 }") + Attr("output_shapes", "list { shape { } }");
  const std::string range = ConstText("zero", {0}, "DT_INT64", true) +
                            ConstText("one", {1}, "DT_INT64", true) +
                            NodeText("d0", "RangeDataset", {"zero", "one", "one"}, types);
  const auto run = [&](int num, bool twice) {
    std::string text = range;
    for (int i = 1; i <= num; ++i) {
      const std::string name = StrCat("d", i), input = StrCat("d", i - 1);
      text += twice ? NodeText(name, "ConcatenateDataset", {input, input}, types)
                    : NodeText(name, "TakeDataset", {input, "one"}, types);
    }
    text += NodeText("size", "DatasetCardinality", {StrCat("d", num)});
    return client.RunOnce(GraphOf(text), "size:0").code();
  };
  EXPECT_EQ(run(1000, false), absl::StatusCode::kOk);
  EXPECT_EQ(run(5000, false), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run(10, true), absl::StatusCode::kOk);
  EXPECT_EQ(run(50, true), absl::StatusCode::kInvalidArgument);
}

TEST(Patterns, AreNoLongerThanPaths) {
  const Server server;
  RawClient client(server.port());
  std::string pattern;
  for (int i = 0; i < 100'000; ++i) pattern += "./";
  const std::string text =
      NodeText("pattern", "Const", {},
               Attr("dtype", "type: DT_STRING") +
                   Attr("value", StrCat("tensor { dtype: DT_STRING tensor_shape { } string_val: '",
                                        pattern, "' }"))) +
      NodeText("files", "MatchingFiles", {"pattern"});
  EXPECT_EQ(client.RunOnce(GraphOf(text), "files:0").code(), absl::StatusCode::kInvalidArgument);
}

// A few letters may become a large program, which is kept with that of the step.
TEST(Patterns, CountWhenTheyAreCompiled) {
  const Server server({.memory_limit_bytes = 64 << 20});
  RawClient client(server.port());
  std::string nodes = NodeText("x", "Placeholder", {}, Attr("dtype", "type: DT_STRING"));
  for (int i = 0; i < 20; ++i) {
    nodes += NodeText(StrCat("large", i), "StaticRegexFullMatch", {"x"},
                      Attr("pattern", StrCat("s: \"\\\\pL{300}", i, "\""))) +
             NodeText(StrCat("small", i), "StaticRegexFullMatch", {"x"},
                      Attr("pattern", StrCat("s: \"[a-z]+", i, "\"")));
  }
  const StatusOr<std::string> session = client.CreateSession(GraphOf(nodes));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto run = [&](const std::string& name, int count) {
    tensorflow::RunStepRequest request;
    request.set_session_handle(*session);
    for (int i = 0; i < count; ++i) request.add_target(StrCat(name, i));
    auto* const feed = request.add_feed();
    feed->set_name("x:0");
    feed->mutable_tensor()->set_dtype(tensorflow::DT_STRING);
    feed->mutable_tensor()->add_string_val("abc");
    tensorflow::RunStepResponse reply;
    return client.Master("RunStep", request, &reply);
  };
  EXPECT_EQ(run("small", 20), absl::OkStatus());
  EXPECT_EQ(run("large", 1), absl::OkStatus());
  const Status status = run("large", 20);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
}

// What its constants take has a limit of its own.
TEST(ManySessions, AGraphMayHaveLargeConstants) {
  const Server server({.memory_limit_bytes = 16 << 20});
  RawClient client(server.port());
  tensorflow::GraphDef graph = GraphOf(NodeText("c", "Const", {}, Attr("dtype", "type: DT_UINT8")));
  tensorflow::TensorProto* const value =
      (*graph.mutable_node(0)->mutable_attr())["value"].mutable_tensor();
  value->set_dtype(tensorflow::DT_UINT8);
  value->mutable_tensor_shape()->add_dim()->set_size(10 << 20);
  value->set_tensor_content(std::string(10 << 20, 'x'));
  const StatusOr<std::string> session = client.CreateSession(graph);
  EXPECT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(client.CreateSession(graph).status().code(), absl::StatusCode::kResourceExhausted);
}

// Not fetched, so that they have their place in the plan of the step.
TEST(ValuesOfAStep, MayBeLargerThanAnyMemory) {
  const Server server;
  RawClient client(server.port());
  const std::string float_t = Attr("T", "type: DT_FLOAT");
  const std::string to_int64 = Attr("index_type", "type: DT_INT64");
  const auto fill = [&](const std::string& name, int64_t size) {
    return ConstText(name + "_size", {size}, "DT_INT64") +
           NodeText(name, "Fill", {name + "_size", "one"}, float_t + to_int64);
  };
  const std::string one = NodeText("one", "RandomUniform", {"none"},
                                   Attr("dtype", "type: DT_FLOAT") + Attr("T", "type: DT_INT32"));
  const std::string ends =
      ConstText("zero", {0}, "DT_INT32") +
      NodeText("out", "Sum", {"value", "zero"}, float_t + Attr("Tidx", "type: DT_INT32"));
  const std::string none = ConstText("none", {}, "DT_INT32");
  const std::string wraps = none + one + fill("filled", int64_t{1} << 62) +
                            NodeText("value", "Neg", {"filled"}, float_t) + ends;
  std::string together = none + one;
  std::vector<std::string> parts;
  for (int i = 0; i < 4; ++i) {
    parts.push_back(StrCat("part", i));
    together += fill(parts.back(), (int64_t{1} << 60) + 1024);
  }
  together += NodeText("value", "AddN", parts, float_t + Attr("N", "i: 4")) + ends;
  for (const std::string& graph : {wraps, together}) {
    const Status status = client.RunOnce(GraphOf(graph), "out:0");
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  }
}

// A node says how many outputs it has with a number.
TEST(ManyOutputs, CountThoughTheirNodesAreFew) {
  constexpr int64_t kLimit = 256 << 20;
  const Server server({.memory_limit_bytes = kLimit});
  RawClient client(server.port());
  const auto unpack = [](int count, int64_t outputs) {
    std::string graph = ConstText("in", {1, 2, 3}, "DT_INT32");
    for (int i = 0; i < count; ++i)
      graph += NodeText(StrCat("n", i), "Unpack", {"in"},
                        Attr("T", "type: DT_INT32") + Attr("num", StrCat("i: ", outputs)));
    return GraphOf(graph);
  };
  const int64_t before = ResidentBytes();
  ResetPeakResidentBytes();
  EXPECT_TRUE(client.RunOnce(unpack(1, 3), "n0:2").ok());
  for (const int count : {2, 30, 1000})
    EXPECT_EQ(client.RunOnce(unpack(count, 1'000'000), "n0:0").code(),
              absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(client.RunOnce(unpack(1, int64_t{1} << 40), "n0:0").code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_LT(PeakResidentBytes() - before, 2 * kLimit);
}

// In a function it may be the call that says the number, for all nodes of the body.
TEST(ManyOutputs, CountInTheBodiesOfFunctions) {
  constexpr int64_t kLimit = 256 << 20;
  constexpr int kNodes = 16;
  const Server server({.memory_limit_bytes = kLimit});
  RawClient client(server.port());
  const auto graph = [](int64_t outputs) {
    tensorflow::GraphDef graph =
        GraphOf(ConstText("in", {1, 2, 3}, "DT_INT32") +
                NodeText("call", "wide", {"in"}, Attr("N", StrCat("i: ", outputs))));
    tensorflow::FunctionDef* const function = graph.mutable_library()->add_function();
    tensorflow::OpDef* const signature = function->mutable_signature();
    signature->set_name("wide");
    signature->add_input_arg()->set_name("x");
    signature->mutable_input_arg(0)->set_type(tensorflow::DT_INT32);
    signature->add_output_arg()->set_name("y");
    signature->mutable_output_arg(0)->set_type(tensorflow::DT_INT32);
    signature->add_attr()->set_name("N");
    signature->mutable_attr(0)->set_type("int");
    for (int i = 0; i < kNodes; ++i) {
      tensorflow::GraphDef node =
          GraphOf(NodeText(StrCat("n", i), "Unpack", {"x"},
                           Attr("T", "type: DT_INT32") + Attr("num", "placeholder: 'N'")));
      *function->add_node_def() = node.node(0);
    }
    (*function->mutable_ret())["y"] = "n0:output:1";
    return graph;
  };
  const int64_t before = ResidentBytes();
  ResetPeakResidentBytes();
  EXPECT_EQ(client.RunOnce(graph(3), "call:0"), absl::OkStatus());
  const Status status = client.RunOnce(graph(1 << 20), "call:0");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_LT(PeakResidentBytes() - before, 2 * kLimit);
}

}  // namespace
}  // namespace carillon
