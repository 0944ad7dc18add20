#include "carillon/session.h"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <limits>
#include <thread>

#include "carillon/error.h"
#include "carillon/op_builder.h"
#include "proto/step_stats.pb.h"
#include "runtime/local_session.h"
#include "runtime/resource_store.h"

namespace carillon {
namespace {

Output Constant(Graph& g, const Tensor& value) {
  return OpBuilder(g, "Const").Attr("value", value).Attr("dtype", value.dtype());
}

Output Placeholder(Graph& g, DType dtype, const PartialShape& shape,
                   const char* name = "Placeholder") {
  return OpBuilder(g, "Placeholder").Name(name).Attr("dtype", dtype).Attr("shape", shape);
}

Output Add(const Input& a, const Input& b) { return OpBuilder("AddV2").Arg(a).Arg(b); }

// The error that `body` throws; Code::kOk when it throws none.
template <typename Body>
std::pair<Code, std::string> ErrorOf(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {Code::kOk, ""};
}

TEST(Session, AddsWhatIsFed) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1});
  const Output y = Add(x, 1.0f);
  Session session(g);
  const Tensor result = session.Run(y, {{x, Tensor::FromVector<float>({1, 2, 3})}});
  EXPECT_EQ(std::vector<float>(result.data<float>(), result.data<float>() + 3),
            (std::vector<float>{2, 3, 4}));
  EXPECT_EQ(session.Run(y, {{x, Tensor::FromVector<float>({5})}}).scalar<float>(), 6);
}

TEST(Session, FetchesAFeedAndTheSameThingTwice) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {});
  const Output y = Add(x, x);
  Session session(g);
  const auto results = session.Run({x, y, y, x}, {{x, Tensor::Scalar(3.0f)}});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0].scalar<float>(), 3);
  EXPECT_EQ(results[1].scalar<float>(), 6);
  EXPECT_EQ(results[2].scalar<float>(), 6);
  EXPECT_EQ(results[3].scalar<float>(), 3);
}

TEST(Session, FeedsAnIntermediateTensor) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {}, "x");
  const Output y = Add(x, 1.0f);
  const Output z = Add(y, 10.0f);
  Session session(g);
  EXPECT_EQ(session.Run(z, {{y, Tensor::Scalar(5.0f)}}).scalar<float>(), 15);
  EXPECT_EQ(session.Run(z, {{x, Tensor::Scalar(5.0f)}}).scalar<float>(), 16);
}

TEST(Session, WhatWaitsForAFedPlaceholderWaitsForTheFeed) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {});
  const Output y = OpBuilder("Identity").Arg(Constant(g, Tensor::Scalar(2.0f))).After(x.op());
  Session session(g);
  EXPECT_EQ(session.Run(y, {{x, Tensor::Scalar(1.0f)}}).scalar<float>(), 2);
}

TEST(Session, FetchesAConstantAgainAndAgain) {
  Graph g;
  const Output c = Constant(g, Tensor::Scalar(4));
  Session session(g);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(session.Run(c).scalar<int32_t>(), 4);
}

TEST(Session, SeesOpsThatWereAddedAfterARun) {
  Graph g;
  const Output a = Constant(g, Tensor::Scalar(1.0f));
  Session session(g);
  EXPECT_EQ(session.Run(a).scalar<float>(), 1);
  const Output b = Add(a, 1.0f);
  EXPECT_EQ(session.Run(b).scalar<float>(), 2);
}

TEST(Session, NamesThePlaceholderThatWasNotFedAndWhoNeedsIt) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1, 784}, "images");
  const Output y = OpBuilder("Identity").Name("logits").Arg(x);
  Session session(g);
  const auto [code, message] = ErrorOf([&] { session.Run(y); });
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_NE(message.find("'images'"), std::string::npos) << message;
  EXPECT_NE(message.find("'logits:0'"), std::string::npos) << message;
  EXPECT_NE(message.find("[[{{node images}}]]"), std::string::npos) << message;
}

// What an op was given may be long; which one it was is to be seen all the same.
TEST(Session, ShortensWhatErrorsQuote) {
  Graph g;
  const Output text = Placeholder(g, kString, {});
  const Output number = OpBuilder("StringToNumber").Name("number").Arg(text);
  Session session(g);
  const auto [code, message] = ErrorOf([&] {
    session.Run(number, {{text, Tensor::Scalar(std::string(1'000'000, 'x'))}});
  });
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_LT(message.size(), 3000);
  EXPECT_NE(message.find(std::string(1000, 'x')), std::string::npos);
  EXPECT_NE(message.find("[[{{node number}}]]"), std::string::npos) << message;
}

