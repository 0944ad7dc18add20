#include "carillon/optimizer.h"

namespace carillon {
namespace {

class FtrlRule : public UpdateRule {
 public:
  FtrlRule(const Input& learning_rate, const FtrlOptions& options)
      : UpdateRule("Ftrl"), learning_rate_(learning_rate), options_(options) {}

  void CreateSlots(const std::vector<Variable>& variables) override {
    for (const Variable& variable : variables) {
      MakeSlot(variable, "accum", options_.initial_accumulator);
      MakeSlot(variable, "linear");
    }
  }
  void Prepare(Graph& graph) override {
    numbers_ = {Shared(graph, learning_rate_, "learning_rate"),
                Shared(graph, options_.l1, "l1_regularization_strength"),
                Shared(graph, options_.l2, "l2_regularization_strength")};
    if (options_.l2_shrinkage != 0) {
      numbers_.push_back(
          Shared(graph, options_.l2_shrinkage, "l2_shrinkage_regularization_strength"));
    }
    numbers_.push_back(Shared(graph, options_.learning_rate_power, "learning_rate_power"));
  }
  Operation ApplyDense(const Output& gradient, const Variable& variable) override {
    return Build("ApplyFtrl", variable, {gradient});
  }
  Operation ApplySparse(const Output& values, const Output& indices,
                        const Variable& variable) override {
    return Build("SparseApplyFtrl", variable, {values, indices});
  }

 private:
  Operation Build(const std::string& op, const Variable& variable,
                  const std::vector<Output>& gradient) const {
    OpBuilder builder =
        Update(options_.l2_shrinkage != 0 ? op + "V2" : op, variable, {"accum", "linear"});
    for (const Output& part : gradient) builder.Arg(part);
    for (const Output& number : numbers_) builder.Arg(As(variable, number));
    return builder.Build();
  }

  Input learning_rate_;
  FtrlOptions options_;
  std::vector<Output> numbers_;
};

}  // namespace

Ftrl::Ftrl(const Input& learning_rate, const FtrlOptions& options)
    : Optimizer("Ftrl", std::make_shared<FtrlRule>(learning_rate, options)) {}

}  // namespace carillon
