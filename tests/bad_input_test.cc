// Every kind of bad input, through the public API alone: a clear error with the canonical code, and
// a session that works on as if nothing had happened, with no more memory than before.
#include <functional>
#include <gtest/gtest.h>
#include <initializer_list>
#include <limits>

#include "carillon/carillon.h"

namespace carillon {
namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

class BadInput : public testing::Test {
 protected:
  // `body` fails with `code`, as often as it is tried, and its message has all of `words`. The
  // session computes as before, and keeps no memory for what failed.
  AssertionResult Fails(Code code, std::initializer_list<const char*> words,
                        const std::function<void()>& body) {
    int64_t bytes = -1;
    for (int attempt = 0; attempt < 4; ++attempt) {
      try {
        body();
        return AssertionFailure() << "nothing was thrown";
      } catch (const Error& error) {
        if (error.code() != code)
          return AssertionFailure() << CodeName(error.code()) << ": " << error.what();
        for (const std::string word : words) {
          if (std::string(error.what()).find(word) == std::string::npos)
            return AssertionFailure() << "does not say \"" << word << "\": " << error.what();
        }
      }
      if (AssertionResult works = SessionWorks(); !works) return works;
      // What a signature keeps (its plan's memory) is there after the first attempt.
      if (attempt > 0 && session_.bytes_in_use() != bytes)
        return AssertionFailure() << bytes << " bytes became " << session_.bytes_in_use();
      bytes = session_.bytes_in_use();
    }
    return AssertionSuccess();
  }

  AssertionResult SessionWorks() {
    const Tensor value = session_.Run(doubled_, {{x_, Tensor::FromVector<float>({1, 2, 3})}});
    const auto values = value.values<float>();
    const bool right = values.size() == 3 && values[0] == 2 && values[1] == 4 && values[2] == 6;
    return right ? AssertionSuccess() : AssertionFailure() << "the session is broken";
  }

  Graph g_;
  const Output x_ = Placeholder(g_, kFloat, {3}, "x");
  const Output doubled_ = Identity(x_ * 2.0f, "doubled");
  // With a limit, so that what is too large is so on any machine.
  Session session_{g_, {.memory_limit_bytes = 1 << 30}};
};

TEST_F(BadInput, UnknownOp) {
  EXPECT_TRUE(
      Fails(Code::kNotFound, {"'Relux'", "'Relu'"}, [&] { OpBuilder("Relux").Arg(x_).Build(); }));
  EXPECT_TRUE(Fails(Code::kNotFound, {"'wrong'", "'Relux'", "'Relu'"},
                    [&] { g_.ImportText(R"(node { name: "wrong" op: "Relux" input: "x" })"); }));
}

TEST_F(BadInput, UnknownAttribute) {
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"transpoze", "MatMul", "transpose_a"},
                    [&] { OpBuilder("MatMul").Arg(x_).Arg(x_).Attr("transpoze", true).Build(); }));
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"'wrong'", "Relu", "slope"}, [&] {
    g_.ImportText(R"(node { name: "wrong" op: "Relu" input: "x"
                            attr { key: "T" value { type: DT_FLOAT } }
                            attr { key: "slope" value { f: 0.1 } } })");
  }));
}

TEST_F(BadInput, Cycle) {
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"cycle", "'a'"}, [&] {
    g_.ImportText(
        R"(node { name: "a" op: "Relu" input: "b" attr { key: "T" value { type: DT_FLOAT } } }
                     node { name: "b" op: "Relu" input: "a" attr { key: "T" value { type: DT_FLOAT } } })");
  }));
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"cycle", "'a'"},
                    [&] { g_.ImportText(R"(node { name: "a" op: "NoOp" input: "^a" })"); }));
}

TEST_F(BadInput, WrongFeedShape) {
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"'x:0'", "[3]", "[2]"}, [&] {
    session_.Run(doubled_, {{x_, Tensor::FromVector<float>({1, 2})}});
  }));
  const Callable callable = session_.MakeCallable({x_}, {doubled_});
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"'x:0'", "[3]", "[]"},
                    [&] { callable({Tensor::Scalar(1.0f)}); }));
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"0 tensors", "1"}, [&] { callable({}); }));
}

TEST_F(BadInput, WrongFeedDtype) {
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"'x:0'", "float", "int32"}, [&] {
    session_.Run(doubled_, {{x_, Tensor::FromVector<int32_t>({1, 2, 3})}});
  }));
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"'x:0'", "float", "nothing"}, [&] {
    session_.Run(doubled_, {{x_, Tensor()}});
  }));
}

