// A server among clients that mean harm: each gets an error with the right code, memory stays
// within the server's limits, and a client that means well never notices.
#include <atomic>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>
#include <thread>

#include "base/strings.h"
#include "carillon/carillon.h"
#include "carillon/server.h"
#include "distributed/rpc/grpc_server.h"
#include "distributed/serving/http2_test_util.h"
#include "eventually.h"
#include "own_process.h"
#include "raw_client.h"

namespace carillon {
namespace {

using absl::StatusCode;

constexpr int64_t kServerLimit = 256 << 20, kSessionLimit = 64 << 20;
// What a process may grow by beyond the tensors: messages, graphs, threads.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kSlack = int64_t{2} << 30;  // and what a sanitizer notes down of it, or keeps
#else
constexpr int64_t kSlack = 512 << 20;
#endif
constexpr const char* kMethods[] = {
    "CreateSession", "ExtendSession",   "RunStep",     "PartialRunSetup", "MakeCallable",
    "RunCallable",   "ReleaseCallable", "ListDevices", "CloseSession",    "Reset"};

std::string MethodOf(const std::string& name) { return "/tensorflow.MasterService/" + name; }

class Hostile : public testing::Test {
 protected:
  Hostile() {
    ResetPeakResidentBytes();
    resident_ = PeakResidentBytes();
  }

  // The client that means well gets its answers all the while; memory stayed within bounds.
  void TearDown() override {
    EXPECT_EQ(friend_.Run(doubled_, {{x_, Tensor::Scalar(21.0f)}}).scalar<float>(), 42.0f);
    EXPECT_LT(PeakResidentBytes() - resident_, kServerLimit + slack_);
  }

