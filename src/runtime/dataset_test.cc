// Data sets in sessions: iterators are resources, and steps wait for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

#include "carillon/error.h"
#include "carillon/graph.h"
#include "runtime/local_session.h"

namespace carillon {
namespace {

using testing::HasSubstr;

std::string Constant(const std::string& name, int64_t value) {
  return StrCat("node { name: '", name,
                "' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } }"
                " attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape {} int64_val: ",
                value, " } } } }\n");
}

const std::string kElements =
    "attr { key: 'output_types' value { list { type: DT_INT64 } } }"
    " attr { key: 'output_shapes' value { list { shape {} } } }";

// Counts from 0, through a function that adds what the placeholder-free body says.
std::string Pipeline(const std::string& body, const std::string& result) {
  return StrCat(
      "library { function { signature { name: 'f' input_arg { name: 'x' type: DT_INT64 }"
      " output_arg { name: 'y' type: DT_INT64 } } ",
      body, " ret { key: 'y' value: '", result, "' } } }\n", Constant("start", 0),
      Constant("stop", 1000), Constant("step", 1),
      "node { name: 'range' op: 'RangeDataset' input: 'start' input: 'stop' input: 'step' ",
      kElements, "}\n node { name: 'map' op: 'MapDataset' input: 'range' ", kElements,
      " attr { key: 'f' value { func { name: 'f' } } }"
      " attr { key: 'Targuments' value { list {} } } }\n"
      "node { name: 'iterator' op: 'IteratorV2' ",
      kElements,
      " attr { key: 'shared_name' value { s: 'shared' } } attr { key: 'container' value { s: '' } "
      "} }\n"
      "node { name: 'init' op: 'MakeIterator' input: 'map' input: 'iterator' }\n"
      "node { name: 'next' op: 'IteratorGetNext' input: 'iterator' ",
      kElements, "}\n");
}

const std::string kDouble =
    "node_def { name: 'd' op: 'AddV2' input: 'x' input: 'x' attr { key: 'T' value { type: DT_INT64 "
    "} } }";
// Never ends.
const std::string kLoop = R"(
    node_def { name: 'e' op: 'Enter' input: 'x' attr { key: 'T' value { type: DT_INT64 } }
               attr { key: 'frame_name' value { s: 'f' } } }
    node_def { name: 'm' op: 'Merge' input: 'e:output:0' input: 'n:output:0'
               attr { key: 'T' value { type: DT_INT64 } } attr { key: 'N' value { i: 2 } } }
    node_def { name: 'q' op: 'Equal' input: 'm:output:0' input: 'm:output:0'
               attr { key: 'T' value { type: DT_INT64 } } }
    node_def { name: 'c' op: 'LoopCond' input: 'q:z:0' }
    node_def { name: 's' op: 'Switch' input: 'm:output:0' input: 'c:output:0'
               attr { key: 'T' value { type: DT_INT64 } } }
    node_def { name: 'n' op: 'NextIteration' input: 's:output_true:0'
               attr { key: 'T' value { type: DT_INT64 } } }
    node_def { name: 'o' op: 'Exit' input: 's:output_false:0'
               attr { key: 'T' value { type: DT_INT64 } } })";

class Datasets : public testing::Test {
 protected:
  Status Run(LocalSession& session, const std::string& fetch, const std::string& target,
             std::vector<Tensor>* results, const RunOptions& options = {}) {
    std::vector<Endpoint> fetches;
    std::vector<Node*> targets;
    if (!fetch.empty()) fetches.push_back({graph_.nodes().Find(fetch), 0});
    if (!target.empty()) targets.push_back(graph_.nodes().Find(target));
    CARILLON_ASSIGN_OR_RETURN(const auto run, session.Prepare({}, fetches, targets));
    return session.Run(*run, {}, options, results, nullptr);
  }
  Graph graph_;
  const std::shared_ptr<Device> device_ = MakeCpuDevice("/job:localhost/replica:0/task:0");
  MapResourceStore resources_;
};

TEST_F(Datasets, IteratorsOutliveTheSessionThatMadeThem) {
  graph_.ImportText(Pipeline(kDouble, "d:z:0"));
  std::vector<Tensor> results;
  {
    LocalSession first(graph_.nodes(), device_, &resources_, {});
    EXPECT_THAT(Run(first, "next", "", &results).ToString(), HasSubstr("not been initialized"));
    ASSERT_TRUE(Run(first, "", "init", &results).ok());
    ASSERT_TRUE(Run(first, "next", "", &results).ok());
    EXPECT_EQ(results[0].scalar<int64_t>(), 0);
  }
  LocalSession second(graph_.nodes(), device_, &resources_, {});
  for (int64_t i = 1; i < 5; ++i) {
    ASSERT_TRUE(Run(second, "next", "", &results).ok());
    EXPECT_EQ(results[0].scalar<int64_t>(), 2 * i);
  }
}

TEST_F(Datasets, SeveralStepsShareAnIterator) {
  graph_.ImportText(Pipeline(kDouble, "d:z:0"));
  LocalSession session(graph_.nodes(), device_, &resources_, {});
  std::vector<Tensor> results;
  ASSERT_TRUE(Run(session, "", "init", &results).ok());
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      std::vector<Tensor> mine;
      for (int i = 0; i < 250; ++i) {
        const Status status = Run(session, "next", "", &mine);
        ASSERT_TRUE(status.ok()) << status;
        sum += mine[0].scalar<int64_t>();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 999 * 1000);
  EXPECT_EQ(Run(session, "next", "", &results).code(), absl::StatusCode::kOutOfRange);
}

// A function that never ends, in a step that does.
TEST_F(Datasets, StepsThatWaitEndInTime) {
  graph_.ImportText(Pipeline(kLoop, "o:output:0"));
  LocalSession session(graph_.nodes(), device_, &resources_, {});
  std::vector<Tensor> results;
  ASSERT_TRUE(Run(session, "", "init", &results).ok());
  EXPECT_EQ(Run(session, "next", "", &results, {.timeout = std::chrono::milliseconds(50)}).code(),
            absl::StatusCode::kDeadlineExceeded);
  std::thread closer([&] { session.Close(); });
  EXPECT_FALSE(Run(session, "next", "", &results).ok());
  closer.join();
}

// The factory of an iterator waits for that iterator, and that for the factory. Hangs when
// it fails.
TEST_F(Datasets, AFactoryThatNeedsItsOwnIteratorEndsInTime) {
  // A function that gives a range, after a node.
  const auto factory = [](const std::string& name, const std::string& before) {
    std::string body = StrCat(Constant("start", 0), Constant("stop", 10), Constant("step", 1));
    for (size_t at; (at = body.find("node {")) != std::string::npos;)
      body.replace(at, 6, "node_def {");
    return StrCat("function { signature { name: '", name,
                  "' output_arg { name: 'y' type: DT_VARIANT } } ", body,
                  "node_def { name: 'before' ", before,
                  "} node_def { name: 'range' op: 'RangeDataset' input: 'start:output:0' input: "
                  "'stop:output:0' input: 'step:output:0' input: '^before' ",
                  kElements, "} ret { key: 'y' value: 'range:handle:0' } }\n");
  };
  const auto one_shot = [](const std::string& function) {
    return StrCat("op: 'OneShotIterator' ", kElements,
                  " attr { key: 'dataset_factory' value { func { name: '", function,
                  "' } } } attr { key: 'shared_name' value { s: 'itself' } }");
  };
  graph_.ImportText(StrCat("library { ", factory("inner", "op: 'NoOp'"),
                           factory("outer", one_shot("inner")), "} node { name: 'iterator' ",
                           one_shot("outer"), "}"));
  LocalSession session(graph_.nodes(), device_, &resources_, {});
  std::vector<Tensor> results;
  EXPECT_EQ(
      Run(session, "", "iterator", &results, {.timeout = std::chrono::milliseconds(200)}).code(),
      absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace carillon
