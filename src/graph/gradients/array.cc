// Gradients of the array ops that hand a value on.
#include "graph/gradients/array.h"

#include "base/strings.h"
#include "base/throw.h"
#include "carillon/ops/array.h"
#include "carillon/ops/math.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

// What arrives at each output belongs to the input of the same number.
void PassThrough(GradContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.set(i, c.raw_grad(i));
}

void PreventGradientGradient(GradContext& c) {
  Throw(Unimplemented("a gradient through '", c.op().name(),
                      "' is not wanted: ", c.op().node()->attr<std::string>("message")));
}

void CheckNumericsGradient(GradContext& c) {
  c.set(0, CheckNumerics(c.grad(), StrCat("the gradient of a checked tensor is not finite: ",
                                          c.op().node()->attr<std::string>("message"))));
}

void FillGradient(GradContext& c) { c.set(1, Sum(c.grad())); }

// Conversions from or to integers have no slope.
void CastGradient(GradContext& c) {
  const DType from = c.input(0).dtype();
  if (IsFloating(from) && IsFloating(c.output(0).dtype())) c.set(0, Cast(c.grad(), from));
}

}  // namespace

void AddArrayGradients(GradTable& grads) {
  AddArrayJoinGradients(grads);
  AddArrayIndexGradients(grads);
  AddArrayLayoutGradients(grads);
  for (const char* op : {"Identity", "IdentityN", "PlaceholderWithDefault", "EnsureShape"}) {
    grads.Add(op, PassThrough);
  }
  grads.Add("PreventGradient", PreventGradientGradient);
  grads.Add("CheckNumerics", CheckNumericsGradient);
  grads.Add("CheckNumericsV2", CheckNumericsGradient);
  grads.Add("Fill", FillGradient);
  grads.Add("Cast", CastGradient);
  grads.AddNone({"Const",
                 "Placeholder",
                 "PlaceholderV2",
                 "StopGradient",
                 "Shape",
                 "ShapeN",
                 "Size",
                 "Rank",
                 "ConcatOffset",
                 "InvertPermutation",
                 "BroadcastArgs",
                 "BroadcastGradientArgs",
                 "OneHot",
                 "ZerosLike",
                 "OnesLike",
                 "Range",
                 "LinSpace",
                 "Where",
                 "DenseToDenseSetOperation",
                 "LowerBound",
                 "UpperBound"});
}

}  // namespace carillon
