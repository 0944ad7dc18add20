// OpBuilder: makes an op of any type by name. The functions in carillon/ops/ are written with it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/graph.h"

namespace carillon {

class AttrValue;

//   Output y = OpBuilder(g, "MatMul").Arg(a).Arg(b).Attr("transpose_b", true).Build().output(0);
//
// Arguments come in the order of the op's inputs. Type and number attributes follow from the
// arguments; the others have their defaults unless given. Literals take the dtype that the other
// arguments fix. Build() throws Error(InvalidArgument) and names the op and what does not fit.
class OpBuilder {
 public:
  // The graph is that of the first argument that is an Output.
  explicit OpBuilder(std::string_view op);
  OpBuilder(Graph& graph, std::string_view op);
  ~OpBuilder();
  OpBuilder(OpBuilder&& other) noexcept;

  OpBuilder& Name(std::string_view name);  // default: the op's type
  OpBuilder& Arg(const Input& input);
  OpBuilder& Args(const std::vector<Input>& list);  // one list argument
  OpBuilder& Args(const std::vector<Output>& list);
  OpBuilder& Attr(std::string_view name, bool value);
  OpBuilder& Attr(std::string_view name, int value);
  OpBuilder& Attr(std::string_view name, int64_t value);
  OpBuilder& Attr(std::string_view name, float value);
  OpBuilder& Attr(std::string_view name, const char* value);
  OpBuilder& Attr(std::string_view name, const std::string& value);
  OpBuilder& Attr(std::string_view name, DType value);
  OpBuilder& Attr(std::string_view name, const PartialShape& value);
  OpBuilder& Attr(std::string_view name, const Shape& value) {
    return Attr(name, PartialShape(value));
  }
  OpBuilder& Attr(std::string_view name, const Tensor& value);
  OpBuilder& Attr(std::string_view name, const std::vector<int64_t>& value);
  OpBuilder& Attr(std::string_view name, const std::vector<DType>& value);
  OpBuilder& Attr(std::string_view name, const std::vector<std::string>& value);
  OpBuilder& AttrValueOf(std::string_view name, AttrValue value);  // any kind
  OpBuilder& After(const Operation& before);                       // a control dependency
  OpBuilder& Device(std::string_view device);

  Operation Build();
  operator Output() { return Build().output(0); }  // NOLINT: return OpBuilder("Relu").Arg(x);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace carillon
