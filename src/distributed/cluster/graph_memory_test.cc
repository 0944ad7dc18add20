#include "distributed/cluster/graph_memory.h"

#include <atomic>
#include <future>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "distributed/cluster/master_session.h"
#include "graph/graph_def.h"
#include "runtime/device.h"
#include "runtime/program_memory.h"

namespace carillon {
namespace {

tensorflow::NodeDef* AddNode(tensorflow::GraphDef* graph, const std::string& name,
                             const std::string& op, const std::vector<std::string>& inputs = {}) {
  tensorflow::NodeDef* const node = graph->add_node();
  node->set_name(name);
  node->set_op(op);
  for (const std::string& input : inputs) node->add_input(input);
  return node;
}

// What is taken for a graph beforehand is not much less than what is counted of it later.
void ExpectCounts(const tensorflow::GraphDef& graph, int64_t least) {
  NodeGraph nodes;
  const Status status = ImportGraphDef(graph, "", &nodes);
  ASSERT_TRUE(status.ok()) << status;
  const int64_t estimate = GraphMemory::Estimate(graph, nullptr);
  EXPECT_GE(EstimateGraph(nodes), least);
  EXPECT_GE(2 * estimate, EstimateGraph(nodes));
  EXPECT_GE(estimate, least / 2);
}

constexpr int kMany = 100'000;

TEST(GraphMemory, CountsElementsOfLists) {
  tensorflow::GraphDef graph;
  auto* const shapes = (*AddNode(&graph, "n", "NoOp")->mutable_attr())["_x"].mutable_list();
  for (int i = 0; i < kMany; ++i) shapes->add_shape();
  ExpectCounts(graph, kMany * static_cast<int64_t>(sizeof(PartialShape)));
}

TEST(GraphMemory, CountsAttributes) {
  tensorflow::GraphDef graph;
  tensorflow::NodeDef* const node = AddNode(&graph, "n", "NoOp");
  for (int i = 0; i < kMany; ++i) (*node->mutable_attr())[StrCat("_", i)].set_b(true);
  ExpectCounts(graph, kMany * static_cast<int64_t>(sizeof(AttrValue)));
}

TEST(GraphMemory, CountsInputs) {
  tensorflow::GraphDef graph;
  (*AddNode(&graph, "x", "Placeholder")->mutable_attr())["dtype"].set_type(tensorflow::DT_FLOAT);
  tensorflow::NodeDef* const sum =
      AddNode(&graph, "s", "AddN", std::vector<std::string>(kMany, "x"));
  (*sum->mutable_attr())["T"].set_type(tensorflow::DT_FLOAT);
  (*sum->mutable_attr())["N"].set_i(kMany);
  ExpectCounts(graph, kMany * static_cast<int64_t>(sizeof(Endpoint)));
  NodeGraph nodes;
  ASSERT_TRUE(ImportGraphDef(graph, "", &nodes).ok());
  EXPECT_GE(EstimateProgram(nodes),
            kMany * static_cast<int64_t>(sizeof(Endpoint) + sizeof(int) + sizeof(void*)));
}

TEST(GraphMemory, CountsControlInputs) {
  constexpr int kNodes = 1000, kWaits = 10;
  tensorflow::GraphDef graph;
  for (int i = 0; i < kNodes; ++i) AddNode(&graph, StrCat("n", i), "NoOp");
  for (int i = 0; i < kWaits; ++i) {
    tensorflow::NodeDef* const waits = AddNode(&graph, StrCat("w", i), "NoOp");
    for (int k = 0; k < kNodes; ++k) waits->add_input(StrCat("^n", k));
  }
  const int64_t with = GraphMemory::Estimate(graph, nullptr);
  NodeGraph nodes;
  ASSERT_TRUE(ImportGraphDef(graph, "", &nodes).ok());
  const int64_t of_graph = EstimateGraph(nodes), of_program = EstimateProgram(nodes);
  for (int i = 0; i < kWaits; ++i) graph.mutable_node(kNodes + i)->clear_input();
  NodeGraph without;
  ASSERT_TRUE(ImportGraphDef(graph, "", &without).ok());
  constexpr int64_t kPointers = kNodes * kWaits * static_cast<int64_t>(sizeof(Node*));
  EXPECT_GE(with - GraphMemory::Estimate(graph, nullptr), kPointers);
  EXPECT_GE(of_graph - EstimateGraph(without), kPointers);
  EXPECT_GE(of_program - EstimateProgram(without), 2 * kPointers);
}

// The library keeps them with their constants.
TEST(GraphMemory, CountsFunctionsAsTheyAreKept) {
  constexpr int64_t kBytes = 1 << 20;
  tensorflow::GraphDef graph;
  tensorflow::FunctionDef* const function = graph.mutable_library()->add_function();
  function->mutable_signature()->set_name("f");
  tensorflow::NodeDef* const node = function->add_node_def();
  node->set_name("c");
  node->set_op("Const");
  auto* const value = (*node->mutable_attr())["value"].mutable_tensor();
  value->set_tensor_content(std::string(kBytes, 'x'));
  EXPECT_GE(GraphMemory::Estimate(graph, nullptr), kBytes);
  value->clear_tensor_content();
  for (int i = 0; i < kMany; ++i) value->mutable_tensor_shape()->add_dim();
  EXPECT_GE(GraphMemory::Estimate(graph, nullptr),
            static_cast<int64_t>(graph.library().SpaceUsedLong()));
}

// A call may leave out how many results it has.
TEST(GraphMemory, CountsOutputsThatADefaultSays) {
  tensorflow::GraphDef graph;
  tensorflow::OpDef* const signature = graph.mutable_library()->add_function()->mutable_signature();
  signature->set_name("f");
  signature->add_output_arg()->set_name("y");
  signature->mutable_output_arg(0)->set_type(tensorflow::DT_FLOAT);
  signature->mutable_output_arg(0)->set_number_attr("N");
  signature->add_attr()->set_name("N");
  signature->mutable_attr(0)->set_type("int");
  signature->mutable_attr(0)->mutable_default_value()->set_i(kMany);
  AddNode(&graph, "call", "f");
  ExpectCounts(graph, (kMany - 1) * static_cast<int64_t>(sizeof(OutputInfo)));
}

// While many ask for more than there is, whoever asks for little gets it.
TEST(GraphMemory, WhatIsRefusedTakesNothingForAWhile) {
  constexpr int64_t kLimit = 64 << 20;
  const auto memory = std::make_shared<GraphMemory>(kLimit);
  std::atomic<bool> is_over{false};
  std::vector<std::thread> greedy;
  for (int i = 0; i < 4; ++i) {
    greedy.emplace_back([&] {
      GraphShare share(memory);
      while (!is_over) EXPECT_FALSE(share.Charge(2 * kLimit));
    });
  }
  GraphShare share(memory);
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(share.Charge(1024));
    share.Discharge(1024);
  }
  is_over = true;
  for (std::thread& thread : greedy) thread.join();
  EXPECT_EQ(memory->held(), 0);
}

Status RunTarget(const std::shared_ptr<MasterSession>& session, const std::string& target) {
  const auto call = std::make_shared<StepCall>();
  call->request.targets = {target};
  std::promise<Status> done;
  call->done = [&](StepReply reply) { done.set_value(reply.status); };
  session->RunStep(call, nullptr);
  return done.get_future().get();
}

// Its programs are no help to others who have taken much.
TEST(MasterSession, KeepsItsProgramsWhileOthersHoldMuch) {
  constexpr int64_t kLimit = 64 << 20;
  const auto memory = std::make_shared<GraphMemory>(kLimit);
  GraphShare other(memory);
  ASSERT_TRUE(other.Take(kLimit / 8 * 5).ok());
  const auto session = std::make_shared<MasterSession>(
      "session", MasterSessionOptions{.device = MakeCpuDevice("/job:test/replica:0/task:0"),
                                      .graph_memory = memory});
  tensorflow::GraphDef graph;
  AddNode(&graph, "a", "NoOp");
  AddNode(&graph, "b", "NoOp");
  ASSERT_TRUE(session->Create(graph).ok());
  const int64_t before = memory->held();
  ASSERT_TRUE(RunTarget(session, "a").ok());
  const int64_t of_one = memory->held() - before;
  EXPECT_GT(of_one, 0);
  ASSERT_TRUE(RunTarget(session, "b").ok());
  EXPECT_EQ(memory->held() - before, 2 * of_one);
  session->Close();
}

}  // namespace
}  // namespace carillon
