#include "graph/node_check.h"

#include <algorithm>
#include <type_traits>

#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "base/throw.h"

namespace carillon {

const char* AttrKindName(AttrKind kind) {
  switch (kind) {
    case AttrKind::kString:
      return "string";
    case AttrKind::kInt:
      return "int";
    case AttrKind::kFloat:
      return "float";
    case AttrKind::kBool:
      return "bool";
    case AttrKind::kType:
      return "type";
    case AttrKind::kShape:
      return "shape";
    case AttrKind::kTensor:
      return "tensor";
    case AttrKind::kFunc:
      return "func";
  }
  return "?";
}

namespace {

// Calls body with a value of the C++ type that holds attributes of this kind.
template <typename Body>
auto WithKind(AttrKind kind, Body&& body) {
  switch (kind) {
    case AttrKind::kString:
      return body(std::string());
    case AttrKind::kInt:
      return body(int64_t{});
    case AttrKind::kFloat:
      return body(float{});
    case AttrKind::kBool:
      return body(bool{});
    case AttrKind::kType:
      return body(DType{});
    case AttrKind::kShape:
      return body(PartialShape());
    case AttrKind::kTensor:
      return body(Tensor());
    case AttrKind::kFunc:
      return body(FunctionRef());
  }
  return body(int64_t{});
}

bool IsEmptyList(const AttrValue& value) {
  return std::visit(
      [](const auto& list) {
        using T = std::decay_t<decltype(list)>;
        if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
          return list.empty();
        } else {
          return false;
        }
      },
      value.variant());
}

Status CheckAllowed(const AttrSpec& spec, const AttrValue& value) {
  const auto check_type = [&](DType dtype) -> Status {
    if (DTypeSize(dtype) == 0)
      return InvalidArgument("attribute '", spec.name, "' is not a valid dtype");
    if (spec.allowed_types.empty() ||
        std::ranges::find(spec.allowed_types, dtype) != spec.allowed_types.end())
      return absl::OkStatus();
    return InvalidArgument(
        "attribute '", spec.name, "' is ", DTypeName(dtype), " but must be one of {",
        absl::StrJoin(spec.allowed_types, ", ",
                      [](std::string* out, DType d) { out->append(DTypeName(d)); }),
        "}");
  };
  const auto check_string = [&](const std::string& text) -> Status {
    if (spec.allowed_strings.empty() ||
        std::ranges::find(spec.allowed_strings, text) != spec.allowed_strings.end())
      return absl::OkStatus();
    return InvalidArgument("attribute '", spec.name, "' is \"", text, "\" but must be one of {",
                           absl::StrJoin(spec.allowed_strings, ", "), "}");
  };
  if (const auto* dtype = value.get_if<DType>()) CARILLON_RETURN_IF_ERROR(check_type(*dtype));
  if (const auto* dtypes = value.get_if<std::vector<DType>>()) {
    for (const DType dtype : *dtypes) CARILLON_RETURN_IF_ERROR(check_type(dtype));
  }
  if (const auto* text = value.get_if<std::string>()) CARILLON_RETURN_IF_ERROR(check_string(*text));
  if (const auto* texts = value.get_if<std::vector<std::string>>()) {
    for (const std::string& text : *texts) CARILLON_RETURN_IF_ERROR(check_string(text));
  }
  if (!spec.minimum.has_value()) return absl::OkStatus();
  if (const auto* number = value.get_if<int64_t>(); number != nullptr && *number < *spec.minimum) {
    return InvalidArgument("attribute '", spec.name, "' is ", *number, " but must be at least ",
                           *spec.minimum);
  }
  const auto length = WithKind(spec.kind, [&]<typename T>(T) -> int64_t {
    const auto* list = value.get_if<std::vector<T>>();
    return list == nullptr ? -1 : static_cast<int64_t>(list->size());
  });
  if (length >= 0 && length < *spec.minimum) {
    return InvalidArgument("attribute '", spec.name, "' has ", length,
                           " elements but needs at least ", *spec.minimum);
  }
  return absl::OkStatus();
}

Status CheckAttr(const AttrSpec& spec, AttrValue* value) {
  const bool right_kind = WithKind(spec.kind, [&]<typename T>(T) {
    if (!spec.is_list) return value->get_if<T>() != nullptr;
    if (IsEmptyList(*value)) *value = AttrValue(std::vector<T>());
    return value->get_if<std::vector<T>>() != nullptr;
  });
  if (!right_kind) {
    return InvalidArgument("attribute '", spec.name, "' should be ",
                           spec.is_list ? "a list of " : "", AttrKindName(spec.kind), " but is ",
                           value->ToString());
  }
  return CheckAllowed(spec, *value);
}

}  // namespace