TEST(Session, RefusesFeedsThatDoNotFit) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1, 2}, "x");
  const Output y = Add(x, 1.0f);
  Session session(g);
  EXPECT_EQ(ErrorOf([&] {
              session.Run(y, {{x, Tensor::FromVector<float>({1, 2, 3})}});
            }).first,
            Code::kInvalidArgument);
  EXPECT_EQ(ErrorOf([&] {
              session.Run(y, {{x, Tensor(kInt32, {1, 2})}});
            }).first,
            Code::kInvalidArgument);
  EXPECT_EQ(ErrorOf([&] {
              session.Run(y, {{x, Tensor(kFloat, {1, 2})}, {x, Tensor(kFloat, {1, 2})}});
            }).first,
            Code::kInvalidArgument);
  EXPECT_EQ(session.Run(y, {{x, Tensor::Full<float>({1, 2}, 1)}}).values<float>()[1], 2);
}

TEST(Session, RefusesTensorsOfAnotherGraphAndNamesBoth) {
  Graph g, other;
  OpBuilder(g, "Const").Name("mine").Attr("value", Tensor::Scalar(1)).Attr("dtype", kInt32).Build();
  const Output theirs = OpBuilder(other, "Const")
                            .Name("theirs")
                            .Attr("value", Tensor::Scalar(1))
                            .Attr("dtype", kInt32);
  Session session(g);
  const auto [code, message] = ErrorOf([&] { session.Run(theirs); });
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_NE(message.find("theirs"), std::string::npos) << message;
  EXPECT_NE(message.find("mine"), std::string::npos) << message;
}

TEST(Session, ManyFeedShapesShareOneExecutable) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1});
  const Output y = Add(Add(x, 1.0f), 1.0f);
  Session session(g);
  for (int64_t n = 0; n < 30; ++n) {
    const Tensor result = session.Run(y, {{x, Tensor::Full<float>({n}, 1)}});
    ASSERT_EQ(result.shape(), (Shape{n}));
    for (const float value : result.values<float>()) EXPECT_EQ(value, 3);
  }
}

TEST(Session, SeveralStepsRunAtOnce) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {});
  Output y = x;
  for (int i = 0; i < 50; ++i) y = Add(y, x);
  Session session(g, {.threads = 1});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        if (session.Run(y, {{x, Tensor::Scalar(static_cast<float>(t))}}).scalar<float>() !=
            51.0f * static_cast<float>(t))
          ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Session, ACallableTakesFeedsByPosition) {
  Graph g;
  const Output a = Placeholder(g, kFloat, {}), b = Placeholder(g, kFloat, {});
  const Output difference = OpBuilder("Sub").Arg(a).Arg(b);
  Session session(g);
  const Callable subtract = session.MakeCallable({a, b}, {difference});
  EXPECT_EQ(subtract({Tensor::Scalar(5.0f), Tensor::Scalar(3.0f)})[0].scalar<float>(), 2);
  EXPECT_EQ(ErrorOf([&] { subtract({Tensor::Scalar(5.0f)}); }).first, Code::kInvalidArgument);
}

