#include "carillon/graph.h"

#include <gtest/gtest.h>

#include "base/work_scope.h"
#include "carillon/error.h"
#include "carillon/op_builder.h"
#include "graph/device_name.h"
#include "graph/graph_def.h"
#include "graph/graph_state.h"
#include "proto/graph.pb.h"

namespace carillon {
namespace {

Output Constant(Graph& g, const Tensor& value, const char* name = "Const") {
  return OpBuilder(g, "Const").Name(name).Attr("value", value).Attr("dtype", value.dtype());
}

template <typename Body>
std::pair<Code, std::string> ErrorOf(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {Code::kOk, ""};
}

TEST(Graph, NamesAreUniqueWithinScopes) {
  Graph g;
  EXPECT_EQ(Constant(g, Tensor::Scalar(1)).name(), "Const:0");
  EXPECT_EQ(Constant(g, Tensor::Scalar(1)).name(), "Const_1:0");
  {
    NameScope layer(g, "layer");
    EXPECT_EQ(Constant(g, Tensor::Scalar(1)).name(), "layer/Const:0");
    NameScope inner(g, "inner");
    EXPECT_EQ(Constant(g, Tensor::Scalar(1)).name(), "layer/inner/Const:0");
  }
  NameScope again(g, "layer");
  EXPECT_EQ(Constant(g, Tensor::Scalar(1)).name(), "layer_1/Const:0");
}

TEST(Graph, AnOuterDeviceFillsOnlyWhatTheInnerLeavesOpen) {
  Graph g;
  DeviceScope job(g, "/job:worker/task:3");
  DeviceScope device(g, "/gpu:1");
  EXPECT_EQ(Constant(g, Tensor::Scalar(1)).op().device(), "/job:worker/task:3/device:GPU:1");
  {
    DeviceScope none(g, nullptr);
    EXPECT_EQ(Constant(g, Tensor::Scalar(1)).op().device(), "");
    DeviceScope inside(g, "/job:ps");
    EXPECT_EQ(Constant(g, Tensor::Scalar(1)).op().device(), "/job:ps");
  }
  DeviceScope function(
      g, [](const Operation& op) { return op.type() == "Const" ? "/job:ps/task:1" : ""; });
  EXPECT_EQ(Constant(g, Tensor::Scalar(1)).op().device(), "/job:ps/task:1/device:GPU:1");
}

TEST(Graph, ControlDependenciesAndColocation) {
  Graph g;
  const Output first = Constant(g, Tensor::Scalar(1), "first");
  ControlDependencies after(g, {first});
  const Output second = Constant(g, Tensor::Scalar(2), "second");
  ASSERT_EQ(second.node()->control_inputs().size(), 1u);
  EXPECT_EQ(second.node()->control_inputs()[0], first.node());
  {
    ControlDependencies none(g, nullptr);
    EXPECT_TRUE(Constant(g, Tensor::Scalar(3)).node()->control_inputs().empty());
  }
  ColocateWith with(g, first);
  const Output third = Constant(g, Tensor::Scalar(3), "third");
  EXPECT_EQ(third.node()->attr<std::vector<std::string>>("_class"),
            (std::vector<std::string>{"loc:@first"}));
}

TEST(Graph, AFrozenGraphTakesNothing) {
  Graph g;
  g.Freeze();
  EXPECT_EQ(ErrorOf([&] { Constant(g, Tensor::Scalar(1)); }).first, Code::kFailedPrecondition);
  g.Unfreeze();
  Constant(g, Tensor::Scalar(1));
}

TEST(OpBuilder, LiteralsTakeTheDtypeOfTheOthers) {
  Graph g;
  const Output x = Constant(g, Tensor::Scalar(1.0));
  const Output y = OpBuilder("AddV2").Arg(x).Arg(2);
  EXPECT_EQ(y.dtype(), kDouble);
  EXPECT_EQ(y.op().input(1).node()->attr<Tensor>("value").scalar<double>(), 2.0);
}

TEST(OpBuilder, RefusesWhatDoesNotFitAndSaysWhat) {
  Graph g, other;
  const Output x = Constant(g, Tensor::Scalar(1.0f), "x"), i = Constant(g, Tensor::Scalar(1), "i");
  auto [code, message] = ErrorOf([&] { OpBuilder("AddV2").Arg(x).Arg(i).Build(); });
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_NE(message.find("'i' (Const)"), std::string::npos) << message;
  std::tie(code, message) = ErrorOf([&] { OpBuilder("AddV3").Arg(x).Arg(x).Build(); });
  EXPECT_EQ(code, Code::kNotFound);
  EXPECT_NE(message.find("'AddV2'"), std::string::npos) << message;
  std::tie(code, message) = ErrorOf([&] { OpBuilder("AddV2").Arg(x).Build(); });
  EXPECT_EQ(code, Code::kInvalidArgument);
  std::tie(code, message) =
      ErrorOf([&] { OpBuilder("MatMul").Arg(x).Arg(x).Attr("transpoze", true).Build(); });
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_NE(message.find("transpose_a"), std::string::npos) << message;
  std::tie(code, message) = ErrorOf([&] {
    OpBuilder("AddV2").Arg(x).Arg(Constant(other, Tensor::Scalar(1.0f), "theirs")).Build();
  });
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_NE(message.find("theirs"), std::string::npos) << message;
  EXPECT_EQ(g.operations().size(), 2u) << "nothing was added";
}

TEST(GraphDef, RoundTripsThroughBinaryAndText) {
  Graph g;
  const Output x = OpBuilder(g, "Placeholder")
                       .Name("x")
                       .Attr("dtype", kFloat)
                       .Attr("shape", PartialShape{-1, 3});
  const Output w = Constant(g, Tensor::FromVector<float>({1, 2, 3, 4, 5, 6}, {3, 2}), "w");
  OpBuilder("MatMul")
      .Name("y")
      .Arg(x)
      .Arg(w)
      .Attr("transpose_a", false)
      .After(w.op())
      .Device("/job:ps/task:0")
      .Build();
  Graph binary, text;
  binary.ImportBinary(g.ExportBinary());
  text.ImportText(g.ExportText());
  EXPECT_EQ(binary.ExportText(), g.ExportText());
  EXPECT_EQ(text.ExportText(), g.ExportText());
  const Output y = binary.FindOutput("y:0");
  EXPECT_EQ(y.op().device(), "/job:ps/task:0");
  EXPECT_EQ(y.op().input(1).name(), "w:0");
  Graph prefixed;
  prefixed.ImportBinary(g.ExportBinary(), "tower");
  EXPECT_EQ(prefixed.FindOutput("tower/y").op().input(0).name(), "tower/x:0");
}

tensorflow::NodeDef* AddNode(tensorflow::GraphDef* def, const std::string& name,
                             const std::string& op, std::vector<std::string> inputs) {
  tensorflow::NodeDef* node = def->add_node();
  node->set_name(name);
  node->set_op(op);
  for (const std::string& input : inputs) node->add_input(input);
  if (op != "NoOp") (*node->mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
  return node;
}

TEST(GraphDef, NodesMayComeInAnyOrder) {
  tensorflow::GraphDef def;
  AddNode(&def, "second", "Identity", {"first"});
  auto* first = AddNode(&def, "first", "PlaceholderWithDefault", {"c"});
  first->mutable_attr()->clear();
  (*first->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
  (*first->mutable_attr())["shape"].mutable_shape();
  auto* c = AddNode(&def, "c", "Const", {});
  c->mutable_attr()->clear();
  (*c->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
  (*c->mutable_attr())["value"].mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
  NodeGraph graph;
  ASSERT_TRUE(ImportGraphDef(def, "", &graph).ok());
  EXPECT_EQ(graph.Find("second")->input(0).node, graph.Find("first"));
}

TEST(GraphDef, NodesOfUnknownOpsMayBeLeftOutWithWhatNeedsThem) {
  tensorflow::GraphDef def;
  AddNode(&def, "good", "NoOp", {})->mutable_attr()->clear();
  AddNode(&def, "strange", "NoSuchOp", {});
  AddNode(&def, "user", "Identity", {"strange:1"});
  AddNode(&def, "waits", "NoOp", {"^user", "^good"})->mutable_attr()->clear();
  NodeGraph graph;
  NodesLeftOut left_out;
  ASSERT_TRUE(ImportKnownNodes(def, &graph, &left_out, HostAllocator()).ok());
  EXPECT_NE(graph.Find("good"), nullptr);
  EXPECT_EQ(left_out.size(), 3u);
  for (const char* name : {"strange", "user", "waits"}) {
    EXPECT_EQ(graph.Find(name), nullptr) << name;
    const std::string why(left_out.at(name).message());
    EXPECT_EQ(left_out.at(name).code(), absl::StatusCode::kNotFound);
    EXPECT_NE(why.find("'NoSuchOp' of node 'strange'"), std::string::npos) << why;
    EXPECT_NE(why.find("{{node strange}}"), std::string::npos) << why;
  }
  // They are there for what comes later, and their names are taken.
  tensorflow::GraphDef more;
  AddNode(&more, "later", "Identity", {"user"});
  AddNode(&more, "strange", "NoOp", {});
  EXPECT_EQ(ImportKnownNodes(more, &graph, &left_out, HostAllocator()).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(left_out.size(), 3u);
  more.mutable_node(1)->set_name("a strange name");
  EXPECT_FALSE(ImportKnownNodes(more, &graph, &left_out, HostAllocator()).ok());
  more.mutable_node(1)->set_name("b");
  more.mutable_node(1)->set_op("a strange op");
  EXPECT_FALSE(ImportKnownNodes(more, &graph, &left_out, HostAllocator()).ok());
  EXPECT_EQ(left_out.size(), 3u);
  more.mutable_node()->RemoveLast();
  EXPECT_TRUE(ImportKnownNodes(more, &graph, &left_out, HostAllocator()).ok());
  EXPECT_EQ(left_out.count("later"), 1u);
}

// Of many, that is: to find what is near takes a while.
TEST(GraphDef, TheFirstUnknownOpsGetAHint) {
  constexpr int kOps = 300;
  tensorflow::GraphDef def;
  const auto add = [&](int node, int op) {
    const std::string letters = {static_cast<char>('a' + op / 26),
                                 static_cast<char>('a' + op % 26)};
    AddNode(&def, "n" + std::to_string(node), "MatMul" + letters, {})->mutable_attr()->clear();
  };
  for (int i = 0; i < kOps; ++i) add(i, i);
  add(kOps, 0);
  NodeGraph graph;
  NodesLeftOut left_out;
  ASSERT_TRUE(ImportKnownNodes(def, &graph, &left_out, HostAllocator()).ok());
  ASSERT_EQ(left_out.size(), kOps + 1);
  const auto has_hint = [&](int node) {
    const Status& why = left_out.at("n" + std::to_string(node));
    EXPECT_NE(why.message().find("is not known"), std::string::npos) << why;
    return why.message().find("the nearest known one is 'MatMul'") != std::string::npos;
  };
  EXPECT_TRUE(has_hint(0));
  EXPECT_TRUE(has_hint(99));
  EXPECT_FALSE(has_hint(kOps - 1));
  EXPECT_TRUE(has_hint(kOps)) << "it was looked for already";
}

// That there is no memory for a node is not said of its shapes.
TEST(NodeGraph, ShapesThatAreStoppedAreNoErrorOfTheNode) {
  OpTable ops;
  ops.Add("Hungry() -> (y: float)", "", [](ShapeContext&) -> Status { throw BudgetExceeded(); });
  ops.Add("Unwanted() -> (y: float)", "", [](ShapeContext&) -> Status { throw WorkStopped(); });
  ops.Add("Wrong() -> (y: float)", "", [](ShapeContext&) -> Status { throw std::exception(); });
  NodeGraph graph(ops);
  EXPECT_THROW(graph.Add({.name = "a", .op = "Hungry"}).IgnoreError(), BudgetExceeded);
  EXPECT_THROW(graph.Add({.name = "a", .op = "Unwanted"}).IgnoreError(), WorkStopped);
  EXPECT_EQ(graph.Add({.name = "a", .op = "Wrong"}).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(graph.num_nodes(), 0);
}

TEST(GraphDef, NodesOfMissingDTypesMayBeLeftOut) {
  tensorflow::GraphDef def;
  AddNode(&def, "good", "NoOp", {})->mutable_attr()->clear();
  auto* placeholder = AddNode(&def, "complex", "Placeholder", {});
  placeholder->mutable_attr()->clear();
  (*placeholder->mutable_attr())["dtype"].set_type(static_cast<tensorflow::DataType>(8));
  AddNode(&def, "user", "Identity", {"complex"});
  NodeGraph graph;
  NodesLeftOut left_out;
  ASSERT_TRUE(ImportKnownNodes(def, &graph, &left_out, HostAllocator()).ok());
  EXPECT_NE(graph.Find("good"), nullptr);
  ASSERT_EQ(left_out.size(), 2u);
  EXPECT_EQ(left_out.at("user").code(), absl::StatusCode::kUnimplemented);
  EXPECT_NE(left_out.at("user").message().find("complex64"), std::string::npos);
}

TEST(GraphDef, BadGraphsAreErrorsThatNameTheNodeAndAddNothing) {
  const auto import = [](const tensorflow::GraphDef& def) {
    NodeGraph graph;
    const Status status = ImportGraphDef(def, "", &graph);
    for (const auto& node : graph.nodes()) EXPECT_EQ(node, nullptr);
    return status;
  };
  {
    tensorflow::GraphDef def;
    AddNode(&def, "a", "Identity", {"b"});
    AddNode(&def, "b", "Identity", {"a"});
    EXPECT_EQ(import(def).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(import(def).message()).find("cycle"), std::string::npos);
  }
  {
    tensorflow::GraphDef def;
    AddNode(&def, "a", "NoOp", {});
    AddNode(&def, "a", "NoOp", {});
    EXPECT_EQ(import(def).code(), absl::StatusCode::kInvalidArgument);
  }
  for (const char* input : {"missing", "^missing", "a:x", "a:-1", "", ":0", "^"}) {
    tensorflow::GraphDef def;
    AddNode(&def, "a", "NoOp", {});
    AddNode(&def, "bad", "Identity", {input});
    EXPECT_EQ(import(def).code(), absl::StatusCode::kInvalidArgument) << input;
  }
  {
    tensorflow::GraphDef def;
    AddNode(&def, "a", "NoOpp", {});
    EXPECT_EQ(import(def).code(), absl::StatusCode::kNotFound);
    EXPECT_NE(std::string(import(def).message()).find("'NoOp'"), std::string::npos);
  }
  {
    tensorflow::GraphDef def;
    AddNode(&def, "bad name", "NoOp", {});
    EXPECT_EQ(import(def).code(), absl::StatusCode::kInvalidArgument);
  }
  {
    tensorflow::GraphDef def;
    auto* n = AddNode(&def, "n", "AddN", {});
    (*n->mutable_attr())["N"].set_i(int64_t{1} << 60);
    EXPECT_EQ(import(def).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(GraphDef, ATruncatedFileIsAnError) {
  Graph g;
  Constant(g, Tensor::FromVector<float>({1, 2, 3}));
  const std::string bytes = g.ExportBinary();
  for (size_t n = 1; n < bytes.size(); ++n) {
    Graph other;
    try {
      other.ImportBinary(std::string_view(bytes).substr(0, n));
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == Code::kInvalidArgument || error.code() == Code::kNotFound)
          << error.what();
      EXPECT_TRUE(other.operations().empty());
    }
  }
  Graph other;
  const auto [code, message] = ErrorOf([&] { other.ImportText("node { name: \"a\"\n  op: }"); });
  EXPECT_EQ(code, Code::kInvalidArgument);
  EXPECT_NE(message.find("line 2"), std::string::npos) << message;
}

TEST(DeviceName, ReadsEveryFormAndPrintsOne) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"/", ""},
      {"/job:worker", "/job:worker"},
      {"/job:worker/replica:0/task:3/device:GPU:1", "/job:worker/replica:0/task:3/device:GPU:1"},
      {"/task:3/job:worker", "/job:worker/task:3"},
      {"/cpu:0", "/device:CPU:0"},
      {"/GPU:2", "/device:GPU:2"},
      {"/gpu", "/device:GPU:*"},
      {"/device:CPU:*", "/device:CPU:*"},
      {"/job:ps/task:*", "/job:ps/task:*"},
  };
  for (const auto& [text, printed] : cases) {
    const auto name = ParseDeviceName(text);
    ASSERT_TRUE(name.ok()) << text << ": " << name.status();
    EXPECT_EQ(name->ToString(), printed) << text;
  }
  for (const char* bad : {"/job:", "/job:1a", "/task:x", "/task:-1", "/cpu:0/gpu:0", "/nonsense",
                          "/device:CPU:0:1"}) {
    EXPECT_EQ(ParseDeviceName(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(DeviceName, WildcardsAskForNothing) {
  const auto asked = ParseDeviceName("/job:*/replica:*/task:*/device:*");
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_TRUE(Fits(*asked, *ParseDeviceName("/job:ps/replica:0/task:1/device:CPU:0")));
  EXPECT_TRUE(ParseDeviceName("/job:a_1B").ok());
  EXPECT_FALSE(ParseDeviceName("/job:_a").ok());
  EXPECT_FALSE(ParseDeviceName("/device:CPU:0/device:CPU:0").ok());
}

TEST(DeviceName, FitsWhatHasAllThatIsAskedFor) {
  const auto there = *ParseDeviceName("/job:ps/replica:0/task:1/device:CPU:0");
  for (const char* asked : {"", "/", "/job:ps", "/task:1", "/job:ps/task:*", "/cpu:0", "/cpu:*",
                            "/device:CPU:0", "/job:ps/replica:0/task:1/device:CPU:0"})
    EXPECT_TRUE(Fits(*ParseDeviceName(asked), there)) << asked;
  for (const char* asked : {"/job:worker", "/task:0", "/replica:1", "/gpu:0", "/cpu:1"})
    EXPECT_FALSE(Fits(*ParseDeviceName(asked), there)) << asked;
}

// A function sees what the scopes inside of it have decided, and says all; beyond None nothing
// counts.
TEST(Graph, DeviceFunctionsSeeWhatWasDecidedInside) {
  Graph g;
  DeviceScope outer(g, "/job:worker/task:3");
  DeviceScope function(g, [](const Operation& op) {
    return op.device() == "/job:ps" ? "/job:ps/task:1" : op.device();
  });
  EXPECT_EQ(Constant(g, Tensor::Scalar(1)).op().device(), "/job:worker/task:3");
  DeviceScope inner(g, "/job:ps");
  EXPECT_EQ(Constant(g, Tensor::Scalar(1)).op().device(), "/job:ps/task:1");
  DeviceScope none(g, nullptr);
  EXPECT_EQ(Constant(g, Tensor::Scalar(1)).op().device(), "");
}

}  // namespace
}  // namespace carillon
