#include "graph/function_library.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "base/work_scope.h"
#include "graph/graph_def.h"
#include "proto/graph.pb.h"

namespace carillon {
namespace {

using testing::HasSubstr;

// twice<T>(x) = (x + x, ^effects), and a function that calls it by its name.
constexpr const char* kLibrary = R"(
  function {
    signature {
      name: "twice"
      input_arg { name: "x" type_attr: "T" }
      output_arg { name: "sum" type_attr: "T" }
      attr { name: "T" type: "type" }
    }
    node_def {
      name: "add" op: "AddV2" input: "x" input: "x"
      attr { key: "T" value { placeholder: "T" } }
    }
    ret { key: "sum" value: "add:z:0" }
  }
  function {
    signature {
      name: "parts"
      input_arg { name: "xs" number_attr: "N" type: DT_FLOAT }
      output_arg { name: "first" type: DT_FLOAT }
      output_arg { name: "rest" type: DT_FLOAT number_attr: "N" }
      attr { name: "N" type: "int" }
    }
    node_def {
      name: "all" op: "IdentityN" input: "xs:0" input: "xs:1"
      attr { key: "T" value { list { type: DT_FLOAT type: DT_FLOAT } } }
    }
    node_def { name: "doubled" op: "twice" input: "all:output:1"
      attr { key: "T" value { type: DT_FLOAT } } }
    ret { key: "first" value: "doubled:sum:0" }
    ret { key: "rest" value: "all:output" }
  }
  gradient { function_name: "twice" gradient_func: "parts" })";

tensorflow::FunctionDefLibrary Parse(const std::string& text) {
  tensorflow::FunctionDefLibrary library;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &library));
  return library;
}

// A library with one function f(x: float) -> (y: float) whose body and results are given.
Status Instantiate(const std::string& body, const std::string& signature = "") {
  FunctionLibrary library;
  const Status added = library.Add(Parse(R"(function { signature { name: "f"
      input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT })" +
                                         signature + "}" + body + "}"));
  return added.ok() ? library.Instantiate({"f", {}}).status() : added;
}

TEST(FunctionLibrary, InstantiatesWithTheAttributesOfTheCall) {
  FunctionLibrary library;
  ASSERT_TRUE(library.Add(Parse(kLibrary)).ok());
  for (const DType dtype : {DType::kFloat, DType::kInt64}) {
    const auto body = library.Instantiate({"twice", {{"T", AttrValue(dtype)}}});
    ASSERT_TRUE(body.ok()) << body.status();
    EXPECT_EQ((*body)->args.size(), 1u);
    EXPECT_EQ((*body)->args[0]->output(0).dtype, dtype);
    EXPECT_EQ((*body)->results[0].node->name(), "add");
    EXPECT_TRUE((*body)->effects.empty());
  }
  EXPECT_EQ(library.Instantiate({"twice", {}}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(library.Instantiate({"thrice", {}}).status().code(), absl::StatusCode::kNotFound);
}

TEST(FunctionLibrary, UnderstandsLists) {
  FunctionLibrary library;
  ASSERT_TRUE(library.Add(Parse(kLibrary)).ok());
  const auto body = library.Instantiate({"parts", {{"N", AttrValue(2)}}});
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ((*body)->args.size(), 2u);
  ASSERT_EQ((*body)->results.size(), 3u);
  EXPECT_EQ((*body)->results[0].node->name(), "doubled");
  EXPECT_EQ((*body)->results[2].node->name(), "all");
  EXPECT_EQ((*body)->results[2].index, 1);
  EXPECT_EQ((*body)->graph.nodes().Find("doubled")->input(0).index, 1);
  // More than there are.
  EXPECT_FALSE(library.Instantiate({"parts", {{"N", AttrValue(3)}}}).ok());
  EXPECT_FALSE(library.Instantiate({"parts", {{"N", AttrValue(int64_t{1} << 40)}}}).ok());
}

TEST(FunctionLibrary, GrowsButDoesNotChange) {
  FunctionLibrary library;
  ASSERT_TRUE(library.Add(Parse(kLibrary)).ok());
  EXPECT_TRUE(library.Add(Parse(kLibrary)).ok());
  tensorflow::FunctionDefLibrary changed = Parse(kLibrary);
  changed.mutable_function(0)->mutable_node_def(0)->set_op("Mul");
  changed.add_function()->mutable_signature()->set_name("new");
  EXPECT_THAT(library.Add(changed).ToString(), HasSubstr("'twice' is in the graph already"));
  EXPECT_EQ(library.FindSpec("new"), nullptr);
  EXPECT_EQ(library.GradientOf("twice"), "parts");
  tensorflow::FunctionDefLibrary exported;
  library.ToProto(&exported);
  EXPECT_EQ(exported.function_size(), 2);
  EXPECT_EQ(exported.gradient_size(), 1);
}

TEST(FunctionLibrary, RefusesMalformedFunctions) {
  const char* kGood = R"(node_def { name: "n" op: "Neg" input: "x"
      attr { key: "T" value { type: DT_FLOAT } } } ret { key: "y" value: "n:y:0" })";
  EXPECT_TRUE(Instantiate(kGood).ok()) << Instantiate(kGood);
  const auto neg = [](const std::string& input, const std::string& ret) {
    return Instantiate(R"(node_def { name: "n" op: "Neg" input: ")" + input +
                       R"(" attr { key: "T" value { type: DT_FLOAT } } } ret { key: "y" value: ")" +
                       ret + "\" }")
        .ToString();
  };
  EXPECT_THAT(neg("z", "n:y:0"), HasSubstr("neither an argument nor a node"));
  EXPECT_THAT(neg("x", "n:z:0"), HasSubstr("no output called 'z'"));
  EXPECT_THAT(neg("x", "n:y:1"), HasSubstr("no element 1"));
  EXPECT_THAT(neg("x", "n:y:99999999999999999999"), HasSubstr("malformed"));
  EXPECT_THAT(neg("x:1", "n:y:0"), HasSubstr("does not exist"));
  EXPECT_THAT(neg("n:y:0", "n:y:0"), HasSubstr("cycle"));
  EXPECT_THAT(neg("", "n:y:0"), HasSubstr("neither"));
  EXPECT_THAT(Instantiate("").ToString(), HasSubstr("nothing is said about the result 'y'"));
  EXPECT_THAT(
      Instantiate(R"(ret { key: "y" value: "x" } control_ret { key: "c" value: "no" })").ToString(),
      HasSubstr("which is no node"));
  EXPECT_THAT(Instantiate("", R"(attr { name: "T" type: "colour" })").ToString(),
              HasSubstr("unknown kind"));
  EXPECT_THAT(Instantiate("", R"(input_arg { name: "z" type_attr: "T" })").ToString(),
              HasSubstr("refers to 'T'"));
  EXPECT_THAT(Instantiate("", R"(input_arg { name: "z" })").ToString(),
              HasSubstr("no valid dtype"));
  EXPECT_THAT(
      Instantiate(R"(node_def { name: "x" op: "NoOp" } ret { key: "y" value: "x" })").ToString(),
      HasSubstr("name of something else"));
}