TEST_F(BadInput, FetchThatDoesNotExist) {
  EXPECT_TRUE(Fails(Code::kNotFound, {"'doubld'", "'doubled'"},
                    [&] { session_.Run(g_.FindOutput("doubld")); }));
  EXPECT_TRUE(
      Fails(Code::kNotFound, {"doubled", "1"}, [&] { session_.Run(g_.FindOutput("doubled:1")); }));
  EXPECT_TRUE(
      Fails(Code::kNotFound, {"'trian'"}, [&] { session_.Run(g_.FindOperation("trian")); }));
  EXPECT_TRUE(
      Fails(Code::kOutOfRange, {"doubled", "1"}, [&] { session_.Run(doubled_.op().output(1)); }));
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"nothing"}, [&] { session_.Run(Output()); }));
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"nothing"}, [&] { session_.Run(Operation()); }));
}

TEST_F(BadInput, PlaceholderThatIsNotFed) {
  EXPECT_TRUE(
      Fails(Code::kInvalidArgument, {"'x'", "'doubled:0'"}, [&] { session_.Run(doubled_); }));
  const Operation target = Identity(doubled_, "target");
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"'x'", "'target'"}, [&] { session_.Run(target); }));
}

TEST_F(BadInput, TensorOfAnotherGraph) {
  Graph other;
  const Output theirs = Placeholder(other, kFloat, {3}, "theirs");
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"'x:0'", "'theirs:0'"}, [&] { Add(x_, theirs); }));
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"'theirs", "'x'"}, [&] {
    session_.Run(theirs, {{x_, Tensor::FromVector<float>({1, 2, 3})}});
  }));
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"'theirs", "'x'"}, [&] {
    session_.Run(doubled_, {{theirs, Tensor::FromVector<float>({1, 2, 3})}});
  }));
  EXPECT_TRUE(
      Fails(Code::kInvalidArgument, {"'theirs", "'x'"}, [&] { session_.Run(theirs.op()); }));
  EXPECT_EQ(other.operations().size(), 1u) << "nothing was added";

  // A graph that has nothing to show, since an import into it failed.
  Graph empty;
  EXPECT_THROW(empty.ImportText(R"(node { name: "a" op: "NoOp" } node { name: "b" op: "Wrong" })"),
               Error);
  Session session(empty);
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"'theirs:0'", "empty"}, [&] { session.Run(theirs); }));
}

TEST_F(BadInput, IndexOutOfRange) {
  const Output indices = Placeholder(g_, kInt32, {-1}, "indices");
  const Output picked = Identity(Gather(x_, indices), "picked");
  const Tensor x = Tensor::FromVector<float>({1, 2, 3});
  for (const int32_t index : {3, -1, std::numeric_limits<int32_t>::max()}) {
    EXPECT_TRUE(Fails(Code::kInvalidArgument, {"Gather", std::to_string(index).c_str()}, [&] {
      session_.Run(picked, {{x_, x}, {indices, Tensor::FromVector<int32_t>({0, index})}});
    }));
  }
  // Known before the step: refused there and then, or in the step.
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"7"}, [&] {
    session_.Run(Gather(x_, {7}), {{x_, x}});
  }));
  const Variable rows(g_, "rows", Tensor::Full<float>({2, 2}, 1));
  session_.Run(rows.initializer());
  const Operation scatter = OpBuilder("ResourceScatterUpdate")
                                .Name("scatter")
                                .Arg(rows.handle())
                                .Arg(indices)
                                .Arg(Tensor::Full<float>({1, 2}, 5))
                                .Build();
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"scatter", "2"}, [&] {
    session_.Run(scatter, {{indices, Tensor::FromVector<int32_t>({2})}});
  }));
}

TEST_F(BadInput, IntegerDivisionByZero) {
  const Output n = Placeholder(g_, kInt32, {-1}, "n");
  const Output quotients[] = {Div(7, n), FloorDiv(7, n), FloorMod(7, n), TruncateDiv(7, n),
                              TruncateMod(7, n)};
  for (const Output& quotient : quotients) {
    EXPECT_TRUE(Fails(Code::kInvalidArgument, {"zero", quotient.op().name().c_str()}, [&] {
      session_.Run(quotient, {{n, Tensor::FromVector<int32_t>({1, 0})}});
    }));
    EXPECT_EQ(session_.Run(quotient, {{n, Tensor::FromVector<int32_t>({2})}}).num_elements(), 1);
  }
}