// A server runs quick steps on the thread that serves all its clients.
TEST(Session, AStepIsQuickOnlyWhenNothingCanMakeItLong) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {}), one = Constant(g, Tensor::Scalar(1.0f));
  const Output v = OpBuilder(g, "VarHandleOp").Attr("dtype", kFloat).Attr("shape", Shape{2, 1});
  const Output rows = Constant(g, Tensor::FromVector<int32_t>({0, 1}));
  const Output few = Constant(g, Tensor::Full(Shape{1 << 10}, 0.0f)),
               many = Constant(g, Tensor::Full(Shape{1 << 20}, 0.0f));
  struct Case {
    const char* what;
    std::vector<Output> fetches;
    std::vector<Operation> targets;
    bool is_quick;
  };
  const std::vector<Case> cases{
      {"arithmetic", {Add(x, one)}, {}, true},
      {"arithmetic on a small vector", {Add(x, few)}, {}, true},
      {"a value so large that it may take long", {Add(x, many)}, {}, false},
      {"a variable may become large",
       {x},
       {OpBuilder("ResourceScatterAdd").Arg(v).Arg(rows).Arg(one).Build()},
       false},
      {"a variable may be locked", {x, Output(OpBuilder("VarIsInitializedOp").Arg(v))}, {}, false},
      {"a generator may be locked",
       {x, Output(OpBuilder("RandomUniform").Arg(rows).Attr("dtype", kFloat))},
       {},
       false},
      {"a message may be long",
       {x},
       {OpBuilder("Assert")
            .Arg(Output(OpBuilder("Equal").Arg(x).Arg(x)))
            .Args(std::vector<Output>{few})
            .Build()},
       false},
  };
  MapResourceStore resources;
  LocalSession session(g.nodes(), MakeCpuDevice("/job:test/replica:0/task:0"), &resources, {});
  const Output zeros = Constant(g, Tensor::Full(Shape{2, 1}, 0.0f));
  const Operation assign = OpBuilder("AssignVariableOp").Arg(v).Arg(zeros).Build();
  const auto initialise = session.Prepare({}, {}, {assign.node()});
  ASSERT_TRUE(initialise.ok()) << initialise.status();
  std::vector<Tensor> nothing;
  ASSERT_TRUE(session.Run(**initialise, {}, {}, &nothing, nullptr).ok());
  constexpr auto kAnyTime = std::chrono::nanoseconds::max();
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    std::vector<Endpoint> fetches;
    for (const Output& fetch : c.fetches) fetches.push_back({fetch.node(), fetch.index()});
    std::vector<Node*> targets;
    for (const Operation& target : c.targets) targets.push_back(target.node());
    const auto run = session.Prepare({{x.node(), x.index()}}, fetches, targets);
    ASSERT_TRUE(run.ok()) << run.status();
    AsyncStep first, second, of_another_type;
    first.feeds = second.feeds = {Tensor::Scalar(1.0f)};
    of_another_type.feeds = {Tensor::Scalar(1)};
    EXPECT_FALSE(LocalSession::IsQuick(**run, kAnyTime, &first)) << "it is not known yet";
    Status status = absl::UnknownError("it has not ended");
    first.done = [&](Status result) { status = std::move(result); };
    session.RunAsync(**run, &first);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(LocalSession::IsQuick(**run, kAnyTime, &second), c.is_quick);
    EXPECT_FALSE(LocalSession::IsQuick(**run, kAnyTime, &of_another_type));
  }
}

TEST(Session, APartialRunTakesAndGivesPieceByPiece) {
  Graph g;
  const Output a = Placeholder(g, kFloat, {}, "a"), b = Placeholder(g, kFloat, {}, "b");
  const Output twice = Add(a, a), sum = Add(twice, b);
  Session session(g);
  PartialRun run = session.MakePartialRun({a, b}, {twice, sum});
  EXPECT_EQ(run.Run({twice}, {{a, Tensor::Scalar(2.0f)}})[0].scalar<float>(), 4);
  EXPECT_EQ(ErrorOf([&] { run.Run({twice}, {}); }).first, Code::kInvalidArgument);
  EXPECT_EQ(ErrorOf([&] {
              run.Run({}, {{a, Tensor::Scalar(2.0f)}});
            }).first,
            Code::kInvalidArgument);
  EXPECT_EQ(run.Run({sum}, {{b, Tensor::Scalar(3.0f)}})[0].scalar<float>(), 7);
  // One that is given up half-way ends cleanly, and so does one whose session closes.
  PartialRun given_up = session.MakePartialRun({a, b}, {twice, sum});
  given_up.Run({twice}, {{a, Tensor::Scalar(2.0f)}});
  PartialRun cut_off = session.MakePartialRun({a, b}, {twice, sum});
  session.Close();
  EXPECT_EQ(ErrorOf([&] {
              cut_off.Run({twice}, {{a, Tensor::Scalar(2.0f)}});
            }).first,
            Code::kCancelled);
}

TEST(Session, APartialRunRefusesWhatWouldNeverCome) {
  Graph g;
  const Output a = Placeholder(g, kFloat, {}, "a"), b = Placeholder(g, kFloat, {}, "b");
  const Output p = Placeholder(g, kBool, {}, "p");
  const Output sum = Add(a, b);
  const Output untaken = OpBuilder("Switch").Arg(a).Arg(p).Build().output(1);
  const Output one_way = Add(untaken, 1.0f);
  Session session(g);
  EXPECT_EQ(ErrorOf([&] { session.MakePartialRun({a, a}, {sum}); }).first, Code::kInvalidArgument);
  PartialRun run = session.MakePartialRun({a, b, p}, {sum, one_way});
  EXPECT_EQ(ErrorOf([&] {
              run.Run({sum}, {{a, Tensor::Scalar(1.0f)}});
            }).first,
            Code::kInvalidArgument);
  // The feed was not taken either.
  EXPECT_EQ(
      run.Run({sum}, {{a, Tensor::Scalar(1.0f)}, {b, Tensor::Scalar(2.0f)}})[0].scalar<float>(), 3);
  EXPECT_EQ(ErrorOf([&] {
              run.Run({one_way}, {{p, Tensor::Scalar(false)}});
            }).first,
            Code::kInvalidArgument);
}

