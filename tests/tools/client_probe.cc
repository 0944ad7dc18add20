// client_probe [TARGET]: what a program sees of a session, one line each: "what: value value …".
//
// The lines must be the same in this process (without TARGET), on a server of ours and on one of
// TensorFlow's: tests/conformance/harness/client.py compares them.
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "carillon/carillon.h"

using namespace carillon;

namespace {

constexpr int64_t kLarge = 16 << 20;  // floats: 64 MiB

std::string target;

std::unique_ptr<Session> Open(Graph& g) {
  return target.empty() ? std::make_unique<Session>(g) : std::make_unique<Session>(target, g);
}

void Say(const std::string& what, const std::string& value) {
  std::printf("%s: %s\n", what.c_str(), value.c_str());
  std::fflush(stdout);
}

void Say(const std::string& what, const std::vector<float>& values) {
  std::string text;
  for (const float value : values) {
    char number[32];
    std::snprintf(number, sizeof(number), "%.9g ", static_cast<double>(value));
    text += number;
  }
  Say(what, text);
}

void Say(const std::string& what, const Tensor& tensor) { Say(what, tensor.ToString(100)); }

// Says the code with which `run` fails, and whether the message names the node.
template <typename F>
void SayError(const std::string& what, const std::string& node, F run) {
  try {
    run();
    Say(what, "no error");
  } catch (const Error& error) {
    const bool named = std::string(error.what()).find(node) != std::string::npos;
    Say(what, std::string(CodeName(error.code())) + (named ? " named" : " not named"));
  }
}

void Values() {
  Graph g;
  const Output sum = Const(g, {1.5f, 2.0f}) + Const(g, {0.25f, -7.0f});
  const Output x = Placeholder(g, kFloat, {-1, 2}), words = Placeholder(g, kString, {-1});
  const Output product = MatMul(x, Const(g, Tensor::FromVector<float>({1, 2, 3, 4}, {2, 2})));
  const auto session = Open(g);
  Say("constants", session->Run(sum));
  const Tensor fed = Tensor::FromVector<float>({1, 0, 0.5f, -1, 2, 2}, {3, 2});
  const auto results = session->Run({product, x, product, sum}, {{x, fed}});
  for (const Tensor& result : results) Say("fetches", result);
  Say("a feed alone", session->Run(x, {{x, fed}}));
  Say("another shape", session->Run(product, {{x, fed.Slice(0, 1)}}));
  Say("no rows", session->Run(product, {{x, Tensor(kFloat, {0, 2})}}));
  Say("fed inside", session->Run(sum * 2.0f, {{sum, Tensor::FromVector<float>({3, 4})}}));
  Say("strings",
      session->Run(
          StringJoin({words, words}, "-"),
          {{words, Tensor::FromVector<std::string>({"a", "", std::string("\0\xff", 2)})}}));
  for (const DType dtype :
       {kDouble, kInt32, kInt64, kUint8, DType::kHalf, DType::kBfloat16, kBool}) {
    const Output any = Placeholder(g, dtype, {});
    const Tensor value = session->Run(Cast(Const(g, 1.0f), dtype));
    Say(DTypeName(dtype), session->Run(Identity(any), {{any, value}}));
  }
  const Callable callable = session->MakeCallable({x}, {product, sum});
  for (const Tensor& result : callable({fed})) Say("callable", result);
  RunMetadata metadata;
  session->Run({product}, {{x, fed}}, {}, {.trace = true}, &metadata);
  Say("trace", metadata.nodes.empty() ? "empty" : "nodes");
}

void Training() {
  Graph g;
  g.SetSeed(7);
  const Output x = Placeholder(g, kFloat, {-1, 3}), y = Placeholder(g, kFloat, {-1, 1});
  const Variable w(g, "w", Tensor::Full<float>({3, 1}, 0.1f));
  const Variable b(g, "b", Tensor::Full<float>({1}, 0.0f), {.use_resource = false});
  const Output loss = Mean(Square(MatMul(x, w) + b.read() - y));
  const std::vector<Operation> trains = {GradientDescent(0.05f).Minimize(loss, GlobalStep(g)),
                                         Adam(0.01f).Minimize(loss),
                                         Momentum(0.01f, 0.9f).Minimize(loss)};
  const auto session = Open(g);
  SayError("uninitialised", w.name(), [&] { session->Run(Output(w)); });
  session->Run(GlobalVariablesInitializer(g));
  std::vector<float> inputs, wanted, losses;
  for (int i = 0; i < 24; ++i) {
    inputs.push_back(std::sin(static_cast<float>(i)));
    if (i % 3 == 2) wanted.push_back(inputs[inputs.size() - 3] - 2 * inputs.back() + 0.5f);
  }
  const Feeds feeds = {{x, Tensor::FromVector(inputs, {8, 3})},
                       {y, Tensor::FromVector(wanted, {8, 1})}};
  for (int step = 0; step < 60; ++step)
    losses.push_back(
        session->Run({loss}, feeds, {trains[static_cast<size_t>(step) % 3]})[0].scalar<float>());
  Say("losses", losses);
  const Tensor learned = session->Run(Output(w));
  Say("weights",
      std::vector<float>(learned.values<float>().begin(), learned.values<float>().end()));
  Say("steps", session->Run(Output(GlobalStep(g))));

  // What is added later is sent along with the next step.
  const Output more = Output(w) * 10.0f;
  const Variable late(g, "late", 5.0f);
  session->Run(late.initializer());
  const auto extended = session->Run({Sum(more) - 10.0f * Sum(Output(w)), late});
  Say("extended", std::vector<float>{std::round(extended[0].scalar<float>() * 1e4f),
                                     extended[1].scalar<float>()});

  if (target.empty()) return Say("shared", "yes");
  // Variables are the server's: another session finds them.
  const auto other = Open(g);
  Say("shared", other->Run(late).scalar<float>() == 5.0f ? "yes" : "no");
}

void Large() {
  Graph g;
  const Output x = Placeholder(g, kFloat, {-1});
  const Output back = Identity(x), largest = Max(x);
  const auto session = Open(g);
  Tensor fed(kFloat, {kLarge});
  for (int64_t i = 0; i < kLarge; ++i) fed.mutable_data<float>()[i] = static_cast<float>(i % 1000);
  const auto results = session->Run({back, largest}, {{x, fed}});
  bool same = results[0].shape() == fed.shape();
  for (int64_t i = 0; same && i < kLarge; ++i)
    same = results[0].data<float>()[i] == fed.data<float>()[i];
  Say("large", same ? "as it was fed" : "changed");
  Say("largest", results[1]);
}

void Errors() {
  Graph g;
  const Output x = Placeholder(g, kFloat, Shape{}), i = Placeholder(g, kInt32, Shape{});
  const Output anything = Placeholder(g, kFloat, PartialShape());
  const Output product = OpBuilder("MatMul").Name("product").Arg(anything).Arg(anything);
  const Output row = OpBuilder("GatherV2").Name("row").Arg(Const(g, {1.0f, 2.0f})).Arg(i).Arg(0);
  const Output checked =
      OpBuilder("CheckNumerics").Name("checked").Arg(Log(x)).Attr("message", "log");
  const Output queue =
      FIFOQueue(g, {kFloat}, {.shapes = {Shape{}}, .capacity = 2, .name = "queue"});
  const Output taken = OpBuilder("QueueDequeueV2")
                           .Name("taken")
                           .Arg(queue)
                           .Attr("component_types", std::vector<DType>{kFloat});
  const Operation put = QueueEnqueue(queue, {x}), close = QueueClose(queue);
  const auto session = Open(g);
  SayError("no feed", x.op().name(), [&] { session->Run(x + 1.0f); });
  SayError("bad shapes", "product", [&] {
    session->Run(product, {{anything, Tensor(kFloat, {2, 3})}});
  });
  SayError("bad index", "row", [&] { session->Run(row, {{i, Tensor::Scalar(2)}}); });
  SayError("not a number", "checked", [&] { session->Run(checked, {{x, Tensor::Scalar(-1.0f)}}); });
  SayError("wrong dtype", "", [&] { session->Run(x + 1.0f, {{x, Tensor::Scalar(1)}}); });
  SayError("wrong shape", x.op().name(), [&] {
    session->Run(x + 1.0f, {{x, Tensor::FromVector<float>({1, 2})}});
  });
  SayError("fed twice", "", [&] {
    session->Run(x + 1.0f, {{x, Tensor::Scalar(1.0f)}, {x, Tensor::Scalar(2.0f)}});
  });
  SayError("timeout", "",
           [&] { session->Run({taken}, {}, {}, {.timeout = std::chrono::milliseconds(300)}); });
  session->Run(put, {{x, Tensor::Scalar(4.0f)}});
  Say("after a timeout", session->Run(taken));
  session->Run(close);
  SayError("closed and empty", "taken", [&] { session->Run(taken); });
  SayError("enqueue to a closed queue", put.name(), [&] {
    session->Run(put, {{x, Tensor::Scalar(4.0f)}});
  });
}

void Parts() {
  Graph g;
  const Output a = Placeholder(g, kFloat, {}), b = Placeholder(g, kFloat, {});
  const Output first = a * 2.0f, second = first + b;
  const auto session = Open(g);
  PartialRun run = session->MakePartialRun({a, b}, {first, second});
  const Tensor doubled = run.Run({first}, {{a, Tensor::Scalar(3.0f)}})[0];
  Say("first part", doubled);
  Say("second part", run.Run({second}, {{b, doubled}})[0]);
}

void Closing() {
  Graph g;
  const Output one = Const(g, 1.0f);
  const Output never = QueueDequeue(FIFOQueue(g, {kFloat}, {.shapes = {Shape{}}}))[0];
  const auto session = Open(g);
  session->Run(one);
  std::thread waits([&] { SayError("closed meanwhile", "", [&] { session->Run(never); }); });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  session->Close();
  waits.join();
  SayError("closed", "", [&] { session->Run(one); });
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 2) return 2;
  if (argc == 2) target = argv[1];
  Values();
  Training();
  Large();
  Errors();
  Parts();
  Closing();
  return 0;
} catch (const Error& error) {
  std::printf("stopped: %s\n", CodeName(error.code()));
  std::fprintf(stderr, "client_probe: %s\n", error.what());
  return 1;
}
