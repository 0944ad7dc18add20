// Programs are made on an account: wherever its memory ends, what was begun is given up, and
// nothing else happens.
#include <gtest/gtest.h>

#include "base/strings.h"
#include "base/throw.h"
#include "base/work_scope.h"
#include "carillon/gradients.h"
#include "carillon/op_builder.h"
#include "carillon/ops/array.h"
#include "carillon/ops/control_flow.h"
#include "carillon/ops/math.h"
#include "carillon/ops/nn.h"
#include "carillon/variable.h"
#include "runtime/device.h"
#include "runtime/executable.h"
#include "runtime/resource_store.h"

namespace carillon {
namespace {

// Gives little at a time, so that it is asked often.
class SmallBudget final : public MemoryBudget {
 public:
  explicit SmallBudget(int64_t most) : most_(most) {}
  bool Charge(int64_t bytes) override {
    constexpr int64_t kAtOnce = 128 << 10;
    if (bytes > kAtOnce || bytes > most_ - used_) return false;
    used_ += bytes;
    return true;
  }
  void Discharge(int64_t bytes) override { used_ -= bytes; }
  int64_t used() const { return used_; }

 private:
  const int64_t most_;
  int64_t used_ = 0;
};

// Makes the program with more and more memory, until there is enough.
void ExpectEndsWell(const Graph& g, const Signature& signature) {
  const auto device = MakeCpuDevice("/job:test/replica:0/task:0");
  MapResourceStore state;
  bool is_made = false;
  int refusals = 0;
  for (int64_t step = 0; !is_made; ++step) {
    ASSERT_LT(step, 100'000);
    // It is asked for every 4 KiB; what is taken before moves the places where that happens.
    SmallBudget budget(step / 8 * (4 << 10));
    Status status;
    const Status thrown = CatchAsStatus([&] {
      const WorkScope scope(&budget, nullptr);
      const std::string before(static_cast<size_t>(step % 8 * 512), 'x');
      status = Executable::Make(g.nodes(), signature, device, &state, {}).status();
    });
    EXPECT_EQ(budget.used(), 0);
    is_made = thrown.ok() && status.ok();
    if (is_made) continue;
    EXPECT_EQ((thrown.ok() ? status : thrown).code(), absl::StatusCode::kResourceExhausted)
        << thrown << status;
    ++refusals;
  }
  EXPECT_GT(refusals, 100);
}

TEST(ProgramBudget, MayEndAnywhere) {
  if (!WorkScope::Counts()) GTEST_SKIP() << "the sanitizer owns operator new";
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1, 8});
  Output y = x;
  for (int i = 0; i < 30; ++i) {
    const Variable w(g, StrCat("w", i), Tensor::Full<float>({8, 8}, 0.1f));
    y = Relu(MatMul(y, w.read()));
  }
  const std::vector<Output> looped = WhileLoop(
      g, {Sum(y), Sum(x)}, [](const LoopVariables& in) { return Less(in[0], 100.0f); },
      [](const LoopVariables& in) {
        return LoopVariables{Add(in[0], in[1]), Mul(in[1], 2.0f)};
      });
  const Output gradient = Gradients({looped[0]}, {x})[0].Dense();
  ExpectEndsWell(g, {.feeds = {{x.node(), 0}},
                     .feed_shapes = {PartialShape({4, 8})},
                     .fetches = {{gradient.node(), gradient.index()}},
                     .targets = {}});
}

// Each function calls the next one.
TEST(ProgramBudget, AlsoInFunctions) {
  if (!WorkScope::Counts()) GTEST_SKIP() << "the sanitizer owns operator new";
  const auto call = [](const std::string& tag, const std::string& name, const std::string& input,
                       int function) {
    return StrCat(tag, " { name: '", name, "' op: 'PartitionedCall' input: '", input,
                  "' attr { key: 'Tin' value { list { type: DT_FLOAT } } }"
                  " attr { key: 'Tout' value { list { type: DT_FLOAT } } }"
                  " attr { key: 'f' value { func { name: 'f",
                  function, "' } } } }\n");
  };
  constexpr int kFunctions = 15, kNodes = 40;
  std::string library;
  for (int i = 0; i < kFunctions; ++i) {
    std::string body, last = "x";
    for (int node = 0; node < kNodes; ++node) {
      StrAppend(&body, "node_def { name: 'n", node, "' op: 'Sin' input: '", last,
                "' attr { key: 'T' value { type: DT_FLOAT } } }\n");
      last = StrCat("n", node, ":y:0");
    }
    if (i + 1 < kFunctions) {
      body += call("node_def", "next", last, i + 1);
      last = "next:output:0";
    }
    StrAppend(&library, "function { signature { name: 'f", i,
              "' input_arg { name: 'x' type: DT_FLOAT } output_arg { name: 'y' type: DT_FLOAT } }",
              body, "ret { key: 'y' value: '", last, "' } }\n");
  }
  Graph g;
  g.ImportText(StrCat("library {", library, "}",
                      "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: "
                      "DT_FLOAT } } }\n",
                      call("node", "y", "x", 0)));
  const Output x = g.FindOutput("x"), y = g.FindOutput("y");
  ExpectEndsWell(g, {.feeds = {{x.node(), 0}},
                     .feed_shapes = {PartialShape({4})},
                     .fetches = {{y.node(), 0}},
                     .targets = {}});
}

}  // namespace
}  // namespace carillon
