// Optimizers that follow the gradient as it is: GradientDescent and Momentum.
#include "carillon/ops/math.h"
#include "carillon/ops/state.h"
#include "carillon/optimizer.h"

namespace carillon {
namespace {

class GradientDescentRule : public UpdateRule {
 public:
  explicit GradientDescentRule(const Input& learning_rate)
      : UpdateRule("GradientDescent"), learning_rate_(learning_rate) {}

  void Prepare(Graph& graph) override { rate_ = Shared(graph, learning_rate_, "learning_rate"); }

  Operation ApplyDense(const Output& gradient, const Variable& variable) override {
    return Update("ApplyGradientDescent", variable).Arg(As(variable, rate_)).Arg(gradient).Build();
  }
  // Rows that repeat need no adding up first: each is subtracted in turn.
  Operation ApplySlices(const IndexedSlices& gradient, const Variable& variable) override {
    return ApplySparse(gradient.values, gradient.indices, variable);
  }
  Operation ApplySparse(const Output& values, const Output& indices,
                        const Variable& variable) override {
    const Output scaled = values * As(variable, rate_);
    return ScatterSub(variable.handle(), indices, scaled);
  }

 private:
  Input learning_rate_;
  Output rate_;
};

class MomentumRule : public UpdateRule {
 public:
  MomentumRule(const Input& learning_rate, const Input& momentum, bool nesterov)
      : UpdateRule("Momentum"),
        learning_rate_(learning_rate),
        momentum_(momentum),
        nesterov_(nesterov) {}

  void CreateSlots(const std::vector<Variable>& variables) override {
    for (const Variable& variable : variables) MakeSlot(variable, "momentum");
  }
  void Prepare(Graph& graph) override {
    rate_ = Shared(graph, learning_rate_, "learning_rate");
    factor_ = Shared(graph, momentum_, "momentum");
  }
  Operation ApplyDense(const Output& gradient, const Variable& variable) override {
    return Update("ApplyMomentum", variable, {"momentum"})
        .Arg(As(variable, rate_))
        .Arg(gradient)
        .Arg(As(variable, factor_))
        .Attr("use_nesterov", nesterov_)
        .Build();
  }
  Operation ApplySparse(const Output& values, const Output& indices,
                        const Variable& variable) override {
    return Update("SparseApplyMomentum", variable, {"momentum"})
        .Arg(As(variable, rate_))
        .Arg(values)
        .Arg(indices)
        .Arg(As(variable, factor_))
        .Attr("use_nesterov", nesterov_)
        .Build();
  }

 private:
  Input learning_rate_, momentum_;
  bool nesterov_;
  Output rate_, factor_;
};

}  // namespace

GradientDescent::GradientDescent(const Input& learning_rate)
    : Optimizer("GradientDescent", std::make_shared<GradientDescentRule>(learning_rate)) {}

Momentum::Momentum(const Input& learning_rate, const Input& momentum, bool nesterov)
    : Optimizer("Momentum", std::make_shared<MomentumRule>(learning_rate, momentum, nesterov)) {}

}  // namespace carillon
