// event_probe FOLDER: writes an event file with the graph, and three steps of every kind of
// summary. tests/conformance/harness/events.py has TensorFlow read it and compute the same.
#include <cstdio>

#include "carillon/carillon.h"

using namespace carillon;

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  Graph g;
  const Output x = Placeholder(g, kFloat, Shape{}, "x");
  Tensor pixels(kFloat, {2, 4, 5, 3});
  for (int64_t i = 0; i < pixels.num_elements(); ++i)
    pixels.mutable_data<float>()[i] = static_cast<float>(i % 17) / 4;
  const Output picture = Const(g, pixels) * x;
  const Operation merged =
      OpBuilder("MergeSummary")
          .Name("merged")
          .Args(std::vector<Output>{
              ScalarSummary("loss", x * 0.25f), HistogramSummary("distribution", picture - 3.0f),
              ImageSummary("picture", picture),
              AudioSummaryV2("sound", Reshape(picture, {2, 60}) / 20.0f, 8000.0f),
              TensorSummaryV2("tensor", Cast(picture, kInt32))})
          .Build();
  Session session(g);
  SummaryWriter writer(argv[1], ".probe");
  writer.AddGraph(g);
  for (int64_t step = 1; step <= 3; ++step) {
    const Tensor value = Tensor::Scalar(static_cast<float>(step));
    writer.Add(session.Run(merged.output(), {{x, value}}), step);
  }
  writer.AddScalar("accuracy", 0.5f, 4);
  writer.Close();
  std::puts(writer.path().c_str());
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "event_probe: %s\n", error.what());
  return 1;
}