TEST(FunctionLibrary, ImportsAndExportsWithTheGraph) {
  tensorflow::GraphDef def;
  *def.mutable_library() = Parse(kLibrary);
  ASSERT_TRUE(google::protobuf::TextFormat::MergeFromString(
      R"(node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
                attr { key: "shape" value { shape { dim { size: 3 } } } } }
         node { name: "y" op: "twice" input: "x" attr { key: "T" value { type: DT_FLOAT } } })",
      &def));
  NodeGraph graph;
  ASSERT_TRUE(ImportGraphDef(def, "", &graph).ok());
  // What is known of the argument is known of the result.
  EXPECT_EQ(graph.Find("y")->output(0).shape, PartialShape({3}));
  tensorflow::GraphDef again;
  ExportGraphDef(graph, &again);
  NodeGraph copy;
  EXPECT_TRUE(ImportGraphDef(again, "", &copy).ok());

  // A failed import leaves no functions behind.
  NodeGraph empty;
  def.add_node()->set_op("NoSuchOp");
  EXPECT_FALSE(ImportGraphDef(def, "", &empty).ok());
  EXPECT_EQ(empty.functions()->FindSpec("twice"), nullptr);
}

// wide<N>(): Unpack nodes of N outputs each, and their outputs.
constexpr const char* kWide = R"(
  function {
    signature {
      name: "wide"
      input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "y" type: DT_FLOAT number_attr: "N" }
      attr { name: "N" type: "int" }
    }
    node_def {
      name: "a" op: "Unpack" input: "x"
      attr { key: "T" value { type: DT_FLOAT } } attr { key: "num" value { placeholder: "N" } }
    }
    node_def {
      name: "b" op: "Unpack" input: "x"
      attr { key: "T" value { type: DT_FLOAT } } attr { key: "num" value { placeholder: "N" } }
    }
    ret { key: "y" value: "a:output" }
  })";

FunctionRef Wide(int64_t n) { return {"wide", {{"N", AttrValue(n)}}}; }

