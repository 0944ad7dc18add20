// How gradients are defined, one function an op, in gradients/FAMILY.cc.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "carillon/gradients.h"
#include "carillon/graph.h"

namespace carillon {

// True when a gradient can flow through `value`: a floating dtype, a handle whose gradient is that
// of the variable behind it, or a list, whose gradient is the list of its elements' gradients.
bool IsTrainable(const Output& value);

// A tensor shaped like `value` (like the variable behind it, for a handle) with every element
// `element`. Dead where `value` is dead.
Output FillLike(const Output& value, double element);

// The sum of all; slices are concatenated when every part is slices, and made dense otherwise.
// Empty when all parts are.
Gradient SumGradients(const std::vector<Gradient>& parts);

// What a gradient function sees: the node whose gradient is wanted, and the gradients that arrived
// at its outputs. It builds graph with the public op functions (carillon/ops/*.h) and sets the
// gradients of the inputs it can; inputs left unset have none.
class GradContext {
 public:
  // `call`: a name that no other call of Gradients has.
  GradContext(Operation op, std::vector<Gradient> output_grads, std::string call = "")
      : op_(op),
        call_(std::move(call)),
        output_grads_(std::move(output_grads)),
        input_grads_(static_cast<size_t>(op.num_inputs())) {}

  Graph& graph() const { return op_.graph(); }
  Operation op() const { return op_; }
  // What this call of Gradients is called; the same for all ops, inside loops too.
  const std::string& call() const { return call_; }
  Output input(int i) const { return op_.input(i); }
  Output output(int i) const { return op_.output(i); }
  int num_inputs() const { return op_.num_inputs(); }
  int num_outputs() const { return op_.num_outputs(); }
  // Gradient with respect to output i, as one tensor; zeros when nothing arrived there (and HasGrad
  // is false).
  Output grad(int i = 0) const;
  bool HasGrad(int i = 0) const { return !output_grads_[static_cast<size_t>(i)].empty(); }
  const Gradient& raw_grad(int i) const { return output_grads_[static_cast<size_t>(i)]; }

  void set(int input, Gradient gradient) {
    input_grads_[static_cast<size_t>(input)] = std::move(gradient);
  }
  std::vector<Gradient>& input_grads() { return input_grads_; }

 private:
  Operation op_;
  std::string call_;
  std::vector<Gradient> output_grads_;
  std::vector<Gradient> input_grads_;
};

// Throws Error when the gradient cannot be built.
using GradFn = void (*)(GradContext& context);

// Built once, then only read.
class GradTable {
 public:
  GradTable();  // every family
  void Add(std::string_view op, GradFn fn);
  // Ops through which no gradient flows (Shape, ArgMax, comparisons, …): not an error, unlike ops
  // that are not in the table at all.
  void AddNone(std::initializer_list<std::string_view> ops);
  // The function; null when no gradient flows. *known says whether the op is in the table.
  GradFn Find(std::string_view op, bool* known) const;

 private:
  std::unordered_map<std::string, GradFn> functions_;
};

const GradTable& AllGradients();

void AddArrayGradients(GradTable& grads);
void AddMathGradients(GradTable& grads);
void AddNnGradients(GradTable& grads);
void AddStateGradients(GradTable& grads);
void AddImageGradients(GradTable& grads);
void AddControlFlowGradients(GradTable& grads);
void AddFunctionGradients(GradTable& grads);
// Of a node that calls a function, also by the function's own name.
void CallGradient(GradContext& context);
void AddListGradients(GradTable& grads);

}  // namespace carillon
