// Optimizers whose steps shrink where gradients have been large: Adagrad, Adadelta and RmsProp.
#include "carillon/optimizer.h"

namespace carillon {
namespace {

class AdagradRule : public UpdateRule {
 public:
  AdagradRule(const Input& learning_rate, float initial_accumulator)
      : UpdateRule("Adagrad"),
        learning_rate_(learning_rate),
        initial_accumulator_(initial_accumulator) {}

  void CreateSlots(const std::vector<Variable>& variables) override {
    for (const Variable& variable : variables)
      MakeSlot(variable, "accumulator", initial_accumulator_);
  }
  void Prepare(Graph& graph) override { rate_ = Shared(graph, learning_rate_, "learning_rate"); }
  Operation ApplyDense(const Output& gradient, const Variable& variable) override {
    return Update("ApplyAdagrad", variable, {"accumulator"})
        .Arg(As(variable, rate_))
        .Arg(gradient)
        .Build();
  }
  Operation ApplySparse(const Output& values, const Output& indices,
                        const Variable& variable) override {
    return Update("SparseApplyAdagrad", variable, {"accumulator"})
        .Arg(As(variable, rate_))
        .Arg(values)
        .Arg(indices)
        .Build();
  }

 private:
  Input learning_rate_;
  float initial_accumulator_;
  Output rate_;
};

class AdadeltaRule : public UpdateRule {
 public:
  AdadeltaRule(const Input& learning_rate, const AdadeltaOptions& options)
      : UpdateRule("Adadelta"), learning_rate_(learning_rate), options_(options) {}

  void CreateSlots(const std::vector<Variable>& variables) override {
    for (const Variable& variable : variables) {
      MakeSlot(variable, "accum");
      MakeSlot(variable, "accum_update");
    }
  }
  void Prepare(Graph& graph) override {
    rate_ = Shared(graph, learning_rate_, "lr");
    rho_ = Shared(graph, options_.rho, "rho");
    epsilon_ = Shared(graph, options_.epsilon, "epsilon");
  }
  Operation ApplyDense(const Output& gradient, const Variable& variable) override {
    return WithNumbers("ApplyAdadelta", variable).Arg(gradient).Build();
  }
  Operation ApplySparse(const Output& values, const Output& indices,
                        const Variable& variable) override {
    return WithNumbers("SparseApplyAdadelta", variable).Arg(values).Arg(indices).Build();
  }

 private:
  OpBuilder WithNumbers(const std::string& op, const Variable& variable) const {
    OpBuilder builder = Update(op, variable, {"accum", "accum_update"});
    for (const Output& number : {rate_, rho_, epsilon_}) builder.Arg(As(variable, number));
    return builder;
  }

  Input learning_rate_;
  AdadeltaOptions options_;
  Output rate_, rho_, epsilon_;
};

class RmsPropRule : public UpdateRule {
 public:
  RmsPropRule(const Input& learning_rate, const RmsPropOptions& options)
      : UpdateRule("RMSProp"), learning_rate_(learning_rate), options_(options) {}

  void CreateSlots(const std::vector<Variable>& variables) override {
    for (const Variable& variable : variables) {
      MakeSlot(variable, "rms", 1);
      if (options_.centered) MakeSlot(variable, "mg");
      MakeSlot(variable, "momentum");
    }
  }
  void Prepare(Graph& graph) override {
    rate_ = Shared(graph, learning_rate_, "learning_rate");
    decay_ = Shared(graph, options_.decay, "decay");
    momentum_ = Shared(graph, options_.momentum, "momentum");
    epsilon_ = Shared(graph, options_.epsilon, "epsilon");
  }
  Operation ApplyDense(const Output& gradient, const Variable& variable) override {
    return WithNumbers("Apply", variable).Arg(gradient).Build();
  }
  Operation ApplySparse(const Output& values, const Output& indices,
                        const Variable& variable) override {
    return WithNumbers("SparseApply", variable).Arg(values).Arg(indices).Build();
  }

 private:
  OpBuilder WithNumbers(const std::string& kind, const Variable& variable) const {
    OpBuilder builder = options_.centered
                            ? Update(kind + "CenteredRMSProp", variable, {"mg", "rms", "momentum"})
                            : Update(kind + "RMSProp", variable, {"rms", "momentum"});
    for (const Output& number : {rate_, decay_, momentum_, epsilon_})
      builder.Arg(As(variable, number));
    return builder;
  }

  Input learning_rate_;
  RmsPropOptions options_;
  Output rate_, decay_, momentum_, epsilon_;
};

}  // namespace

Adagrad::Adagrad(const Input& learning_rate, float initial_accumulator)
    : Optimizer("Adagrad", std::make_shared<AdagradRule>(learning_rate, initial_accumulator)) {}

Adadelta::Adadelta(const Input& learning_rate, const AdadeltaOptions& options)
    : Optimizer("Adadelta", std::make_shared<AdadeltaRule>(learning_rate, options)) {}

RmsProp::RmsProp(const Input& learning_rate, const RmsPropOptions& options)
    : Optimizer("RMSProp", std::make_shared<RmsPropRule>(learning_rate, options)) {}

}  // namespace carillon