  int64_t slack_ = kSlack;
  Server server_{{.memory_limit_bytes = kServerLimit, .session_memory_limit_bytes = kSessionLimit}};
  RawClient client_{server_.port()};
  Graph g_;
  const Output x_ = Placeholder(g_, kFloat, {}, "x");
  const Output doubled_ = x_ * 2.0f;
  Session friend_{server_.target(), g_};
  int64_t resident_;
};

TEST_F(Hostile, TruncatedAndRandomRequests) {
  std::mt19937 random(7);
  tensorflow::RunStepRequest step;
  step.set_session_handle("0123456789abcdef");
  step.add_fetch("y:0");
  auto* feed = step.add_feed();
  feed->set_name("x:0");
  feed->mutable_tensor()->set_dtype(tensorflow::DT_FLOAT);
  feed->mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(8);
  feed->mutable_tensor()->set_tensor_content(std::string(32, 'a'));
  const std::string whole = step.SerializeAsString();
  for (const char* method : kMethods) {
    if (std::string(method) == "Reset") continue;  // the empty one is a request like any other
    for (size_t length = 0; length < whole.size(); length += 3) {
      const Status status = client_.Call(MethodOf(method), whole.substr(0, length));
      EXPECT_NE(status.code(), StatusCode::kUnavailable) << method << " " << length << status;
    }
    for (int i = 0; i < 50; ++i) {
      std::string bytes(random() % 200, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      const Status status = client_.Call(MethodOf(method), bytes);
      EXPECT_NE(status.code(), StatusCode::kUnavailable) << method << status;
    }
  }
  EXPECT_EQ(client_.Call(MethodOf("RunStep"), whole.substr(0, whole.size() - 1)).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(client_.Call(MethodOf("RunStep"), whole).code(), StatusCode::kAborted);
}

// An empty request is one; none is not.
TEST_F(Hostile, CallsWithoutARequest) {
  Http2Client client(server_.port());
  client.Greet();
  for (const char* method : kMethods) {
    const uint32_t call = client.Begin(MethodOf(method));
    client.SendData(call, "", true);
    ASSERT_TRUE(client.AwaitEnd(call)) << method;
    EXPECT_EQ(client.stream(call).status(), "3") << method;
  }
}

TEST_F(Hostile, CallsWithTwoRequests) {
  Http2Client client(server_.port());
  client.Greet();
  for (const char* method : kMethods) {
    for (const bool ends : {true, false}) {
      const uint32_t call = client.Begin(MethodOf(method));
      client.SendData(call, http2::Message("") + http2::Message(""), ends);
      ASSERT_TRUE(client.AwaitEnd(call)) << method;
      EXPECT_EQ(client.stream(call).status(), "3") << method;
    }
  }
}

// Whole, each of them, but for the word that nothing follows.
TEST_F(Hostile, RequestsThatAreNeverEnded) {
  std::vector<std::unique_ptr<Http2Client>> clients;
  const std::string request = http2::Message(std::string(600'000, 'x'));
  for (int i = 0; i < 2; ++i) {
    clients.push_back(std::make_unique<Http2Client>(server_.port()));
    clients.back()->Greet();
    ASSERT_TRUE(clients.back()->Ping());
    for (int call = 0; call < 900; ++call)
      clients.back()->SendData(clients.back()->Begin(MethodOf("RunStep")), request);
    ASSERT_TRUE(clients.back()->Ping());
  }
  // They stop there; others have something to say.
  const StatusOr<std::string> session = client_.CreateSession(
      GraphOf(NodeText("n", "NoOp", {}) + "library { function { signature { name: '" +
              std::string(2 << 20, 'f') + "' } } }"));
  EXPECT_TRUE(session.ok()) << session.status();
}

// The client goes before it has the handle, so that nobody is ever going to close it.
TEST_F(Hostile, ASessionThatNobodyHasHeardOfIsClosed) {
  const int64_t sessions = server_.num_sessions();
  auto client = std::make_unique<Http2Client>(server_.port());
  client->Send(http2::kPreface);
  client->SendFrame(http2::kSettings, 0, 0,
                    http2::BigEndian(http2::kInitialWindow, 2) + http2::BigEndian(0, 4));
  const uint32_t call = client->Begin(MethodOf("CreateSession"));
  client->SendData(call, http2::Message(""), true);
  EXPECT_TRUE(Eventually([&] { return server_.num_sessions() == sessions + 1; }));
  client.reset();
  EXPECT_TRUE(Eventually([&] { return server_.num_sessions() == sessions; }));
}

TEST_F(Hostile, UnknownMethods) {
  for (const char* method :
       {"/tensorflow.MasterService/Fetch", "/tensorflow.WorkerService/GetStatus", "/", "/x",
        "/tensorflow.MasterService/", "/../../etc/passwd"}) {
    EXPECT_EQ(client_.Call(method, "abc").code(), StatusCode::kUnimplemented) << method;
  }
  EXPECT_EQ(client_.Call("/" + std::string(5000, 'm'), "").code(), StatusCode::kUnimplemented);
}

tensorflow::GraphDef ConstOfShape(const std::vector<int64_t>& dims,
                                  const std::string& dtype = "DT_FLOAT",
                                  const std::string& values = "float_val: 1") {
  std::string shape;
  for (const int64_t dim : dims) StrAppend(&shape, " dim { size: ", dim, " }");
  return GraphOf(NodeText("c", "Const", {},
                          Attr("dtype", "type: " + dtype) +
                              Attr("value", StrCat("tensor { dtype: ", dtype, " tensor_shape {",
                                                   shape, " } ", values, " }"))));
}

TEST_F(Hostile, ConstantsOfImpossibleShapes) {
  const int64_t big = int64_t{1} << 40, max = std::numeric_limits<int64_t>::max();
  for (const auto& dims : std::vector<std::vector<int64_t>>{{big, big},
                                                            {-1},
                                                            {-5, 3},
                                                            {max, max, max},
                                                            {std::numeric_limits<int64_t>::min()},
                                                            {1 << 20, 1 << 20, 1 << 20, 1 << 20}}) {
    EXPECT_EQ(client_.RunOnce(ConstOfShape(dims), "c:0").code(), StatusCode::kInvalidArgument)
        << dims[0];
  }
  EXPECT_EQ(client_.RunOnce(ConstOfShape(std::vector<int64_t>(300, 1)), "c:0").code(),
            StatusCode::kInvalidArgument);
  // Sizes that a tensor could have, but none here: 2 GiB, and more than any machine has.
  for (const int64_t size : {int64_t{1} << 29, int64_t{1} << 45, int64_t{1} << 60}) {
    EXPECT_EQ(client_.RunOnce(ConstOfShape({size}), "c:0").code(), StatusCode::kResourceExhausted)
        << size;
    EXPECT_EQ(client_.RunOnce(ConstOfShape({size}, "DT_STRING", "string_val: 'ab'"), "c:0").code(),
              StatusCode::kResourceExhausted)
        << size;
  }
  // What many constants take together counts, too.
  std::string text;
  for (int i = 0; i < 20; ++i) {
    const std::string name = StrCat("c", i);
    text += NodeText(name, "Const", {},
                     Attr("dtype", "type: DT_FLOAT") +
                         Attr("value",
                              "tensor { dtype: DT_FLOAT tensor_shape { dim { size: "
                              "2000000 } } float_val: 1 }"));
  }
  EXPECT_EQ(client_.CreateSession(GraphOf(text)).status().code(), StatusCode::kResourceExhausted);
  const int64_t before = server_.bytes_in_use();
  EXPECT_EQ(client_.CreateSession(GraphOf(text)).status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(Eventually([&] { return server_.bytes_in_use() <= before; }))
      << "the memory of a failed import comes back";
}

// A length-delimited field of a message.
std::string Field(int number, const std::string& content) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  for (size_t size = content.size();; size >>= 7) {
    out.push_back(static_cast<char>((size & 0x7f) | (size >= 0x80 ? 0x80 : 0)));
    if (size < 0x80) break;
  }
  return out + content;
}

TEST_F(Hostile, DeepNesting) {
  // Attributes that hold functions with attributes that hold functions …; protobuf's own limit is
  // between the depths.
  for (const int depth : {20, 30, 40, 3000}) {
    std::string attr;
    for (int i = 0; i < depth; ++i)
      attr = Field(10, Field(1, "f") + Field(2, Field(1, "a") + Field(2, attr)));
    const std::string node =
        Field(1, "n") + Field(2, "NoOp") + Field(5, Field(1, "f") + Field(2, attr));
    const Status status = client_.Call(MethodOf("CreateSession"), Field(1, Field(1, node)));
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << depth << status;
  }
  // Groups have no length, only an end: 100,000 of them open.
  for (const char* method : {"RunStep", "CreateSession", "RunCallable"}) {
    EXPECT_EQ(client_.Call(MethodOf(method), std::string(100'000, '\x7b')).code(),
              StatusCode::kInvalidArgument)
        << method;
  }
}

// Two bytes each, and a hundred and more once they are parsed.
TEST_F(Hostile, RequestsOfManySmallFields) {
  const auto fields = [](char tag) {
    std::string bytes;
    for (int i = 0; i < 20'000'000; ++i) bytes.append({tag, '\0'});
    return bytes;
  };
  const auto within = [](char tag, const std::string& message) {
    std::string bytes(1, tag);
    size_t size = message.size();
    for (; size >= 128; size >>= 7) bytes += static_cast<char>(size | 128);
    return bytes + static_cast<char>(size) + message;
  };
  const std::string graph = fields('\12');
  const std::pair<const char*, std::string> requests[] = {
      {"CreateSession", within('\12', graph)},
      {"ExtendSession", within('\22', graph)},
      {"RunStep", fields('\22')},
      {"RunStep", fields('\32')},
      {"PartialRunSetup", fields('\32')},
      {"MakeCallable", within('\22', fields('\12'))},
      {"RunCallable", fields('\32')},
      {"Reset", fields('\12')}};
  for (const auto& [method, request] : requests) {
    const Status status = client_.Call(MethodOf(method), request);
    EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << method << ": " << status;
  }
}

// They trust what they are given: a _Recv would make a string of any bytes.
TEST_F(Hostile, OpsThatOnlyPassesMayUse) {
  for (const char* op : {"_Arg", "_Retval", "_Targets", "_Send", "_Recv", "_ReadRef",
                         "_FusedConv2D", "_FusedMatMul", "_ForCount"}) {
    const Status status = client_.RunOnce(GraphOf(NodeText("n", op, {})), "n:0");
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << op << ": " << status;
    EXPECT_NE(status.message().find("only passes may use"), std::string::npos) << status;
  }
}

TEST_F(Hostile, FunctionsThatCallThemselves) {
  const char* library = R"(library { function {
      signature { name: "f" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "again" op: "f" input: "x" }
      ret { key: "y" value: "again:y:0" } } })";
  const tensorflow::GraphDef graph =
      GraphOf(NodeText("c", "Const", {},
                       Attr("dtype", "type: DT_FLOAT") +
                           Attr("value", "tensor { dtype: DT_FLOAT float_val: 1 }")) +
              NodeText("r", "f", {"c"}) + library);
  EXPECT_FALSE(client_.RunOnce(graph, "r:0").ok());
  // Forty functions that call the next one twice: 2^40 nodes when expanded.
  std::string text = NodeText("c", "Const", {},
                              Attr("dtype", "type: DT_FLOAT") +
                                  Attr("value", "tensor { dtype: DT_FLOAT float_val: 1 }")) +
                     NodeText("r", "f0", {"c"}) + "library {";
  for (int i = 0; i < 40; ++i) {
    const std::string callee = i == 39 ? "Neg" : StrCat("f", i + 1);
    const std::string attrs = i == 39 ? Attr("T", "type: DT_FLOAT") : "";
    StrAppend(&text, "function { signature { name: 'f", i,
              "' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } } "
              "node_def { name: 'a' op: '",
              callee, "' input: 'x'", attrs, " } node_def { name: 'b' op: '", callee,
              "' input: 'a:y:0'", attrs, " } ret { key: 'y' value: 'b:y:0' } }");
  }
  const Status status = client_.RunOnce(GraphOf(text + "}"), "r:0", std::chrono::seconds(5));
  EXPECT_FALSE(status.ok());
}

TEST_F(Hostile, Cycles) {
  const std::string t = Attr("T", "type: DT_FLOAT");
  EXPECT_EQ(client_
                .RunOnce(GraphOf(NodeText("a", "Relu", {"b"}, t) + NodeText("b", "Relu", {"a"}, t)),
                         "a:0")
                .code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(client_.RunOnce(GraphOf(NodeText("a", "NoOp", {"^a"})), "a:0").code(),
            StatusCode::kInvalidArgument);
  // A loop without an Enter: a Merge that waits for itself alone.
  EXPECT_FALSE(client_
                   .RunOnce(GraphOf(NodeText("m", "Merge", {"n", "n"}, t + Attr("N", "i: 2")) +
                                    NodeText("n", "NextIteration", {"m"}, t)),
                            "m:0", std::chrono::seconds(2))
                   .ok());
}

TEST_F(Hostile, AMillionNodes) {
  slack_ = 4 * kSlack;  // the client is in this process, too: its graph, request and message
  tensorflow::GraphDef graph;
  const auto add = [&](const std::string& name, const std::string& op) {
    tensorflow::NodeDef* node = graph.add_node();
    node->set_name(name);
    node->set_op(op);
    return node;
  };
  constexpr int kNodes = 1'000'000;
  for (int i = 0; i < kNodes; ++i) {
    tensorflow::NodeDef* node = add(StrCat("n", i), "NoOp");
    if (i > 0) node->add_input(StrCat("^n", i - 1));
  }
  const Status status = client_.CreateSession(graph).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  // One node with very many edges.
  graph.Clear();
  for (int i = 0; i < 100'000; ++i) add(StrCat("n", i), "NoOp");
  tensorflow::NodeDef* last = add("last", "NoOp");
  for (int i = 0; i < 100'000; ++i) last->add_input(StrCat("^n", i));
  const StatusOr<std::string> handle = client_.CreateSession(graph);
  ASSERT_TRUE(handle.ok()) << handle.status();
  EXPECT_TRUE(client_.CloseSession(*handle).ok());
}

struct Bomb {
  const char* name;
  std::string graph;
  StatusCode code = StatusCode::kResourceExhausted;
};

TEST_F(Hostile, Bombs) {
  const int64_t huge = int64_t{1} << 60, large = int64_t{1} << 40;
  const std::string f = Attr("T", "type: DT_FLOAT"), s = Attr("T", "type: DT_STRING"),
                    i64 = Attr("Tidx", "type: DT_INT64");
  const std::string one = NodeText(
      "one", "Const", {},
      Attr("dtype", "type: DT_FLOAT") + Attr("value", "tensor { dtype: DT_FLOAT float_val: 1 }"));
  const std::string row = NodeText(
      "row", "Const", {},
      Attr("dtype", "type: DT_FLOAT") +
          Attr("value",
               "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1 }"));
  const std::string word =
      NodeText("word", "Const", {},
               Attr("dtype", "type: DT_STRING") +
                   Attr("value", "tensor { dtype: DT_STRING string_val: 'abcdefgh' }"));
  const std::string index = Attr("index_type", "type: DT_INT64");
  std::vector<Bomb> bombs;
  bombs.push_back(
      {"Fill", one + ConstText("n", {huge}) + NodeText("r", "Fill", {"n", "one"}, f + index)});
  bombs.push_back({"Fill2GiB", one + ConstText("n", {1 << 29}) +
                                   NodeText("r", "Fill", {"n", "one"}, f + index)});
  bombs.push_back(
      {"FillOverflow",
       one + ConstText("n", {large, large}) + NodeText("r", "Fill", {"n", "one"}, f + index),
       StatusCode::kInvalidArgument});
  bombs.push_back({"FillNegative",
                   one + ConstText("n", {-3}) + NodeText("r", "Fill", {"n", "one"}, f + index),
                   StatusCode::kInvalidArgument});
  bombs.push_back({"FillStrings", word + ConstText("n", {huge}) +
                                      NodeText("r", "Fill", {"n", "word"}, s + index)});
  bombs.push_back(
      {"Tile", row + ConstText("n", {large}) +
                   NodeText("r", "Tile", {"row", "n"}, f + Attr("Tmultiples", "type: DT_INT64"))});
  bombs.push_back({"BroadcastTo", one + ConstText("n", {large}) +
                                      NodeText("r", "BroadcastTo", {"one", "n"}, f + i64)});
  bombs.push_back(
      {"OneHot", one + ConstText("i", {1, 2}) + ConstText("d", {1 << 30}, "DT_INT32", true) +
                     NodeText("r", "OneHot", {"i", "d", "one", "one"},
                              f + Attr("TI", "type: DT_INT64") + Attr("axis", "i: -1"))});
  bombs.push_back({"Range", ConstText("a", {0}, "DT_INT64", true) +
                                ConstText("b", {huge}, "DT_INT64", true) +
                                ConstText("d", {1}, "DT_INT64", true) +
                                NodeText("r", "Range", {"a", "b", "d"}, i64)});
  bombs.push_back(
      {"Pad", row +
                  NodeText("p", "Const", {},
                           Attr("dtype", "type: DT_INT64") +
                               Attr("value", StrCat("tensor { dtype: DT_INT64 tensor_shape { dim { "
                                                    "size: 1 } dim { size: 2 } } int64_val: ",
                                                    large, " int64_val: 1 }"))) +
                  NodeText("r", "Pad", {"row", "p"}, f + Attr("Tpaddings", "type: DT_INT64"))});
  bombs.push_back({"RandomUniform",
                   ConstText("n", {large}) +
                       NodeText("r", "RandomUniform", {"n"},
                                Attr("T", "type: DT_INT64") + Attr("dtype", "type: DT_FLOAT"))});
  bombs.push_back({"ZerosLike", one + ConstText("n", {10'000'000}) +
                                    NodeText("a", "Fill", {"n", "one"}, f + index) +
                                    NodeText("r", "ZerosLike", {"a"}, f)});
  bombs.push_back({"LinSpace", one + ConstText("n", {1 << 30}, "DT_INT32", true) +
                                   NodeText("r", "LinSpace", {"one", "one", "n"},
                                            f + Attr("Tidx", "type: DT_INT32"))});
  bombs.push_back({"MatMul", one + ConstText("n", {100'000, 1}) + ConstText("m", {1, 100'000}) +
                                 NodeText("a", "Fill", {"n", "one"}, f + index) +
                                 NodeText("b", "Fill", {"m", "one"}, f + index) +
                                 NodeText("r", "MatMul", {"a", "b"}, f)});
  std::string joins = word, previous = "word";
  for (int i = 0; i < 60; ++i) {
    const std::string name = i == 59 ? "r" : StrCat("j", i);
    joins += NodeText(name, "StringJoin", {previous, previous}, Attr("N", "i: 2"));
    previous = name;
  }
  bombs.push_back({"StringJoin", joins});
  bombs.push_back({"TensorListReserve", ConstText("e", {2}) +
                                            ConstText("n", {1 << 30}, "DT_INT32", true) +
                                            NodeText("l", "TensorListReserve", {"e", "n"},
                                                     Attr("element_dtype", "type: DT_FLOAT") +
                                                         Attr("shape_type", "type: DT_INT64")) +
                                            NodeText("r", "TensorListLength", {"l"})});
  bombs.push_back(
      {"TensorArray", ConstText("n", {std::numeric_limits<int32_t>::max()}, "DT_INT32", true) +
                          NodeText("a", "TensorArrayV3", {"n"}, Attr("dtype", "type: DT_FLOAT")) +
                          NodeText("r", "TensorArraySizeV3", {"a", "a:1"})});
  // Rows without elements cost nothing, until they are taken apart.
  const std::string rows =
      one + ConstText("n", {1 << 28, 0}) + NodeText("rows", "Fill", {"n", "one"}, f + index);
  bombs.push_back(
      {"EnqueueMany",
       rows + NodeText("q", "FIFOQueueV2", {}, Attr("component_types", "list { type: DT_FLOAT }")) +
           NodeText("put", "QueueEnqueueManyV2", {"q", "rows"},
                    Attr("Tcomponents", "list { type: DT_FLOAT }")) +
           NodeText("r", "QueueSizeV2", {"q", "^put"})});
  bombs.push_back({"TensorListFromTensor", rows + ConstText("e", {0}) +
                                               NodeText("l", "TensorListFromTensor", {"rows", "e"},
                                                        Attr("element_dtype", "type: DT_FLOAT") +
                                                            Attr("shape_type", "type: DT_INT64")) +
                                               NodeText("r", "TensorListLength", {"l"})});
  bombs.push_back({"TileStrings",
                   word +
                       NodeText("big", "StringJoin", std::vector<std::string>(1000, "word"),
                                Attr("N", "i: 1000")) +
                       ConstText("n", {100'000}) + NodeText("r", "Fill", {"n", "big"}, s + index)});
  for (const Bomb& bomb : bombs) {
    const Status status = client_.RunOnce(GraphOf(bomb.graph), "r:0");
    EXPECT_EQ(status.code(), bomb.code) << bomb.name << ": " << status;
    EXPECT_LT(PeakResidentBytes() - resident_, kServerLimit + kSlack) << bomb.name;
  }
}

TEST_F(Hostile, ALoopWithoutEndEndsWithItsTimeout) {
  const std::string t = Attr("T", "type: DT_FLOAT");
  const std::string graph =
      NodeText("c", "Const", {},
               Attr("dtype", "type: DT_FLOAT") +
                   Attr("value", "tensor { dtype: DT_FLOAT float_val: 1 }")) +
      NodeText("yes", "Const", {"^m"},
               Attr("dtype", "type: DT_BOOL") +
                   Attr("value", "tensor { dtype: DT_BOOL bool_val: true }")) +
      NodeText("e", "Enter", {"c"}, t + Attr("frame_name", "s: 'loop'")) +
      NodeText("m", "Merge", {"e", "next"}, t + Attr("N", "i: 2")) +
      NodeText("go", "LoopCond", {"yes"}) + NodeText("s", "Switch", {"m", "go"}, t) +
      NodeText("n", "Neg", {"s:1"}, t) + NodeText("next", "NextIteration", {"n"}, t) +
      NodeText("r", "Exit", {"s"}, t);
  EXPECT_EQ(client_.RunOnce(GraphOf(graph), "r:0", std::chrono::milliseconds(100)).code(),
            StatusCode::kDeadlineExceeded);
}

TEST_F(Hostile, APartialRunThatWaitsForNothingEnds) {
  const StatusOr<std::string> session = client_.CreateSession(
      GraphOf(NodeText("q", "FIFOQueueV2", {}, Attr("component_types", "list { type: DT_FLOAT }")) +
              NodeText("take", "QueueDequeueV2", {"q"},
                       Attr("component_types", "list { type: DT_FLOAT }")) +
              NodeText("x", "Placeholder", {}, Attr("dtype", "type: DT_FLOAT")) +
              NodeText("y", "Neg", {"x"}, Attr("T", "type: DT_FLOAT"))));
  ASSERT_TRUE(session.ok()) << session.status();
  const auto set_up = [&](const std::string& fetch) {
    tensorflow::PartialRunSetupRequest request;
    request.set_session_handle(*session);
    request.add_feed("x:0");
    request.add_fetch(fetch);
    tensorflow::PartialRunSetupResponse reply;
    const Status status = client_.Master("PartialRunSetup", request, &reply);
    EXPECT_TRUE(status.ok()) << status;
    return reply.partial_run_handle();
  };
  const auto fetch = [&](const std::string& run, const std::string& name, int64_t timeout_ms,
                         std::chrono::milliseconds deadline) {
    tensorflow::RunStepRequest request;
    request.set_session_handle(*session);
    request.set_partial_run_handle(run);
    request.add_fetch(name);
    request.mutable_options()->set_timeout_in_ms(timeout_ms);
    tensorflow::RunStepResponse reply;
    return client_.Master("RunStep", request, &reply, deadline).code();
  };
  // Who is impatient still has to get the call to the server, from a machine that is busy.
  const std::chrono::milliseconds patient = std::chrono::seconds(60), impatient{1000};
  std::string run = set_up("y:0");
  EXPECT_EQ(fetch(run, "y:0", 0, patient), StatusCode::kInvalidArgument);  // x is not fed
  run = set_up("take:0");
  EXPECT_EQ(fetch(run, "take:0", 100, patient), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(fetch(run, "take:0", 100, patient), StatusCode::kInvalidArgument);  // it is over
  run = set_up("take:0");
  EXPECT_EQ(fetch(run, "take:0", 0, impatient), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(fetch(run, "take:0", 0, patient), StatusCode::kInvalidArgument);
  EXPECT_TRUE(client_.CloseSession(*session).ok());
}

TEST_F(Hostile, FeedsThatDoNotFitAreFreed) {
  const StatusOr<std::string> session = client_.CreateSession(
      GraphOf(NodeText("x", "Placeholder", {}, Attr("dtype", "type: DT_FLOAT")) +
              NodeText("y", "Neg", {"x"}, Attr("T", "type: DT_FLOAT"))));
  ASSERT_TRUE(session.ok()) << session.status();
  tensorflow::RunStepRequest request;
  request.set_session_handle(*session);
  request.add_fetch("y:0");
  auto* feed = request.add_feed();
  feed->set_name("x:0");
  feed->mutable_tensor()->set_dtype(tensorflow::DT_INT32);  // y takes floats
  feed->mutable_tensor()->mutable_tensor_shape()->add_dim()->set_size(1 << 18);
  feed->mutable_tensor()->set_tensor_content(std::string(4 << 18, 'a'));
  const int64_t before = server_.bytes_in_use();
  for (int i = 0; i < 3; ++i) {
    tensorflow::RunStepResponse reply;
    EXPECT_EQ(client_.Master("RunStep", request, &reply).code(), StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(Eventually([&] { return server_.bytes_in_use() <= before; }));
}

TEST_F(Hostile, NamesThatAreNotUtf8) {
  for (const std::string& name :
       {std::string("\xff\xfe\x80"), std::string("a\0b", 3), std::string("\xc3")}) {
    tensorflow::GraphDef graph;
    graph.add_node()->set_name(name);
    graph.mutable_node(0)->set_op("NoOp");
    EXPECT_FALSE(client_.CreateSession(graph).ok());
    graph.mutable_node(0)->set_name("n");
    graph.mutable_node(0)->set_op(name);
    EXPECT_FALSE(client_.CreateSession(graph).ok());
    tensorflow::RunStepRequest step;
    step.set_session_handle(name);
    step.add_fetch(name);
    step.add_target(name);
    tensorflow::RunStepResponse reply;
    EXPECT_FALSE(client_.Master("RunStep", step, &reply).ok());
    tensorflow::ResetRequest reset;
    reset.add_container(name);
    // Reset closes all sessions: only those of servers that nobody else uses are asked.
    Server other;
    RawClient client(other.port());
    tensorflow::ResetResponse done;
    EXPECT_NE(client.Master("Reset", reset, &done).code(), StatusCode::kUnavailable);
  }
}

// As many files as the system lets a process have.
void RaiseFileLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

TEST_F(Hostile, ConnectionsThatSayNothing) {
  RaiseFileLimit();
  SilentConnections silent;
  while (silent.size() < 2000 && silent.Open(server_.port())) {
  }
  EXPECT_GT(silent.size(), 100u);
  RawClient late(server_.port());
  EXPECT_EQ(late.Call(MethodOf("ListDevices"), "").code(), StatusCode::kOk);
}

TEST(SilentConnection, IsClosed) {
  MapResourceStore resources;
  Master master({}, MakeCpuDevice("/job:local/replica:0/task:0", {}), &resources);
  GrpcServer server(&master, nullptr, {.handshake_timeout = std::chrono::milliseconds(50)});
  SilentConnections silent;
  for (const char* first_words : {"", "PRI", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}) {
    ASSERT_TRUE(silent.Open(server.port()));
    silent.Send(first_words);
    EXPECT_TRUE(silent.WaitUntilClosed()) << first_words;
  }
}

TEST_F(Hostile, RunningOutOfFileDescriptors) {
  friend_.Run(doubled_, {{x_, Tensor::Scalar(1.0f)}});  // is connected now
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = std::min<rlim_t>(before.rlim_cur, 400);
  setrlimit(RLIMIT_NOFILE, &low);
  {
    SilentConnections silent;
    while (silent.Open(server_.port())) {
    }
    EXPECT_GT(silent.size(), 50u);
    // Who is here already is served all the same.
    EXPECT_EQ(friend_.Run(doubled_, {{x_, Tensor::Scalar(1.0f)}}).scalar<float>(), 2.0f);
  }
  setrlimit(RLIMIT_NOFILE, &before);
  RawClient late(server_.port());
  EXPECT_EQ(late.Call(MethodOf("ListDevices"), "").code(), StatusCode::kOk);
}

TEST_F(Hostile, SlowAndWrongSenders) {
  SilentConnections slow;
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (size_t i = 0; i < preface.size(); ++i) {
    ASSERT_TRUE(slow.Open(server_.port()));
    slow.Send(preface.substr(0, i));
  }
  for (const std::string& bytes : {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
                                   std::string("\x16\x03\x01\x02"), std::string(10'000, '\xff'),
                                   preface + std::string("\xff\xff\xff\x00\x00\x00\x00\x00\x00", 9),
                                   preface + std::string(1 << 16, '\0')}) {
    ASSERT_TRUE(slow.Open(server_.port()));
    slow.Send(bytes);
  }
  EXPECT_EQ(client_.Call(MethodOf("ListDevices"), "").code(), StatusCode::kOk);
}

}  // namespace
}  // namespace carillon