// A number makes it large.
TEST(FunctionLibrary, CountsBodiesBeforeTheyAreThere) {
  const auto allocator = MakePoolAllocator({.limit_bytes = 16 << 20});
  {
    FunctionLibrary library(allocator.get());
    ASSERT_TRUE(library.Add(Parse(kWide)).ok());
    {
      const auto body = library.Instantiate(Wide(3));
      ASSERT_TRUE(body.ok()) << body.status();
      EXPECT_EQ((*body)->results.size(), 3u);
      EXPECT_GT(allocator->stats().bytes_in_use, 0);
    }
    EXPECT_EQ(allocator->stats().bytes_in_use, 0);
    EXPECT_EQ(library.Instantiate(Wide(1 << 16)).status().code(),
              absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(library.ResultsOf(Wide(1 << 16), {}).empty());
    // What is known of results is kept, and counts, while there is room.
    int64_t known = 0;
    for (int64_t n = 1; n < 1000; ++n)
      known += static_cast<int64_t>(library.ResultsOf(Wide(n), {}).size());
    EXPECT_GT(known, 10'000);
    EXPECT_LT(known, 100'000);
    EXPECT_GT(allocator->stats().bytes_in_use, known * static_cast<int64_t>(sizeof(OutputInfo)));
    library.Remove({});
    EXPECT_EQ(allocator->stats().bytes_in_use, 0);
    EXPECT_EQ(library.ResultsOf(Wide(1000), {}).size(), 1000u);
  }
  EXPECT_EQ(allocator->stats().bytes_in_use, 0);
}

// Whoever waits for a body may have gone. That says nothing of the function.
TEST(FunctionLibrary, StopsMakingBodiesThatNobodyWants) {
  class Cancelled final : public CancelFlag {
    bool IsCancelled() const override { return true; }
  };
  FunctionLibrary library;
  ASSERT_TRUE(library.Add(Parse(kWide)).ok());
  const Cancelled cancelled;
  {
    const WorkScope scope(nullptr, &cancelled);
    EXPECT_EQ(library.Instantiate(Wide(3)).status().code(), absl::StatusCode::kCancelled);
    EXPECT_TRUE(library.ResultsOf(Wide(3), {}).empty());
  }
  EXPECT_EQ(library.ResultsOf(Wide(3), {}).size(), 3u);
}

// Once for each node, not for each of its outputs.
TEST(FunctionLibrary, FindsManyResults) {
  FunctionLibrary library;
  ASSERT_TRUE(library.Add(Parse(kWide)).ok());
  constexpr int64_t kResults = 1 << 18;
  const auto body = library.Instantiate(Wide(kResults));
  ASSERT_TRUE(body.ok()) << body.status();
  ASSERT_EQ((*body)->results.size(), kResults);
  EXPECT_EQ((*body)->results.back().index, kResults - 1);
}

// Attributes stand in a body as often as it names them.
TEST(FunctionLibrary, CountsAttributesThatAreGivenOnce) {
  const auto allocator = MakePoolAllocator({.limit_bytes = 16 << 20});
  FunctionLibrary library(allocator.get());
  std::string body;
  for (int i = 0; i < 100; ++i) {
    body += "node_def { name: 'n" + std::to_string(i) +
            "' op: 'NoOp' attr { key: '_x' value { placeholder: 'text' } } }";
  }
  ASSERT_TRUE(library
                  .Add(Parse("function { signature { name: 'f' attr { name: 'text' type: 'string' "
                             "} }" +
                             body + "}"))
                  .ok());
  const auto make = [&](size_t size) {
    return library.Instantiate({"f", {{"text", AttrValue(std::string(size, 'x'))}}}).status();
  };
  EXPECT_EQ(make(1 << 10), absl::OkStatus());
  EXPECT_EQ(make(1 << 20).code(), absl::StatusCode::kResourceExhausted);
}

// Each body has its own of what stands in the function.
TEST(FunctionLibrary, CountsWhatNodesSayOfThemselves) {
  const auto allocator = MakePoolAllocator({.limit_bytes = 16 << 20});
  FunctionLibrary library(allocator.get());
  tensorflow::FunctionDefLibrary functions = Parse("function { signature { name: 'f' } }");
  tensorflow::NodeDef* const node = functions.mutable_function(0)->add_node_def();
  node->set_name("n");
  node->set_op("NoOp");
  (*node->mutable_attr())["_x"].set_s(std::string(3 << 20, 'x'));
  ASSERT_TRUE(library.Add(functions).ok());
  std::vector<std::unique_ptr<FunctionBody>> bodies;
  Status status;
  while (status.ok() && bodies.size() < 100) {
    auto body = library.Instantiate({"f", {}});
    status = body.status();
    if (status.ok()) bodies.push_back(*std::move(body));
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_GE(bodies.size(), 3u);
  EXPECT_LE(bodies.size(), 5u);
}

}  // namespace
}  // namespace carillon
