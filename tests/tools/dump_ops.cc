#include "dump_ops.h"

#include <nlohmann/json.hpp>

#include "graph/node_check.h"
#include "graph/op_spec.h"

namespace carillon {
namespace {

using nlohmann::json;

struct ToJson {
  json operator()(std::monostate) const { return nullptr; }
  json operator()(const std::string& value) const { return value; }
  json operator()(int64_t value) const { return value; }
  json operator()(float value) const { return value; }
  json operator()(bool value) const { return value; }
  json operator()(DType value) const { return DTypeName(value); }
  json operator()(const PartialShape& value) const {
    if (!value.has_rank()) return nullptr;
    return std::vector<int64_t>(value.dims().begin(), value.dims().end());
  }
  json operator()(const Tensor& value) const { return value.ToString(); }
  json operator()(const FunctionRef& value) const { return value.name; }
  template <typename T>
  json operator()(const std::vector<T>& list) const {
    json out = json::array();
    for (const auto& item : list) out.push_back((*this)(static_cast<const T&>(item)));
    return out;
  }
};

json ArgsToJson(const std::vector<ArgSpec>& args) {
  json out = json::array();
  for (const ArgSpec& arg : args) {
    out.push_back({{"name", arg.name},
                   {"type", arg.dtype == DType::kInvalid ? "" : DTypeName(arg.dtype)},
                   {"type_attr", arg.type_attr},
                   {"number_attr", arg.number_attr},
                   {"type_list_attr", arg.type_list_attr},
                   {"is_ref", arg.is_ref}});
  }
  return out;
}

json AttrToJson(const AttrSpec& attr) {
  const std::string kind = AttrKindName(attr.kind);
  json out = {{"name", attr.name},  {"type", attr.is_list ? "list(" + kind + ")" : kind},
              {"minimum", nullptr}, {"allowed", nullptr},
              {"default", nullptr}, {"has_default", attr.default_value.has_value()}};
  if (attr.minimum) out["minimum"] = *attr.minimum;
  if (!attr.allowed_types.empty()) out["allowed"] = ToJson()(attr.allowed_types);
  if (!attr.allowed_strings.empty()) out["allowed"] = attr.allowed_strings;
  if (attr.default_value) out["default"] = std::visit(ToJson(), attr.default_value->variant());
  return out;
}

}  // namespace

std::string DumpOps() {
  json out = json::array();
  for (const auto& spec : AllOps().specs()) {
    json attrs = json::array();
    for (const AttrSpec& attr : spec->attrs) attrs.push_back(AttrToJson(attr));
    out.push_back({{"name", spec->name},
                   {"inputs", ArgsToJson(spec->inputs)},
                   {"outputs", ArgsToJson(spec->outputs)},
                   {"attrs", attrs},
                   {"stateful", spec->is_stateful},
                   {"commutative", spec->is_commutative}});
  }
  return out.dump(1);
}

}  // namespace carillon