TEST_F(BadInput, NegativeSizes) {
  const Output size = Placeholder(g_, kInt32, {-1}, "size");
  const Output filled = Fill(size, 1.0f), reshaped = Reshape(x_, size);
  const Output sliced = Slice(x_, {0}, size), tiled = Tile(x_, size);
  const Output random = RandomUniform(g_, size);
  const Tensor x = Tensor::FromVector<float>({1, 2, 3});
  for (const Output& bad : {filled, reshaped, sliced, tiled, random}) {
    EXPECT_TRUE(Fails(Code::kInvalidArgument, {"-5", bad.op().name().c_str()}, [&] {
      session_.Run(bad, {{x_, x}, {size, Tensor::FromVector<int32_t>({-5})}});
    }));
  }
  // The same when it is known while the graph is built.
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"-5"}, [&] { session_.Run(Fill(g_, {-5}, 1.0f)); }));
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"-5"}, [&] {
    session_.Run(Reshape(x_, {-5}), {{x_, x}});
  }));
}

TEST_F(BadInput, OverflowingSizes) {
  const Output size = Placeholder(g_, kInt64, {-1}, "size");
  const Output filled = Fill(size, 1.0f), random = RandomUniform(g_, size);
  const Output spread = BroadcastTo(Const(g_, 1.0f), size);
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max() / 2;
  for (const Output& bad : {filled, random, spread}) {
    EXPECT_TRUE(Fails(Code::kInvalidArgument, {bad.op().name().c_str()}, [&] {
      session_.Run(bad, {{size, Tensor::FromVector<int64_t>({kHuge, kHuge})}});
    }));
    // A number of elements that can be counted, but not had.
    EXPECT_TRUE(Fails(Code::kResourceExhausted, {bad.op().name().c_str()}, [&] {
      session_.Run(bad, {{size, Tensor::FromVector<int64_t>({int64_t{1} << 40})}});
    }));
  }
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"4611686018427387903", "63 bits"}, [&] {
    Tensor(kFloat, {kHuge, kHuge});
  }));
  EXPECT_TRUE(Fails(Code::kResourceExhausted, {"float", "[1125899906842624]"},
                    [&] { Tensor(kFloat, {int64_t{1} << 50}); }));
}

TEST_F(BadInput, TruncatedGraphFile) {
  const std::string binary = g_.ExportBinary(), text = g_.ExportText();
  Graph other;
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"GraphDef", "bytes"}, [&] {
    other.ImportBinary(std::string_view(binary).substr(0, binary.size() - 3));
  }));
  EXPECT_TRUE(Fails(Code::kInvalidArgument, {"line"},
                    [&] { other.ImportText(std::string_view(text).substr(0, text.size() / 2)); }));
  // Wherever it is cut.
  for (size_t n = 0; n < binary.size(); ++n) {
    Graph cut;
    try {
      cut.ImportBinary(std::string_view(binary).substr(0, n));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidArgument) << error.what();
      EXPECT_TRUE(cut.operations().empty());
    }
  }
  EXPECT_TRUE(other.operations().empty());
  other.ImportBinary(binary);
  EXPECT_EQ(other.operations().size(), g_.operations().size());
}

TEST_F(BadInput, UninitialisedVariable) {
  const Variable weights(g_, "weights", Tensor::Full<float>({3}, 2));
  const Output sum = Add(weights.read(), x_);
  const Tensor x = Tensor::FromVector<float>({1, 2, 3});
  EXPECT_TRUE(Fails(Code::kFailedPrecondition, {"weights", "initializer"}, [&] {
    session_.Run(sum, {{x_, x}});
  }));
  const Output reference =
      OpBuilder(g_, "VariableV2").Name("old").Attr("dtype", kFloat).Attr("shape", PartialShape{3});
  const Output old_sum = Add(reference, x_);
  EXPECT_TRUE(Fails(Code::kFailedPrecondition, {"old"}, [&] { session_.Run(old_sum, {{x_, x}}); }));
  session_.Run(weights.initializer());
  EXPECT_EQ(session_.Run(sum, {{x_, x}}).values<float>()[0], 3);
}

}  // namespace
}  // namespace carillon
