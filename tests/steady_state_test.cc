// A steady step asks the C++ heap for nothing: counted by replacing operator new in this program.
// (oneDNN allocates inside its own calls; the kernels here are ours.)
#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <new>

#include "base/throw.h"
#include "carillon/op_builder.h"
#include "carillon/ops/control_flow.h"
#include "carillon/ops/random.h"
#include "carillon/ops/training.h"
#include "carillon/session.h"
#include "carillon/variable.h"
#include "runtime/function_instantiator.h"
#include "runtime/resource_store.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocations{0};

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // sanitizers have their own operator new
// Not inlined: the compiler would see malloc and free and call them mismatched.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (counting.load(std::memory_order_relaxed)) allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#define CARILLON_COUNTS_ALLOCATIONS 1
#else
#define CARILLON_COUNTS_ALLOCATIONS 0
#endif

namespace carillon {
namespace {

// How often ten steps allocate, once a few have filled the pools.
int AllocationsIn(const Callable& step, const std::vector<Tensor>& feeds) {
  std::vector<Tensor> fetches;
  for (int i = 0; i < 3; ++i) step.Run(feeds, &fetches);
  allocations = 0;
  counting = true;
  for (int i = 0; i < 10; ++i) step.Run(feeds, &fetches);
  counting = false;
  return allocations;
}

TEST(SteadyState, UpdatesAndRandomNumbersDoNotAllocate) {
  if (!CARILLON_COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer owns operator new";
  for (const bool use_resource : {true, false}) {
    Graph g;
    const Tensor ones = Tensor::Full<float>({100, 8}, 1.0f);
    const VariableOptions options = {.use_resource = use_resource};
    const Variable w(g, "w", ones, options), m(g, "m", ones, options), v(g, "v", ones, options);
    const Output noise = RandomStandardNormal(g, {100, 8}, kFloat, {.seed = 1});
    const Output grad = OpBuilder("Mul").Arg(w.read()).Arg(noise);
    const Operation dense =
        ApplyAdam(w.handle(), m.handle(), v.handle(), 0.9f, 0.99f, 0.01f, 0.9f, 0.99f, 1e-8f, grad);
    const Operation sparse =
        SparseApplyAdagrad(m.handle(), v.handle(), 0.1f, Tensor::Full<float>({3, 8}, 1.0f),
                           Tensor::FromVector<int32_t>({1, 50, 1}));
    const Operation count = v.AssignAdd(ones);
    const Operation init = GlobalVariablesInitializer(g);
    Session session(g, {.threads = 1});
    session.Run(init);
    EXPECT_EQ(AllocationsIn(session.MakeCallable({}, {}, {dense, sparse, count}), {}), 0);
  }
}

TEST(SteadyState, AStepDoesNotAllocate) {
  if (!CARILLON_COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer owns operator new";
  Graph g;
  const Output x =
      OpBuilder(g, "Placeholder").Attr("dtype", kFloat).Attr("shape", PartialShape{-1, 64});
  Output y = OpBuilder("Neg").Arg(x);
  for (int i = 0; i < 20; ++i) y = OpBuilder("AddV2").Arg(OpBuilder("Tanh").Arg(y).Build()).Arg(y);
  const Output loss = OpBuilder("Mean").Arg(y).Arg({0, 1});
  Session session(g, {.threads = 1});
  const Callable step = session.MakeCallable({x}, {loss});
  EXPECT_EQ(AllocationsIn(step, {Tensor::Full<float>({100, 64}, 1.0f)}), 0);
}

TEST(SteadyState, AStepWithConditionsDoesNotAllocate) {
  if (!CARILLON_COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer owns operator new";
  Graph g;
  const Output p = OpBuilder(g, "Placeholder").Attr("dtype", kBool).Attr("shape", Shape{});
  const Output x = OpBuilder(g, "Placeholder").Attr("dtype", kFloat).Attr("shape", Shape{64});
  Output y = x;
  for (int i = 0; i < 5; ++i) {
    y = Cond(
        p, [&]() -> Output { return OpBuilder("AddV2").Arg(y).Arg(1.0f); },
        [&]() -> Output { return OpBuilder("Tanh").Arg(y); })[0];
  }
  Session session(g, {.threads = 1});
  const Callable step = session.MakeCallable({p, x}, {y});
  EXPECT_EQ(AllocationsIn(step, {Tensor::Scalar(true), Tensor::Full<float>({64}, 1.0f)}), 0);
  EXPECT_EQ(AllocationsIn(step, {Tensor::Scalar(false), Tensor::Full<float>({64}, 1.0f)}), 0);
}

TEST(SteadyState, ACallOfAFunctionDoesNotAllocate) {
  if (!CARILLON_COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer owns operator new";
  Graph g;
  g.ImportText(R"(library { function {
      signature { name: "f" input_arg { name: "x" type: DT_FLOAT }
                  output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "t" op: "Tanh" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
      node_def { name: "n" op: "Neg" input: "t:y:0" attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "y" value: "n:y:0" } } })");
  MapResourceStore resources;
  const SpecializeOptions options{.resources = &resources};
  LibraryInstantiator functions(g.nodes().functions(), MakeCpuDevice("/job:localhost"), options);
  const std::shared_ptr<CallableFunction> f = ValueOrThrow(functions.Instantiate({"f", {}}));
  CancellationSource cancellation;
  const Tensor x = Tensor::Full<float>({64}, 1.0f);
  std::vector<Tensor> results;
  const auto call = [&] { ThrowIfError(f->Call({&x, 1}, &cancellation, &results)); };
  for (int i = 0; i < 3; ++i) call();
  allocations = 0;
  counting = true;
  for (int i = 0; i < 10; ++i) call();
  counting = false;
  EXPECT_EQ(allocations, 0);
}

}  // namespace
}  // namespace carillon