TEST(Session, APartialRunEndsWithItsTargets) {
  Graph g;
  const Output a = Placeholder(g, kFloat, {}, "a"), b = Placeholder(g, kFloat, {}, "b");
  const Output twice = Add(a, a);
  const Output wrong = OpBuilder("CheckNumerics").Arg(b).Attr("message", "the target ran");
  Session session(g);
  PartialRun run = session.MakePartialRun({a, b}, {twice}, {wrong.op()});
  EXPECT_EQ(run.Run({twice}, {{a, Tensor::Scalar(2.0f)}})[0].scalar<float>(), 4);
  const auto [code, message] = ErrorOf([&] {
    run.Run({}, {{b, Tensor::Scalar(std::numeric_limits<float>::infinity())}});
  });
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_NE(message.find("the target ran"), std::string::npos) << message;
}

TEST(Session, IsOverWhenClosed) {
  Graph g;
  const Output c = Constant(g, Tensor::Scalar(4));
  Session session(g);
  session.Close();
  EXPECT_EQ(ErrorOf([&] { session.Run(c); }).first, Code::kFailedPrecondition);
}

TEST(Session, TracesEveryKernel) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1});
  const Output y = OpBuilder("AddV2").Name("sum").Arg(x).Arg(x);
  Session session(g);
  RunMetadata metadata;
  session.Run({y}, {{x, Tensor::Full<float>({3}, 1)}}, {}, {.trace = true}, &metadata);
  ASSERT_EQ(metadata.nodes.size(), 1u);
  EXPECT_EQ(metadata.nodes[0].node, "sum");
  EXPECT_EQ(metadata.nodes[0].op, "AddV2");
  EXPECT_LE(metadata.nodes[0].start_ns, metadata.nodes[0].end_ns);
  EXPECT_EQ(metadata.nodes[0].output_bytes, 12);
  EXPECT_EQ(metadata.nodes[0].device, metadata.device);
  ASSERT_EQ(metadata.nodes[0].input_shapes.size(), 2u);
  EXPECT_EQ(metadata.nodes[0].input_shapes[0], PartialShape({3}));  // the feed's
  ASSERT_EQ(metadata.nodes[0].output_shapes.size(), 1u);
  EXPECT_EQ(metadata.nodes[0].output_shapes[0], PartialShape({3}));
  EXPECT_EQ(metadata.nodes[0].inputs, std::vector<std::string>(2, "_arg_Placeholder_0"));
  EXPECT_EQ(metadata.nodes[0].output_dtypes, std::vector{kFloat});
}

TEST(Session, StepStatisticsShareTheBytesAmongTheOutputs) {
  const auto outputs = [](int64_t bytes, std::vector<PartialShape> shapes,
                          std::vector<DType> dtypes) {
    RunMetadata metadata{.device = "cpu"};
    metadata.nodes.push_back({.node = "a",
                              .op = "Op",
                              .kernel = "ref",
                              .output_bytes = bytes,
                              .output_shapes = std::move(shapes),
                              .inputs = {"x", "y:1"},
                              .output_dtypes = std::move(dtypes)});
    tensorflow::StepStats stats;
    EXPECT_TRUE(stats.ParseFromString(metadata.SerializeStepStats()));
    const tensorflow::NodeExecStats& node = stats.dev_stats(0).node_stats(0);
    EXPECT_EQ(node.timeline_label(), "a = Op(x, y:1) ref");
    EXPECT_EQ(node.memory(0).total_bytes(), bytes);
    std::vector<int64_t> all;
    for (const auto& output : node.output())
      all.push_back(output.tensor_description().allocation_description().requested_bytes());
    return all;
  };
  const PartialShape three({3}), any({-1});
  EXPECT_EQ(outputs(36, {three, three}, {kFloat, kDouble}), (std::vector<int64_t>{12, 24}));
  EXPECT_EQ(outputs(36, {three, any}, {kFloat, kDouble}), (std::vector<int64_t>{12, 24}));
  EXPECT_EQ(outputs(50, {any, any}, {kFloat, kDouble}), (std::vector<int64_t>{50, 0}));
  EXPECT_EQ(outputs(24, {three, three}, {kFloat, kDouble}), (std::vector<int64_t>{0, 24}));
  EXPECT_EQ(outputs(0, {}, {}), std::vector<int64_t>{});
}

