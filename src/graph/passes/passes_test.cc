#include <algorithm>
#include <gtest/gtest.h>

#include "carillon/graph.h"
#include "carillon/op_builder.h"
#include "graph/graphviz.h"
#include "graph/passes/pass.h"

namespace carillon {
namespace {

Output Placeholder(Graph& g, const PartialShape& shape, const char* name) {
  return OpBuilder(g, "Placeholder").Name(name).Attr("dtype", kFloat).Attr("shape", shape);
}

Endpoint At(const Output& output) { return {output.node(), output.index()}; }

std::vector<std::string> Ops(const NodeGraph& graph) {
  std::vector<std::string> ops;
  for (const auto& node : graph.nodes()) {
    if (node != nullptr) ops.push_back(node->op());
  }
  std::ranges::sort(ops);
  return ops;
}

int Count(const NodeGraph& graph, const std::string& op) {
  const auto ops = Ops(graph);
  return static_cast<int>(std::ranges::count(ops, op));
}

TEST(Prune, KeepsWhatTheSignatureNeeds) {
  Graph g;
  const Output x = Placeholder(g, {-1}, "x"), other = Placeholder(g, {-1}, "other");
  const Output y = OpBuilder("Neg").Arg(x);
  OpBuilder("Exp").Arg(other).Build();  // nobody asks for it
  const auto pruned =
      PruneToSignature(g.nodes(), {.feeds = {At(x)}, .feed_shapes = {{3}}, .fetches = {At(y)}});
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  EXPECT_EQ(Ops(**pruned), (std::vector<std::string>{"Neg", "_Arg", "_Retval"}));
}

TEST(Prune, AFeedCutsWhatLiesBehindIt) {
  Graph g;
  const Output x = Placeholder(g, {-1}, "x");
  const Output y = OpBuilder("Neg").Arg(x);
  const Output z = OpBuilder("Exp").Arg(y);
  const auto pruned = PruneToSignature(
      g.nodes(), {.feeds = {At(y)}, .feed_shapes = {{3}}, .fetches = {At(z), At(y)}});
  ASSERT_TRUE(pruned.ok()) << pruned.status();
  EXPECT_EQ(Ops(**pruned), (std::vector<std::string>{"Exp", "_Arg", "_Retval", "_Retval"}));
}

TEST(Prune, TargetsKeepWhatTheyWaitFor) {
  Graph g;
  const Operation before = OpBuilder(g, "NoOp").Name("before").Build();
  const Operation after = OpBuilder(g, "NoOp").Name("after").After(before).Build();
  const auto pruned = PruneToSignature(g.nodes(), {.targets = {after.node()}});
  ASSERT_TRUE(pruned.ok());
  EXPECT_EQ(Ops(**pruned), (std::vector<std::string>{"NoOp", "NoOp", "_Targets"}));
}

// Doubles every element of its only input: enough to see that folding calls it.
StatusOr<std::vector<Tensor>> Twice(const Node&, const std::vector<Tensor>& inputs) {
  Tensor result = inputs[0].Clone();
  for (float& value : result.mutable_values<float>()) value *= 2;
  return std::vector<Tensor>{result};
}

TEST(FoldConstants, ReplacesWhatHasOnlyConstantInputs) {
  Graph g;
  const Output c = OpBuilder(g, "Const").Attr("value", Tensor::Scalar(3.0f)).Attr("dtype", kFloat);
  const Output y = OpBuilder("Neg").Arg(c);
  auto work = *PruneToSignature(g.nodes(), {.fetches = {At(y)}});
  ASSERT_TRUE(InferAllShapes(work.get()).ok());
  ASSERT_TRUE(FoldConstants(work.get(), Twice).ok());
  EXPECT_EQ(Ops(*work), (std::vector<std::string>{"Const", "_Retval"}));
  for (const auto& node : work->nodes()) {
    if (node != nullptr && node->op() == "Const") {
      EXPECT_EQ(node->attr<Tensor>("value").scalar<float>(), 6);
    }
  }
}

TEST(FoldConstants, KeepsWhatItsConstantsWaitFor) {
  Graph g;
  const Operation before = OpBuilder(g, "NoOp").Build();
  const Output c =
      OpBuilder(g, "Const").Attr("value", Tensor::Scalar(3.0f)).Attr("dtype", kFloat).After(before);
  const Output y = OpBuilder("Neg").Arg(OpBuilder("Neg").Arg(c).Build());
  auto work = *PruneToSignature(g.nodes(), {.fetches = {At(y)}});
  ASSERT_TRUE(InferAllShapes(work.get()).ok());
  ASSERT_TRUE(FoldConstants(work.get(), Twice).ok());
  EXPECT_EQ(Ops(*work), (std::vector<std::string>{"Const", "NoOp", "_Retval"}));
}

TEST(FoldConstants, KeepsTheReadingOfAReference) {
  Graph g;
  const Output v = OpBuilder(g, "VariableV2").Attr("shape", Shape{2, 3}).Attr("dtype", kFloat);
  const Output rank = OpBuilder("Rank").Arg(OpBuilder("Identity").Arg(v).Build());
  auto work = *PruneToSignature(g.nodes(), {.fetches = {At(rank)}});
  ASSERT_TRUE(ReadReferences(work.get()).ok());
  ASSERT_TRUE(InferAllShapes(work.get()).ok());
  ASSERT_TRUE(FoldConstants(work.get(), Twice).ok());
  EXPECT_EQ(Ops(*work),
            (std::vector<std::string>{"Const", "Identity", "VariableV2", "_ReadRef", "_Retval"}));
}

TEST(FoldConstants, KeepsEffectsAboveAShape) {
  Graph g;
  const Output v = OpBuilder(g, "VariableV2").Attr("shape", Shape{2}).Attr("dtype", kFloat);
  const Output x = Placeholder(g, {2}, "x");
  const Output assigned = OpBuilder("AssignAdd").Arg(v).Arg(x);
  const Output shape = OpBuilder("Shape")
                           .Arg(OpBuilder("Neg").Arg(x).After(assigned.op()).Build())
                           .Attr("out_type", kInt32);
  const Output filled = OpBuilder("Fill").Arg(shape).Arg(
      OpBuilder(g, "Const").Attr("value", Tensor::Scalar(3.0f)).Attr("dtype", kFloat).Build());
  const Output size = OpBuilder("Size").Arg(filled).Attr("out_type", kInt32);
  auto work =
      *PruneToSignature(g.nodes(), {.feeds = {At(x)}, .feed_shapes = {{2}}, .fetches = {At(size)}});
  ASSERT_TRUE(InferAllShapes(work.get()).ok());
  ASSERT_TRUE(FoldConstants(work.get(), Twice, /*max_bytes=*/0).ok());
  EXPECT_EQ(std::ranges::count(Ops(*work), "AssignAdd"), 1);
}

TEST(FoldConstants, LeavesWhatWouldBeLarge) {
  Graph g;
  const Output c =
      OpBuilder(g, "Const").Attr("value", Tensor::Full<float>({1000}, 1)).Attr("dtype", kFloat);
  const Output y = OpBuilder("Neg").Arg(c);
  auto work = *PruneToSignature(g.nodes(), {.fetches = {At(y)}});
  ASSERT_TRUE(InferAllShapes(work.get()).ok());
  ASSERT_TRUE(FoldConstants(work.get(), Twice, /*max_bytes=*/3999).ok());
  EXPECT_EQ(Count(*work, "Neg"), 1);
}

TEST(Simplify, RemovesIdentitiesAndKeepsTheOrderTheyStoodFor) {
  Graph g;
  const Output x = Placeholder(g, {-1}, "x");
  const Output same = OpBuilder("Identity").Arg(x);
  const Output y = OpBuilder("Neg").Arg(OpBuilder("StopGradient").Arg(same).Build());
  const Operation after = OpBuilder(g, "NoOp").After(same.op()).Build();
  auto work = *PruneToSignature(
      g.nodes(),
      {.feeds = {At(x)}, .feed_shapes = {{3}}, .fetches = {At(y)}, .targets = {after.node()}});
  ASSERT_TRUE(InferAllShapes(work.get()).ok());
  ASSERT_TRUE(Simplify(work.get()).ok());
  EXPECT_EQ(Ops(*work), (std::vector<std::string>{"Neg", "NoOp", "_Arg", "_Retval", "_Targets"}));
  EXPECT_EQ(work->Find("NoOp")->control_inputs()[0]->op(), "_Arg");
}

TEST(DropUnusedValues, KeepsTheOrderButNotTheWork) {
  Graph g;
  const Output x = Placeholder(g, {2}, "x");
  const Operation effect = OpBuilder(g, "NoOp").Name("effect").Build();
  const Output half = OpBuilder("Neg").Arg(x);
  const Output unread = OpBuilder("Exp").Name("unread").Arg(half).After(effect);
  const Operation group = OpBuilder(g, "NoOp").Name("group").After(unread.op()).Build();
  const Output y = OpBuilder("Tanh").Name("y").Arg(x).After(group);
  auto work =
      *PruneToSignature(g.nodes(), {.feeds = {At(x)}, .feed_shapes = {{2}}, .fetches = {At(y)}});
  ASSERT_TRUE(DropUnusedValues(work.get()).ok());
  EXPECT_EQ(Count(*work, "Exp"), 0);
  EXPECT_EQ(Count(*work, "Neg"), 0) << "what only an unread value needs";
  // From effect to y there is still a way.
  const Node* at = work->Find("y");
  while (at != nullptr && at->name() != "effect") {
    const auto& before = at->control_inputs();
    const auto next = std::ranges::find_if(before, [](const Node* n) { return n->op() == "NoOp"; });
    at = next == before.end() ? nullptr : *next;
  }
  EXPECT_NE(at, nullptr);
}

TEST(DropUnusedValues, KeepsTargets) {
  Graph g;
  const Output x = Placeholder(g, {2}, "x");
  const Output y = OpBuilder("Exp").Arg(x);
  auto work =
      *PruneToSignature(g.nodes(), {.feeds = {At(x)}, .feed_shapes = {{2}}, .targets = {y.node()}});
  ASSERT_TRUE(DropUnusedValues(work.get()).ok());
  EXPECT_EQ(Count(*work, "Exp"), 1);
}

TEST(CommonSubexpressions, MergesEqualNodesOnly) {
  Graph g;
  const Output x = Placeholder(g, {-1}, "x"), y = Placeholder(g, {-1}, "y");
  const Output a = OpBuilder("Mul").Arg(x).Arg(y),
               b = OpBuilder("Mul").Arg(y).Arg(x);  // commutative
  const Output c = OpBuilder("Sub").Arg(x).Arg(y), d = OpBuilder("Sub").Arg(y).Arg(x);  // not
  const Output e = OpBuilder("Sub").Arg(x).Arg(y);
  const auto work = *PruneToSignature(g.nodes(), {.feeds = {At(x), At(y)},
                                                  .feed_shapes = {{3}, {3}},
                                                  .fetches = {At(a), At(b), At(c), At(d), At(e)}});
  ASSERT_TRUE(MergeCommonSubexpressions(work.get()).ok());
  EXPECT_EQ(Count(*work, "Mul"), 1);
  EXPECT_EQ(Count(*work, "Sub"), 2);
}

TEST(CommonSubexpressions, NeverMergesRandomNumbers) {
  Graph g;
  const auto random = [&]() -> Output {
    return OpBuilder(g, "RandomUniform").Arg({2}).Attr("dtype", kFloat);
  };
  const Output a = random(), b = random();
  const auto work = *PruneToSignature(g.nodes(), {.fetches = {At(a), At(b)}});
  ASSERT_TRUE(MergeCommonSubexpressions(work.get()).ok());
  EXPECT_EQ(Count(*work, "RandomUniform"), 2);
}

TEST(ReadReferences, ReadsForEachConsumerAfterItsControlInputs) {
  Graph g;
  const Output v = OpBuilder(g, "VariableV2").Attr("shape", PartialShape{2}).Attr("dtype", kFloat);
  const Output value =
      OpBuilder(g, "Const").Attr("value", Tensor::Full<float>({2}, 1)).Attr("dtype", kFloat);
  const Operation assign = OpBuilder("Assign").Arg(v).Arg(value).Build();
  const Output after = OpBuilder("Neg").Arg(v).After(assign);
  const auto work = *PruneToSignature(g.nodes(), {.fetches = {At(after), At(v)}});
  ASSERT_TRUE(ReadReferences(work.get()).ok());
  EXPECT_EQ(Count(*work, "_ReadRef"), 2);
  const Node* read = work->Find("Neg")->input(0).node;
  ASSERT_EQ(read->op(), "_ReadRef");
  ASSERT_EQ(read->control_inputs().size(), 1u);
  EXPECT_EQ(read->control_inputs()[0]->op(), "Assign");
}

}  // namespace
}  // namespace carillon
