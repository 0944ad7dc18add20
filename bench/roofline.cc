#include "roofline.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace bench {
namespace {

using carillon::NodeTiming;
using carillon::PartialShape;

// 0 when it is not known.
double Elements(const PartialShape& shape) {
  if (!shape.has_rank()) return 0;
  double elements = 1;
  for (const int64_t dim : shape.dims()) elements *= static_cast<double>(std::max<int64_t>(dim, 0));
  return elements;
}

double Elements(const std::vector<PartialShape>& shapes) {
  double elements = 0;
  for (const PartialShape& shape : shapes) elements += Elements(shape);
  return elements;
}

// Multiply-adds, as two operations, of a convolution whose filter has this shape and whose result
// (or its gradient) has so many elements. What falls on the padding counts too.
double ConvolutionOperations(const PartialShape& filter, double results) {
  return filter.rank() == 4 ? 2 * results * Elements(filter) / static_cast<double>(filter.dim(3))
                            : 0;
}

// Updates: operations for each element of the gradient, and how often an element of the gradient,
// the variable or a slot is read or written.
struct Update {
  double operations, transfers;
};
const std::map<std::string, Update> kUpdates = {
    {"ResourceApplyAdam", {12, 7}},
    {"ResourceApplyMomentum", {4, 5}},
    {"ResourceApplyGradientDescent", {2, 3}},
};

bool MovesNothing(const NodeTiming& node) {
  static const std::set<std::string> ops = {"Identity", "ReadVariableOp", "Reshape", "VarHandleOp"};
  return node.kernel != "reorder" && ops.contains(node.op);
}

}  // namespace

Work WorkOf(const NodeTiming& node) {
  constexpr double kFloatBytes = 4;
  const std::vector<PartialShape>& in = node.input_shapes;
  const std::vector<PartialShape>& out = node.output_shapes;
  if (MovesNothing(node)) return {};
  Work work{.operations = std::max(Elements(in), Elements(out)),  // of what works by elements
            .bytes = kFloatBytes * (Elements(in) + Elements(out))};
  if (node.kernel == "reorder") {
    work.operations = 0;
  } else if ((node.op == "Conv2D" || node.op.starts_with("_FusedConv2D")) && in.size() >= 2) {
    work.operations = ConvolutionOperations(in[1], Elements(out[0]));
  } else if (node.op == "Conv2DBackpropInput" && in.size() >= 3) {
    work.operations = ConvolutionOperations(in[1], Elements(in[2]));
  } else if ((node.op == "Conv2DBackpropFilter" || node.op == "_ConvBackpropFilterBias") &&
             in.size() >= 3) {
    work.operations = ConvolutionOperations(out[0], Elements(in[2]));
  } else if ((node.op == "MatMul" || node.op == "_FusedMatMul") && out[0].rank() == 2) {
    // m x k times k x n, however they lie: k is what the first matrix has besides m.
    const double m = std::max(1.0, static_cast<double>(out[0].dim(0)));
    work.operations = 2 * Elements(out[0]) * Elements(in[0]) / m;
  } else if (const auto update = kUpdates.find(node.op); update != kUpdates.end()) {
    const bool momentum = node.op.ends_with("Momentum");  // has the gradient before its momentum
    const double elements = Elements(in[in.size() - (momentum ? 2 : 1)]);
    work = {.operations = update->second.operations * elements,
            .bytes = update->second.transfers * kFloatBytes * elements};
  }
  return work;
}

std::vector<RooflineRow> MakeRoofline(const std::vector<carillon::RunMetadata>& steps,
                                      const Peak& peak) {
  std::map<std::pair<std::string, std::string>, RooflineRow> rows;
  for (size_t i = 0; i < steps.front().nodes.size(); ++i) {
    const NodeTiming& node = steps.front().nodes[i];
    int64_t least = node.end_ns - node.start_ns;
    for (const carillon::RunMetadata& step : steps)
      least = std::min(least, step.nodes.at(i).end_ns - step.nodes[i].start_ns);
    const Work work = WorkOf(node);
    // Reorders belong to the node that wants them, but are work of their own.
    const std::string op = node.kernel == "reorder" ? "(change of layout)" : node.op;
    RooflineRow& row = rows[{op, node.kernel}];
    row.op = op;
    row.kernel = node.kernel;
    ++row.count;
    row.work.operations += work.operations;
    row.work.bytes += work.bytes;
    row.floor_seconds += std::max(work.operations / peak.flops, work.bytes / peak.bytes_per_second);
    row.seconds += 1e-9 * static_cast<double>(least);
  }
  std::vector<RooflineRow> sorted;
  for (const auto& [key, row] : rows) sorted.push_back(row);
  std::ranges::sort(sorted, std::greater<>(), &RooflineRow::seconds);
  return sorted;
}

}  // namespace bench
