// Evaluates graphs that TensorFlow's Python wrote, so that tests/conformance can compare:
//
//   graph_eval BATCH RESULTS    answers each record of BATCH with one in RESULTS (records.h)
//   graph_eval --dump-ops       prints every op spec as JSON
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/throw.h"
#include "carillon/error.h"
#include "carillon/gradients.h"
#include "carillon/graph.h"
#include "carillon/session.h"
#include "dump_ops.h"
#include "proto/tensor.pb.h"
#include "records.h"
#include "tensor/tensor_proto.h"

namespace carillon {
namespace {

using nlohmann::json;

json ShapesOf(const Graph& graph, const json& outputs) {
  json shapes = json::array();
  for (const std::string output : outputs) {
    const PartialShape shape = graph.FindOutput(output).shape();
    shapes.push_back(shape.has_rank()
                         ? json(std::vector<int64_t>(shape.dims().begin(), shape.dims().end()))
                         : json(nullptr));
  }
  return shapes;
}

// `answer` with what `body` puts into it, and the code and message of what it throws.
template <typename Body>
json Catching(json answer, const Body& body) {
  const Status status = CatchAsStatus([&] { body(answer); });
  answer["code"] = static_cast<int>(status.code());
  answer["message"] = std::string(status.message());
  return answer;
}

// A step that takes longer has hung.
constexpr std::chrono::seconds kStepTimeout{60};

// One record: the graph, the runs in it, and where asked for its gradients.
class Evaluation {
 public:
  explicit Evaluation(const Parts& request) : request_(request), header_(json::parse(request[0])) {}

  Parts Answer() {
    json answer = Catching({{"runs", json::array()}, {"shapes", json::array()}},
                           [this](json& a) { Evaluate(a); });
    answer["variants"] = json::array();
    for (const json& variant : header_["variants"]) {
      answer["variants"].push_back(Catching({{"shapes", json::array()}}, [&](json& a) {
        Graph graph;
        graph.ImportBinary(Blob(variant["graph"]));
        a["shapes"] = ShapesOf(graph, variant["outputs"]);
      }));
    }
    Parts parts = {answer.dump(-1, ' ', false, json::error_handler_t::replace)};
    parts.insert(parts.end(), blobs_.begin(), blobs_.end());
    return parts;
  }

 private:
  void Evaluate(json& answer) {
    Graph graph;
    graph.ImportBinary(Blob(header_["graph"]));
    answer["shapes"] = ShapesOf(graph, header_["outputs"]);
    std::vector<Gradient> gradients;
    std::vector<Output> gradient_fetches;
    if (header_.contains("gradients")) {
      gradients = AddGradients(graph, header_["gradients"]);
      for (const Gradient& gradient : gradients) {
        if (!gradient.empty()) gradient_fetches.push_back(gradient.Dense());
      }
    }

    const bool plain = header_["plain"];
    Session session(graph, {.exact = true,
                            .threads = 2,
                            .measure = false,
                            .optimize = !plain,
                            .reference_kernels = plain});
    json last;
    for (size_t i = 0; i < header_["runs"].size(); ++i) {
      const json& run = header_["runs"][i];
      std::vector<Output> fetches = FindOutputs(graph, run["fetches"]);
      if (i + 1 == header_["runs"].size()) {
        fetches.insert(fetches.end(), gradient_fetches.begin(), gradient_fetches.end());
      }
      last = json::array();
      for (const Tensor& value : Step(session, graph, run, fetches)) last.push_back(AddBlob(value));
      answer["runs"].push_back(last);
    }
    if (!header_.contains("gradients")) return;
    answer["gradients"] = json::array();
    size_t next = last.size() - gradient_fetches.size();
    for (const Gradient& gradient : gradients) {
      answer["gradients"].push_back(gradient.empty() ? json(nullptr) : last[next++]);
    }
  }

  std::vector<Tensor> Step(Session& session, const Graph& graph, const json& run,
                           const std::vector<Output>& fetches) const {
    Feeds feeds;
    for (const auto& [name, blob] : run["feeds"].items()) {
      tensorflow::TensorProto proto;
      if (!proto.ParseFromString(Blob(blob))) throw Error(Code::kInternal, "not a TensorProto");
      feeds.emplace_back(graph.FindOutput(name), ValueOrThrow(TensorFromProto(proto)));
    }
    std::vector<Operation> targets;
    for (const std::string name : run["targets"]) targets.push_back(graph.FindOperation(name));
    return session.Run(fetches, feeds, targets, {.timeout = kStepTimeout});
  }

  static std::vector<Output> FindOutputs(const Graph& graph, const json& names) {
    std::vector<Output> outputs;
    for (const std::string name : names) outputs.push_back(graph.FindOutput(name));
    return outputs;
  }

  static std::vector<Gradient> AddGradients(const Graph& graph, const json& names) {
    return Gradients(FindOutputs(graph, names["ys"]), FindOutputs(graph, names["xs"]),
                     {.grad_ys = FindOutputs(graph, names["grad_ys"])});
  }

  const std::string& Blob(const json& number) const { return request_.at(number.get<size_t>()); }

  size_t AddBlob(const Tensor& tensor) {
    tensorflow::TensorProto proto;
    TensorToProto(tensor, &proto);
    blobs_.push_back(proto.SerializeAsString());
    return blobs_.size();
  }

  const Parts& request_;
  const json header_;
  Parts blobs_;
};

int Main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--dump-ops") {
    std::cout << DumpOps() << "\n";
    return 0;
  }
  if (argc != 3) {
    std::cerr << "usage: graph_eval BATCH RESULTS\n       graph_eval --dump-ops\n";
    return 2;
  }
  RecordReader reader(argv[1]);
  RecordWriter writer(argv[2]);
  if (!reader.ok() || !writer.ok()) {
    std::cerr << "graph_eval: cannot open " << (reader.ok() ? argv[2] : argv[1]) << "\n";
    return 2;
  }
  Parts request;
  while (reader.Read(&request)) writer.Write(Evaluation(request).Answer());
  return 0;
}

}  // namespace
}  // namespace carillon

int main(int argc, char** argv) { return carillon::Main(argc, argv); }
