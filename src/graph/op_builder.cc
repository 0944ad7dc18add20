#include "carillon/op_builder.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "base/throw.h"
#include "graph/graph_state.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

// `value` with its elements converted, for literals whose dtype adapts to the op.
Tensor Convert(const Tensor& value, DType dtype) {
  if (value.dtype() == dtype) return value;
  Tensor result(dtype, value.shape());
  bool done = false;
  DispatchAmong<float, double, int32_t, int64_t, bool>(value.dtype(), [&]<typename From>() {
    done = DispatchPlain(dtype, [&]<typename To>() {
      std::ranges::transform(value.values<From>(), result.mutable_data<To>(),
                             [](From v) { return static_cast<To>(v); });
    });
  });
  if (!done)
    Throw(InvalidArgument("a ", DTypeName(value.dtype()), " literal cannot become ",
                          DTypeName(dtype)));
  return result;
}

}  // namespace

struct OpBuilder::State {
  Graph* graph = nullptr;
  std::string op;
  std::string name;
  std::string device;
  std::vector<std::pair<bool, std::vector<carillon::Input>>> args;  // is a list; its elements
  AttrMap attrs;
  std::vector<Node*> after;
};

OpBuilder::OpBuilder(std::string_view op) : state_(std::make_unique<State>()) {
  state_->op = state_->name = std::string(op);
}
OpBuilder::OpBuilder(Graph& graph, std::string_view op) : OpBuilder(op) { state_->graph = &graph; }
OpBuilder::~OpBuilder() = default;
OpBuilder::OpBuilder(OpBuilder&& other) noexcept = default;

OpBuilder& OpBuilder::Name(std::string_view name) {
  if (!name.empty()) state_->name = std::string(name);
  return *this;
}
OpBuilder& OpBuilder::Arg(const Input& input) {
  state_->args.push_back({false, {input}});
  return *this;
}
OpBuilder& OpBuilder::Args(const std::vector<Input>& list) {
  state_->args.push_back({true, list});
  return *this;
}
OpBuilder& OpBuilder::Args(const std::vector<Output>& list) {
  return Args(std::vector<Input>(list.begin(), list.end()));
}
OpBuilder& OpBuilder::AttrValueOf(std::string_view name, AttrValue value) {
  state_->attrs.insert_or_assign(std::string(name), std::move(value));
  return *this;
}
OpBuilder& OpBuilder::Attr(std::string_view name, bool value) {
  return AttrValueOf(name, AttrValue(value));
}
OpBuilder& OpBuilder::Attr(std::string_view name, int value) {
  return AttrValueOf(name, AttrValue(int64_t{value}));
}
OpBuilder& OpBuilder::Attr(std::string_view name, int64_t value) {
  return AttrValueOf(name, AttrValue(value));
}
OpBuilder& OpBuilder::Attr(std::string_view name, float value) {
  return AttrValueOf(name, AttrValue(value));
}
OpBuilder& OpBuilder::Attr(std::string_view name, const char* value) {
  return AttrValueOf(name, AttrValue(std::string(value)));
}
OpBuilder& OpBuilder::Attr(std::string_view name, const std::string& value) {
  return AttrValueOf(name, AttrValue(value));
}
OpBuilder& OpBuilder::Attr(std::string_view name, DType value) {
  return AttrValueOf(name, AttrValue(value));
}
OpBuilder& OpBuilder::Attr(std::string_view name, const PartialShape& value) {
  return AttrValueOf(name, AttrValue(value));
}
OpBuilder& OpBuilder::Attr(std::string_view name, const Tensor& value) {
  return AttrValueOf(name, AttrValue(value));
}
OpBuilder& OpBuilder::Attr(std::string_view name, const std::vector<int64_t>& value) {
  return AttrValueOf(name, AttrValue(value));
}
OpBuilder& OpBuilder::Attr(std::string_view name, const std::vector<DType>& value) {
  return AttrValueOf(name, AttrValue(value));
}
OpBuilder& OpBuilder::Attr(std::string_view name, const std::vector<std::string>& value) {
  return AttrValueOf(name, AttrValue(value));
}
OpBuilder& OpBuilder::After(const Operation& before) {
  state_->after.push_back(before.node());
  return *this;
}
OpBuilder& OpBuilder::Device(std::string_view device) {
  state_->device = std::string(device);
  return *this;
}