Status CheckNodeName(std::string_view name) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '_' || c == '/' || c == '-' || c == '>' || c == '\\';
  };
  if (name.empty()) return InvalidArgument("a node needs a name");
  if (name.front() == '/' || name.front() == '-' || name.front() == '>' ||
      !std::ranges::all_of(name, allowed)) {
    return InvalidArgument(
        "a node's name has letters, digits and . _ / - > only and starts with a letter, digit, '.' "
        "or '_'");
  }
  return absl::OkStatus();
}

Status CompleteAttrs(const OpSpec& spec, AttrMap* attrs) {
  for (auto& [name, value] : *attrs) {
    const AttrSpec* known = spec.FindAttr(name);
    if (known != nullptr) {
      CARILLON_RETURN_IF_ERROR(CheckAttr(*known, &value));
    } else if (!name.starts_with('_')) {
      return InvalidArgument(
          "the op has no attribute '", name, "'; it has {",
          absl::StrJoin(spec.attrs, ", ",
                        [](std::string* out, const AttrSpec& a) { out->append(a.name); }),
          "}");
    }
  }
  for (const AttrSpec& attr : spec.attrs) {
    if (attrs->contains(attr.name)) continue;
    if (!attr.default_value.has_value())
      return InvalidArgument("attribute '", attr.name, "' is missing and has no default");
    attrs->emplace(attr.name, *attr.default_value);
  }
  return absl::OkStatus();
}

std::vector<DType> ArgDTypes(const ArgSpec& arg, const AttrMap& attrs) {
  const auto attr = [&]<typename T>(const std::string& name, T) -> const T& {
    return *attrs.find(name)->second.get_if<T>();
  };
  if (!arg.type_list_attr.empty()) return attr(arg.type_list_attr, std::vector<DType>());
  const DType dtype = arg.type_attr.empty() ? arg.dtype : attr(arg.type_attr, DType{});
  if (arg.number_attr.empty()) return {dtype};
  // A number attribute may claim anything: more inputs than a graph can have is the same error as
  // the true number plus one.
  const int64_t count = std::clamp<int64_t>(attr(arg.number_attr, int64_t{}), 0, kMostListed);
  return std::vector<DType>(static_cast<size_t>(count), dtype);
}

Status CheckInputs(const Node& node, bool open_inputs_allowed) {
  size_t i = 0;
  for (const ArgSpec& arg : node.spec().inputs) {
    for (const DType dtype : ArgDTypes(arg, node.attrs())) {
      if (i >= node.inputs().size()) {
        return InvalidArgument("input ", i, " ('", arg.name, "') is missing: only ",
                               node.inputs().size(), " are given");
      }
      const Endpoint& input = node.inputs()[i];
      if (input.node == nullptr) {
        if (!open_inputs_allowed)
          return InvalidArgument("input ", i, " ('", arg.name, "') refers to nothing");
        ++i;
        continue;
      }
      if (input.index < 0 || input.index >= input.node->num_outputs()) {
        return InvalidArgument("input ", i, " ('", arg.name, "') is output ", input.index, " of ",
                               input.node->Describe(), ", which has ", input.node->num_outputs());
      }
      const OutputInfo& given = input.node->output(input.index);
      if (given.dtype != dtype) {
        return InvalidArgument("input ", i, " ('", arg.name, "') should be ", DTypeName(dtype),
                               " but ", input.node->Describe(), " gives ", DTypeName(given.dtype));
      }
      if (arg.is_ref && !given.is_ref) {
        return InvalidArgument("input ", i, " ('", arg.name,
                               "') must be a reference to a variable but ", input.node->Describe(),
                               " gives a value");
      }
      ++i;
    }
  }
  if (i < node.inputs().size())
    return InvalidArgument(node.inputs().size(), " inputs are given but the op takes ", i);
  return absl::OkStatus();
}

std::string DescribeInputs(const Node& node) {
  if (node.num_inputs() == 0) return "";
  return StrCat("with inputs ",
                absl::StrJoin(node.inputs(), ", ",
                              [](std::string* out, const Endpoint& input) {
                                if (input.node == nullptr) return out->append("(open)"), void();
                                const OutputInfo& info = input.node->output(input.index);
                                StrAppend(out, DTypeName(info.dtype), info.shape.ToString());
                              }),
                ": ");
}

}  // namespace carillon