TEST(Session, WritesTracesAndSaysWhenItCannot) {
  RunMetadata metadata{.device = "cpu", .nodes = {{.node = "a", .op = "AddV2", .kernel = "ref"}}};
  metadata.nodes[0].start_ns = 1'000'000'000'000'000'000;
  metadata.nodes[0].end_ns = metadata.nodes[0].start_ns + 12'345'678'901;
  const std::string path = testing::TempDir() + "/trace.json";
  metadata.WriteTrace(path);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find("\"ts\":0.000,\"dur\":12345678.901"), std::string::npos) << text;
  EXPECT_EQ(ErrorOf([&] { metadata.WriteTrace("/no/such/folder/trace.json"); }).first,
            Code::kUnavailable);
}

TEST(Session, TracesHaveAProcessForEachDeviceAndRowsForWhatOverlaps) {
  const RunMetadata metadata{
      .device = "/cpu:0",
      .nodes = {{.op = "Wait", .device = "/job:ps", .start_ns = 1000, .end_ns = 9000},
                {.op = "Here", .start_ns = 2000, .end_ns = 3000},
                {.op = "Late", .device = "/job:ps", .start_ns = 9000, .end_ns = 9500},
                {.op = "Beside", .device = "/job:ps", .start_ns = 4000, .end_ns = 5000}}};
  const std::string path = testing::TempDir() + "/rows.json";
  metadata.WriteTrace(path);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const char* part :
       {R"("pid":1,"name":"process_name","args":{"name":"/cpu:0"})",
        R"("pid":2,"name":"process_name","args":{"name":"/job:ps"})",
        R"("pid":1,"tid":1,"name":"Here","ts":1.000)", R"("pid":2,"tid":1,"name":"Wait","ts":0.0)",
        R"("pid":2,"tid":2,"name":"Beside","ts":3.0)", R"("pid":2,"tid":1,"name":"Late","ts":8.0)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST(Session, AMemoryLimitIsAnErrorNotAnAbort) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1});
  const Output y = Add(x, 1.0f);
  Session session(g, {.memory_limit_bytes = 1 << 20});
  EXPECT_EQ(ErrorOf([&] {
              session.Run(y, {{x, Tensor::Full<float>({1 << 20}, 0)}});
            }).first,
            Code::kResourceExhausted);
  EXPECT_EQ(session.Run(y, {{x, Tensor::Full<float>({4}, 0)}}).num_elements(), 4);
}

// What the steps of one signature keep for the next one is there for those of others.
TEST(Session, IdleStepsGiveTheirMemoryToOthers) {
  Graph g;
  const int64_t n = 1 << 20;
  const Output x = Placeholder(g, kFloat, {n});
  std::vector<Output> sums;
  for (int i = 0; i < 4; ++i) {
    const Output two =
        OpBuilder("Concat").Arg(0).Args(std::vector<Output>{x, Add(x, static_cast<float>(i))});
    sums.push_back(OpBuilder("Sum").Arg(two).Arg(0));
  }
  Session session(g, {.memory_limit_bytes = 20 << 20});  // one needs eight and a bit at least
  const Feeds feeds{{x, Tensor::Full<float>({n}, 1.0f)}};
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(session.Run(sums[static_cast<size_t>(i)], feeds).scalar<float>(),
                static_cast<float>((i + 2) * n));
  }
}

TEST(Session, DenormalNumbersCountAsZero) {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1});
  const Output product = OpBuilder(g, "Mul").Arg(x).Arg(Constant(g, Tensor::Scalar(0.5f)));
  Session session(g);
  // Enough for several threads.
  const Tensor tiny = Tensor::FromVector(std::vector<float>(1 << 20, 1e-38f));  // half is denormal
  const Tensor result = session.Run(product, {{x, tiny}});
  for (const float value : result.values<float>()) ASSERT_EQ(value, 0);
  // The caller's own arithmetic is as before.
  volatile float half = 0.5f, least = 1e-38f;
  EXPECT_GT(half * least, 0);
}

}  // namespace
}  // namespace carillon