Operation OpBuilder::Build() {
  State& s = *state_;
  Output first;  // the one whose graph it is
  for (const auto& [is_list, inputs] : s.args) {
    for (const Input& input : inputs) {
      if (!input.valid())
        Throw(InvalidArgument("an argument of op '", s.op, "' refers to nothing"));
      if (!input.is_output()) continue;
      Graph& graph = input.output().graph();
      if (s.graph == nullptr) s.graph = &graph;
      if (&graph != s.graph) {
        Throw(InvalidArgument("op '", s.op, "' mixes two graphs: '", input.output().name(),
                              "' is of another graph than ",
                              first.valid() ? StrCat("'", first.name(), "'")
                                            : std::string("the one it is built in")));
      }
      if (!first.valid()) first = input.output();
    }
  }
  if (s.graph == nullptr)
    Throw(InvalidArgument("op '", s.op, "' has only literals as arguments: give it a graph"));
  const OpSpec* spec = s.graph->nodes().ops().Find(s.op);
  if (spec == nullptr) {
    Throw(NotFound("op type '", s.op, "' is not known; the nearest known one is '",
                   s.graph->nodes().ops().NearestName(s.op), "'"));
  }
  if (s.args.size() != spec->inputs.size()) {
    Throw(InvalidArgument("op '", s.op, "' takes ", spec->inputs.size(), " arguments but ",
                          s.args.size(), " are given"));
  }
  // Type attributes: first from arguments that have a dtype of their own, then from literals as
  // they are.
  for (const bool weak : {false, true}) {
    for (size_t i = 0; i < s.args.size(); ++i) {
      const ArgSpec& arg = spec->inputs[i];
      for (const Input& input : s.args[i].second) {
        const DType dtype = input.is_output() ? input.output().dtype() : input.value().dtype();
        if (!arg.type_attr.empty() && input.is_weak() == weak && !s.attrs.contains(arg.type_attr)) {
          const AttrSpec* attr = spec->FindAttr(arg.type_attr);
          // A literal takes the default of its attribute: Reshape(x, {-1, 784}) is int32.
          if (weak && attr->default_value.has_value()) continue;
          s.attrs.insert_or_assign(arg.type_attr, AttrValue(dtype));
        }
      }
    }
  }
  NodeInit init{.name = s.name, .op = s.op, .control_inputs = s.after, .device = s.device};
  for (size_t i = 0; i < s.args.size(); ++i) {
    const ArgSpec& arg = spec->inputs[i];
    const auto& [is_list, inputs] = s.args[i];
    if (is_list != arg.is_list()) {
      Throw(InvalidArgument("argument ", i, " ('", arg.name, "') of op '", s.op, "' should ",
                            arg.is_list() ? "" : "not ", "be a list"));
    }
    DType wanted = arg.dtype;
    if (!arg.type_attr.empty()) {
      const auto found = s.attrs.find(arg.type_attr);
      const AttrSpec* attr = spec->FindAttr(arg.type_attr);
      if (found != s.attrs.end())
        wanted = *found->second.get_if<DType>();
      else if (attr->default_value.has_value())
        wanted = *attr->default_value->get_if<DType>();
    }
    if (!arg.number_attr.empty())
      s.attrs.insert_or_assign(arg.number_attr, AttrValue(static_cast<int64_t>(inputs.size())));
    std::vector<DType> types;
    for (const Input& input : inputs) {
      Output output = input.output();
      if (!input.is_output()) {
        const Tensor value = input.is_weak() && wanted != DType::kInvalid
                                 ? Convert(input.value(), wanted)
                                 : input.value();
        output = OpBuilder(*s.graph, "Const")
                     .Name(StrCat(s.name, "/", arg.name))
                     .Attr("value", value)
                     .Attr("dtype", value.dtype());
      }
      types.push_back(output.dtype());
      init.inputs.push_back({output.node(), output.index()});
    }
    if (!arg.type_list_attr.empty())
      s.attrs.insert_or_assign(arg.type_list_attr, AttrValue(std::move(types)));
  }
  init.attrs = std::move(s.attrs);
  return Operation(ValueOrThrow(AddUnderScopes(*s.graph, std::move(init))));
}

}  // namespace carillon
