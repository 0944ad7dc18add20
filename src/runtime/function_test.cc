// Functions in sessions: calls, conditionals and loops, and what they must not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "carillon/error.h"
#include "carillon/gradients.h"
#include "carillon/session.h"
#include "graph/function_library.h"
#include "runtime/cancellation.h"
#include "runtime/function_instantiator.h"
#include "runtime/resource_store.h"

namespace carillon {
namespace {

using testing::HasSubstr;

const std::string kFloat1 = R"(attr { key: "T" value { type: DT_FLOAT } })";

std::string FloatNode(const std::string& name, const std::string& op,
                      const std::vector<std::string>& inputs, const std::string& tag = "node") {
  std::string text = StrCat(tag, " { name: '", name, "' op: '", op, "'");
  for (const std::string& input : inputs) StrAppend(&text, " input: '", input, "'");
  return StrCat(text, kFloat1, "}\n");
}

// f(x) -> y over floats, with `body` of node_defs.
std::string Function(const std::string& name, const std::string& body, const std::string& ret) {
  return StrCat(
      "function { signature { name: '", name,
      "' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }", body,
      "ret { key: 'y' value: '", ret, "' } }\n");
}

std::string Call(const std::string& name, const std::string& function, const std::string& input,
                 const std::string& tag = "node") {
  return StrCat(tag, " { name: '", name, "' op: 'PartitionedCall' input: '", input,
                "' attr { key: 'Tin' value { list { type: DT_FLOAT } } }"
                " attr { key: 'Tout' value { list { type: DT_FLOAT } } }"
                " attr { key: 'f' value { func { name: '",
                function, "' } } } }\n");
}

const std::string kInput =
    "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }\n";

std::string RunError(const std::string& text, float x = 1) {
  Graph graph;
  try {
    graph.ImportText(text);
    Session(graph).Run(graph.FindOutput("y"), {{graph.FindOutput("x"), Tensor::Scalar(x)}});
  } catch (const Error& error) {
    return StrCat(CodeName(error.code()), ": ", error.what());
  }
  return "OK";
}

TEST(Functions, CallsWithoutFunctionNameTheNode) {
  const std::string error = RunError(StrCat(kInput, Call("y", "missing", "x")));
  EXPECT_THAT(error, HasSubstr("NOT_FOUND"));
  EXPECT_THAT(error, HasSubstr("'missing'"));
  EXPECT_THAT(error, HasSubstr("[[{{node y}}]]"));
}

TEST(Functions, ThatCallThemselvesAreRefused) {
  const std::string loop = Function("f", Call("again", "g", "x", "node_def"), "again:output:0") +
                           Function("g", Call("back", "f", "x", "node_def"), "back:output:0");
  const std::string error = RunError(StrCat("library {", loop, "}", kInput, Call("y", "f", "x")));
  EXPECT_THAT(error, HasSubstr("UNIMPLEMENTED"));
  EXPECT_THAT(error, HasSubstr("calls itself"));
}

// f0 calls f1 twice, f1 calls f2 twice, …: 2^60 nodes.
TEST(Functions, ThatStandForTooMuchAreRefused) {
  std::string library;
  for (int i = 0; i < 60; ++i) {
    const std::string next = StrCat("f", i + 1);
    library += Function(
        StrCat("f", i),
        Call("a", next, "x", "node_def") + Call("b", next, "a:output:0", "node_def"), "b:output:0");
  }
  library += Function("f60", FloatNode("n", "Neg", {"x"}, "node_def"), "n:y:0");
  const std::string error =
      RunError(StrCat("library {", library, "}", kInput, Call("y", "f0", "x")));
  EXPECT_THAT(error, HasSubstr("RESOURCE_EXHAUSTED"));
  EXPECT_THAT(error, HasSubstr("function 'f"));
}

TEST(Functions, NestedTooDeepAreRefused) {
  std::string library;
  for (int i = 0; i < 5000; ++i)
    library +=
        Function(StrCat("f", i), Call("a", StrCat("f", i + 1), "x", "node_def"), "a:output:0");
  library += Function("f5000", FloatNode("n", "Neg", {"x"}, "node_def"), "n:y:0");
  EXPECT_THAT(RunError(StrCat("library {", library, "}", kInput, Call("y", "f0", "x"))),
              HasSubstr("calls deep"));
}

TEST(Functions, NameTheNodeThatFails) {
  const std::string check =
      StrCat("node_def { name: 'check' op: 'CheckNumerics' input: 'x' ", kFloat1,
             "attr { key: 'message' value { s: 'not a number' } } }\n");
  const std::string text =
      StrCat("library {", Function("f", check, "check:output:0"), "}", kInput, Call("y", "f", "x"));
  EXPECT_EQ(RunError(text), "OK");
  EXPECT_THAT(RunError(text, std::numeric_limits<float>::infinity()),
              HasSubstr("[[{{node y/check}}]]"));
}

TEST(Functions, TakeWhatTheirSignatureSays) {
  const std::string library =
      StrCat("library {", Function("f", FloatNode("n", "Neg", {"x"}, "node_def"), "n:y:0"), "}");
  const std::string two =
      "node { name: 'y' op: 'PartitionedCall' input: 'x' input: 'x'"
      " attr { key: 'Tin' value { list { type: DT_FLOAT type: DT_FLOAT } } }"
      " attr { key: 'Tout' value { list { type: DT_FLOAT } } }"
      " attr { key: 'f' value { func { name: 'f' } } } }";
  EXPECT_THAT(RunError(StrCat(library, kInput, two)), HasSubstr("takes 1 arguments"));
  const std::string other_type =
      "node { name: 'y' op: 'PartitionedCall' input: 'x'"
      " attr { key: 'Tin' value { list { type: DT_FLOAT } } }"
      " attr { key: 'Tout' value { list { type: DT_INT32 } } }"
      " attr { key: 'f' value { func { name: 'f' } } } }";
  EXPECT_THAT(RunError(StrCat(library, kInput, other_type)), HasSubstr("result 0"));
}

float GradientAt(const std::string& text, float x) {
  Graph graph;
  graph.ImportText(text);
  const Output y = graph.FindOutput("y"), input = graph.FindOutput("x");
  const std::vector<Gradient> gradients = Gradients({y}, {input});
  return Session(graph).Run(gradients[0].Dense(), {{input, Tensor::Scalar(x)}}).scalar<float>();
}

TEST(Functions, HaveGradients) {
  const std::string cube =
      Function("square", FloatNode("n", "Mul", {"x", "x"}, "node_def"), "n:z:0") +
      Function("cube",
               Call("s", "square", "x", "node_def") +
                   FloatNode("n", "Mul", {"s:output:0", "x"}, "node_def"),
               "n:z:0");
  EXPECT_EQ(GradientAt(StrCat("library {", cube, "}", kInput, Call("y", "cube", "x")), 2), 12);
  // By the function's own name.
  EXPECT_EQ(
      GradientAt(StrCat("library {", cube, "}", kInput, "node { name: 'y' op: 'cube' input: 'x' }"),
                 3),
      27);
}

TEST(Functions, ThatHaveStateHaveNoGradient) {
  const std::string noise =
      "node_def { name: 'shape' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } } attr { "
      "key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 0 } } } } } }\n"
      "node_def { name: 'r' op: 'RandomUniform' input: 'shape:output:0' attr { key: 'T' value { "
      "type: DT_INT32 } } attr { key: 'dtype' value { type: DT_FLOAT } } }\n";
  const std::string inner =
      Function("inner", noise + FloatNode("n", "Mul", {"x", "r:output:0"}, "node_def"), "n:z:0");
  const std::string outer = Function("f", Call("c", "inner", "x", "node_def"), "c:output:0");
  try {
    GradientAt(StrCat("library {", inner, outer, "}", kInput, Call("y", "f", "x")), 1);
    FAIL() << "the gradient of something else was computed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnimplemented);
    EXPECT_THAT(error.what(), HasSubstr("'r' (RandomUniform)"));
  }
}

class CallableFunctions : public testing::Test {
 protected:
  std::shared_ptr<CallableFunction> Make(const std::string& library) {
    graph_.ImportText(StrCat("library {", library, "}"));
    LibraryInstantiator instantiator(graph_.nodes().functions(), device_, options_);
    auto made = instantiator.Instantiate({"f", {}});
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }
  Graph graph_;
  MapResourceStore resources_;
  const std::shared_ptr<Device> device_ = MakeCpuDevice("/job:localhost/replica:0/task:0");
  const SpecializeOptions options_{.resources = &resources_};
};

TEST_F(CallableFunctions, RunForEveryShape) {
  const auto f = Make(Function("f", FloatNode("n", "Neg", {"x"}, "node_def"), "n:y:0"));
  CancellationSource cancellation;
  std::vector<Tensor> results;
  for (int n = 0; n < 10; ++n) {
    const Tensor x = Tensor::Full(Shape{n}, 2.0f);
    ASSERT_TRUE(f->Call({&x, 1}, &cancellation, &results).ok());
    ASSERT_EQ(results[0].shape(), (Shape{n}));
    for (const float value : results[0].values<float>()) EXPECT_EQ(value, -2);
  }
  const Tensor wrong = Tensor::Scalar<int32_t>(1);
  EXPECT_THAT(f->Call({&wrong, 1}, &cancellation, &results).ToString(), HasSubstr("argument 0"));
  EXPECT_THAT(f->Call({}, &cancellation, &results).ToString(), HasSubstr("takes 1"));
}

TEST_F(CallableFunctions, EndWithTheirCaller) {
  const auto f = Make(Function("f", FloatNode("n", "Neg", {"x"}, "node_def"), "n:y:0"));
  CancellationSource cancellation;
  cancellation.Cancel(absl::CancelledError("enough"));
  std::vector<Tensor> results;
  const Tensor x = Tensor::Scalar(1.0f);
  EXPECT_EQ(f->Call({&x, 1}, &cancellation, &results).code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace carillon
