// Adam and AdamW.
#include "carillon/ops/math.h"
#include "carillon/ops/state.h"
#include "carillon/optimizer.h"

namespace carillon {
namespace {

class AdamRule : public UpdateRule {
 public:
  AdamRule(std::string name, const Input& learning_rate, const AdamOptions& options)
      : UpdateRule(std::move(name)), learning_rate_(learning_rate), options_(options) {}

  void CreateSlots(const std::vector<Variable>& variables) override {
    if (!beta1_power_.has_value()) {
      beta1_power_ = MakeScalar(variables, options_.beta1, "beta1_power");
      beta2_power_ = MakeScalar(variables, options_.beta2, "beta2_power");
    }
    for (const Variable& variable : variables) {
      MakeSlot(variable, "m");
      MakeSlot(variable, "v");
    }
  }

  void Prepare(Graph& graph) override {
    rate_ = Shared(graph, learning_rate_, "learning_rate");
    beta1_ = Shared(graph, options_.beta1, "beta1");
    beta2_ = Shared(graph, options_.beta2, "beta2");
    epsilon_ = Shared(graph, options_.epsilon, "epsilon");
    beta1_power_now_ = beta1_power_->read();
    beta2_power_now_ = beta2_power_->read();
  }

  Operation ApplyDense(const Output& gradient, const Variable& variable) override {
    OpBuilder builder = Update("ApplyAdam", variable, {"m", "v"});
    for (const Output& number :
         {beta1_power_now_, beta2_power_now_, rate_, beta1_, beta2_, epsilon_})
      builder.Arg(As(variable, number));
    return builder.Arg(gradient).Build();
  }

  Operation ApplySparse(const Output& values, const Output& indices,
                        const Variable& variable) override {
    const auto as = [&](const Output& number) { return As(variable, number); };
    const Output beta1 = as(beta1_), beta2 = as(beta2_);
    const Output rate = as(rate_) * Sqrt(1 - as(beta2_power_now_)) / (1 - as(beta1_power_now_));
    const Output m = Decayed("m", beta1, values, indices, variable);
    const Output v = Decayed("v", beta2, Square(values), indices, variable);
    return variable.AssignSub(rate * m / (Sqrt(v) + as(epsilon_)));
  }

  std::vector<Operation> Finish() override {
    return {NextPower(*beta1_power_, beta1_power_now_, beta1_),
            NextPower(*beta2_power_, beta2_power_now_, beta2_)};
  }

 protected:
  const Output& rate() const { return rate_; }

 private:
  // Slot `name` = slot * beta, with (1 - beta) * rows added at `indices`; its value after that.
  Output Decayed(const std::string& name, const Output& beta, const Output& rows,
                 const Output& indices, const Variable& variable) const {
    const Variable moment = slot(variable, name);
    const Operation decayed = moment.Assign(moment.read() * beta);
    const Output scaled = rows * (1 - beta);
    const ControlDependencies after_decay(variable.graph(), {decayed});
    const Operation added = ScatterAdd(moment.handle(), indices, scaled);
    const ControlDependencies after_add(variable.graph(), {added});
    return moment.read();
  }

  static Operation NextPower(const Variable& power, const Output& now, const Output& beta) {
    const ColocateWith placed(power.graph(), power.handle().op());
    return power.Assign(now * beta);
  }

  Input learning_rate_;
  AdamOptions options_;
  std::optional<Variable> beta1_power_, beta2_power_;
  Output rate_, beta1_, beta2_, epsilon_;
  Output beta1_power_now_, beta2_power_now_;  // as they are before the updates
};

class AdamWRule : public AdamRule {
 public:
  AdamWRule(const Input& learning_rate, const AdamWOptions& options)
      : AdamRule("AdamW", learning_rate, {options.beta1, options.beta2, options.epsilon}),
        weight_decay_(options.weight_decay),
        decays_(options.decays) {}

  void Prepare(Graph& graph) override {
    AdamRule::Prepare(graph);
    factor_ = rate() * Shared(graph, weight_decay_, "weight_decay");
  }
  Operation ApplyDense(const Output& gradient, const Variable& variable) override {
    const ControlDependencies after(variable.graph(), Decay(gradient, variable));
    return AdamRule::ApplyDense(gradient, variable);
  }
  Operation ApplySparse(const Output& values, const Output& indices,
                        const Variable& variable) override {
    const ControlDependencies after(variable.graph(), Decay(values, variable));
    return AdamRule::ApplySparse(values, indices, variable);
  }

 private:
  // Waits for the gradient, which is that of the weights before they decay.
  std::vector<Operation> Decay(const Output& gradient, const Variable& variable) const {
    if (decays_ && !decays_(variable)) return {};
    const ControlDependencies after(variable.graph(), {gradient.op()});
    return {variable.AssignSub(variable.read() * As(variable, factor_))};
  }

  Input weight_decay_;
  std::function<bool(const Variable&)> decays_;
  Output factor_;
};

}  // namespace

Adam::Adam(const Input& learning_rate, const AdamOptions& options)
    : Optimizer("Adam", std::make_shared<AdamRule>("Adam", learning_rate, options)) {}

AdamW::AdamW(const Input& learning_rate, const AdamWOptions& options)
    : Optimizer("AdamW", std::make_shared<AdamWRule>(learning_rate, options)) {}

}  // namespace carillon
