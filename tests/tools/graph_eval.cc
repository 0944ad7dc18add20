// Evaluates graphs that TensorFlow's Python wrote, so that tests/conformance can compare:
//
//   graph_eval BATCH RESULTS    answers each record of BATCH with one in RESULTS (records.h)
//   graph_eval --dump-ops       prints every op spec as JSON
#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "carillon/error.h"
#include "carillon/graph.h"
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

// {"code", "message"} of whatever `body` throws; nothing of what it leaves in `answer` is lost.
template <typename Body>
json Catching(json answer, const Body& body) {
  answer["code"] = 0;
  answer["message"] = "";
  try {
    body(answer);
  } catch (const Error& error) {
    answer["code"] = static_cast<int>(error.code());
    answer["message"] = error.what();
  }
  return answer;
}

// One record: the graph, the runs in it, and where asked for its gradients.
class Evaluation {
 public:
  explicit Evaluation(const Parts& request) : request_(request), header_(json::parse(request[0])) {}

  Parts Answer() {
    json answer = Catching({{"runs", json::array()}, {"shapes", json::array()}}, [this](json& a) {
      Graph graph;
      graph.ImportBinary(Blob(header_["graph"]));
      a["shapes"] = ShapesOf(graph, header_["outputs"]);
    });
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
  const std::string& Blob(const json& number) const { return request_.at(number.get<size_t>()); }

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
