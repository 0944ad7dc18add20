#include "graph/function_body.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/strings.h"
#include "graph/frames.h"
#include "graph/graph_def.h"
#include "graph/node_check.h"
#include "graph/ops/function_shapes.h"
#include "proto/graph.pb.h"

namespace carillon {
namespace {

using AttrProtos = google::protobuf::Map<std::string, tensorflow::AttrValue>;

constexpr int kMaxAttrDepth = 32;
constexpr size_t kMaxArgs = 1 << 16;
// About what a node takes, and each input, besides what its definition does.
constexpr int64_t kNode = 1024;
constexpr int64_t kInput = 32;

StatusOr<AttrSpec> SpecOfAttr(const tensorflow::OpDef::AttrDef& def) {
  static const std::unordered_map<std::string_view, AttrKind> kKinds = {
      {"string", AttrKind::kString}, {"int", AttrKind::kInt},   {"float", AttrKind::kFloat},
      {"bool", AttrKind::kBool},     {"type", AttrKind::kType}, {"shape", AttrKind::kShape},
      {"tensor", AttrKind::kTensor}, {"func", AttrKind::kFunc}};
  AttrSpec spec{.name = def.name()};
  std::string_view type = def.type();
  if (type.starts_with("list(") && type.ends_with(")")) {
    spec.is_list = true;
    type = type.substr(5, type.size() - 6);
  }
  const auto kind = kKinds.find(type);
  if (def.name().empty() || kind == kKinds.end())
    return InvalidArgument("attribute '", def.name(), "' is of the unknown kind '", def.type(),
                           "'");
  spec.kind = kind->second;
  if (def.has_minimum()) spec.minimum = def.minimum();
  if (def.has_default_value()) {
    CARILLON_ASSIGN_OR_RETURN(spec.default_value, AttrFromProto(def.default_value()));
  }
  if (def.has_allowed_values()) {
    for (const int allowed : def.allowed_values().list().type())
      spec.allowed_types.push_back(static_cast<DType>(allowed));
    const auto& strings = def.allowed_values().list().s();
    spec.allowed_strings.assign(strings.begin(), strings.end());
  }
  return spec;
}

Status CheckAttrIs(const OpSpec& spec, const std::string& name, AttrKind kind, bool is_list,
                   const std::string& arg) {
  const AttrSpec* attr = spec.FindAttr(name);
  if (attr != nullptr && attr->kind == kind && attr->is_list == is_list) return absl::OkStatus();
  return InvalidArgument("argument '", arg, "' refers to '", name,
                         "', which is no attribute that could describe it");
}

StatusOr<ArgSpec> SpecOfArg(const tensorflow::OpDef::ArgDef& def, const OpSpec& spec) {
  ArgSpec arg{.name = def.name(),
              .dtype = static_cast<DType>(def.type()),
              .type_attr = def.type_attr(),
              .number_attr = def.number_attr(),
              .type_list_attr = def.type_list_attr(),
              .is_ref = def.is_ref()};
  if (!arg.type_list_attr.empty()) {
    CARILLON_RETURN_IF_ERROR(
        CheckAttrIs(spec, arg.type_list_attr, AttrKind::kType, true, arg.name));
  } else if (!arg.type_attr.empty()) {
    CARILLON_RETURN_IF_ERROR(CheckAttrIs(spec, arg.type_attr, AttrKind::kType, false, arg.name));
  } else if (DTypeSize(arg.dtype) == 0) {
    return InvalidArgument("argument '", arg.name, "' has no valid dtype");
  }
  if (!arg.number_attr.empty())
    CARILLON_RETURN_IF_ERROR(CheckAttrIs(spec, arg.number_attr, AttrKind::kInt, false, arg.name));
  return arg;
}

// Puts the attributes of a call in place of the names by which a body refers to them, however often
// it does.
Status Substitute(const AttrProtos& given, tensorflow::AttrValue* value, MemoryCharge* charge,
                  int depth = 0) {
  if (depth > kMaxAttrDepth)
    return InvalidArgument("attributes are nested deeper than ", kMaxAttrDepth);
  if (value->value_case() == tensorflow::AttrValue::kPlaceholder) {
    const auto found = given.find(value->placeholder());
    if (found == given.end())
      return InvalidArgument("the call gives no attribute '", value->placeholder(), "'");
    // As a message, and as what is made of it.
    CARILLON_RETURN_IF_ERROR(charge->Add(2 * static_cast<int64_t>(found->second.SpaceUsedLong())));
    *value = tensorflow::AttrValue(found->second);
    return absl::OkStatus();
  }
  const auto substitute_in = [&](tensorflow::NameAttrList* function) -> Status {
    for (auto& [name, attr] : *function->mutable_attr())
      CARILLON_RETURN_IF_ERROR(Substitute(given, &attr, charge, depth + 1));
    return absl::OkStatus();
  };
  if (value->has_func()) return substitute_in(value->mutable_func());
  if (value->has_list()) {
    for (tensorflow::NameAttrList& function : *value->mutable_list()->mutable_func())
      CARILLON_RETURN_IF_ERROR(substitute_in(&function));
  }
  return absl::OkStatus();
}

// One instantiation under way. Inputs in a FunctionDef name an argument ("x", of a list "x:2") or
// an output by the name that the op's spec gives it ("node:output:0"): a GraphDef with the usual
// notation is made of it, and imported.
class BodyBuilder {
 public:
  BodyBuilder(const tensorflow::FunctionDef& def, const OpSpec& spec, const FunctionRef& function,
              const std::vector<OutputInfo>& known, FunctionBody* body)
      : def_(def),
        spec_(spec),
        function_(function),
        known_(known),
        body_(*body),
        graph_(body->graph.nodes()) {}

  Status Build() {
    body_.charge = std::make_unique<MemoryCharge>(allocator());
    CARILLON_RETURN_IF_ERROR(ReadAttrs());
    for (int i = 0; i < def_.node_def_size(); ++i) {
      const tensorflow::NodeDef& node = def_.node_def(i);
      if (!nodes_.emplace(node.name(), &node).second)
        return InvalidArgument("there are two nodes called '", node.name(), "'");
    }
    CARILLON_RETURN_IF_ERROR(AddArgs());
    MemoryCharge converted(allocator());
    tensorflow::GraphDef graph_def;
    for (const tensorflow::NodeDef& node : def_.node_def()) {
      const auto bytes = static_cast<int64_t>(node.SpaceUsedLong());
      CARILLON_RETURN_IF_ERROR(converted.Add(bytes));
      CARILLON_RETURN_IF_ERROR(body_.charge->Add(bytes));  // what the node makes of it
      CARILLON_RETURN_IF_ERROR(ConvertNode(node, graph_def.add_node()));
    }
    CARILLON_RETURN_IF_ERROR(ImportGraphDef(graph_def, "", &graph_, allocator()));
    CARILLON_RETURN_IF_ERROR(FindResults());
    return FindEffects();
  }

 private:
  Allocator* allocator() const { return graph_.functions()->allocator(); }

  Status ReadAttrs() {
    for (const auto& [name, value] : function_.attrs) {
      AttrToProto(value, &attr_protos_[name]);
      if (spec_.FindAttr(name) != nullptr) attrs_.emplace(name, value);
    }
    CARILLON_RETURN_IF_ERROR(CompleteAttrs(spec_, &attrs_));
    for (const auto& [name, value] : attrs_) AttrToProto(value, &attr_protos_[name]);
    return absl::OkStatus();
  }

  PartialShape ArgShape(size_t position, size_t in_list) const {
    const auto attrs = def_.arg_attr().find(static_cast<uint32_t>(position));
    if (attrs == def_.arg_attr().end()) return {};
    const auto shapes = attrs->second.attr().find("_output_shapes");
    if (shapes == attrs->second.attr().end()) return {};
    const StatusOr<AttrValue> value = AttrFromProto(shapes->second);
    if (!value.ok()) return {};
    const auto* list = value->get_if<std::vector<PartialShape>>();
    return list != nullptr && in_list < list->size() ? (*list)[in_list] : PartialShape();
  }

  Status AddArgs() {
    for (size_t position = 0; position < spec_.inputs.size(); ++position) {
      const ArgSpec& arg = spec_.inputs[position];
      if (nodes_.contains(arg.name) || args_.contains(arg.name))
        return InvalidArgument("the argument '", arg.name, "' has the name of something else");
      std::vector<Node*>& list = args_[arg.name];
      const std::vector<DType> dtypes = ArgDTypes(arg, attrs_);
      if (body_.args.size() + dtypes.size() > kMaxArgs)
        return InvalidArgument("there are more than ", kMaxArgs, " arguments");
      CARILLON_RETURN_IF_ERROR(body_.charge->Add(kNode * static_cast<int64_t>(dtypes.size())));
      for (size_t i = 0; i < dtypes.size(); ++i) {
        AttrMap attrs;
        attrs.emplace("T", AttrValue(dtypes[i]));
        attrs.emplace("index", AttrValue(static_cast<int64_t>(body_.args.size())));
        PartialShape shape = ArgShape(position, i);
        const size_t flat = body_.args.size();
        if (flat < known_.size()) shape.MergeWith(known_[flat].shape, &shape);
        attrs.emplace("shape", AttrValue(shape));
        std::string name = arg.is_list() ? StrCat(arg.name, "_", i) : arg.name;
        while (nodes_.contains(name) || graph_.Find(name) != nullptr) name += "_arg";
        CARILLON_ASSIGN_OR_RETURN(
            Node * node,
            graph_.Add({.name = std::move(name), .op = "_Arg", .attrs = std::move(attrs)}));
        if (flat < known_.size()) node->mutable_output(0).handle = known_[flat].handle;
        list.push_back(node);
        body_.args.push_back(node);
      }
    }
    return absl::OkStatus();
  }

  Status ConvertNode(const tensorflow::NodeDef& from, tensorflow::NodeDef* to) {
    const auto fail = [&](const Status& status) {
      return Annotate(status, StrCat("node '", from.name(), "' (", from.op(), "): "));
    };
    to->set_name(from.name());
    to->set_op(from.op());
    to->set_device(from.device());
    for (const std::string& input : from.input()) {
      StatusOr<std::string> converted = ConvertInput(input);
      if (!converted.ok()) return fail(converted.status());
      to->add_input(*std::move(converted));
    }
    *to->mutable_attr() = from.attr();
    for (auto& [name, value] : *to->mutable_attr()) {
      if (Status status = Substitute(attr_protos_, &value, body_.charge.get()); !status.ok())
        return fail(Annotate(status, StrCat("attribute '", name, "': ")));
    }
    const OpSpec* const spec = FindSpec(from.op());
    const int64_t outputs = spec == nullptr ? 0 : NumOutputs(*to, *spec);
    return fail(CountOutputs(outputs, kNode + kInput * from.input_size()));
  }

  // Before there are so many, with so many bytes besides.
  Status CountOutputs(int64_t outputs, int64_t bytes) {
    return body_.charge->Add(outputs * static_cast<int64_t>(sizeof(OutputInfo)) + bytes);
  }

  const OpSpec* FindSpec(const std::string& op) const {
    const OpSpec* const spec = graph_.ops().Find(op);
    return spec != nullptr ? spec : graph_.functions()->FindSpec(op);
  }

  // "x", "x:1", "node:output:0", "^node" as an import understands it.
  StatusOr<std::string> ConvertInput(const std::string& text) {
    if (text.starts_with('^')) {
      const auto arg = args_.find(text.substr(1));
      if (arg == args_.end()) return text;
      if (arg->second.empty()) return InvalidArgument("the input '", text, "' does not exist");
      return StrCat("^", arg->second.front()->name());
    }
    const std::vector<std::string> parts = absl::StrSplit(text, ':');
    int64_t index = 0;
    const auto read_index = [&](const std::string& digits) {
      return absl::SimpleAtoi(digits, &index) && index >= 0 &&
             index < std::numeric_limits<int>::max();
    };
    const auto malformed = [&] { return InvalidArgument("the input '", text, "' is malformed"); };
    if (const auto arg = args_.find(parts[0]); arg != args_.end()) {
      if (parts.size() > 2 || (parts.size() == 2 && !read_index(parts[1]))) return malformed();
      if (static_cast<size_t>(index) >= arg->second.size())
        return InvalidArgument("the input '", text, "' does not exist: the argument has ",
                               arg->second.size(), " elements");
      return arg->second[static_cast<size_t>(index)]->name();
    }
    const auto node = nodes_.find(parts[0]);
    if (node == nodes_.end())
      return InvalidArgument("the input '", text, "' names neither an argument nor a node");
    if (parts.size() < 2 || parts.size() > 3 || (parts.size() == 3 && !read_index(parts[2])))
      return malformed();
    CARILLON_ASSIGN_OR_RETURN(const int64_t offset, OffsetOf(*node->second, parts[1], index));
    return StrCat(parts[0], ":", offset);
  }

  // The flat number of element `index` of the output `name`.
  StatusOr<int64_t> OffsetOf(const tensorflow::NodeDef& node, const std::string& name,
                             int64_t index) {
    const OpSpec* const spec = FindSpec(node.op());
    if (spec == nullptr) return graph_.CheckOp(node.op(), node.name());
    int64_t offset = 0;
    for (size_t i = 0; i < spec->outputs.size(); ++i) {
      const ArgSpec& output = spec->outputs[i];
      const bool found = output.name == name;
      if (found && index == 0) return offset;
      int64_t size = 1;
      if (output.is_list()) {
        CARILLON_ASSIGN_OR_RETURN(const std::vector<int64_t>* sizes, OutputSizes(node, *spec));
        size = (*sizes)[i];
      }
      if (!found) {
        offset += size;
        continue;
      }
      if (index >= size)
        return InvalidArgument("the output '", name, "' of node '", node.name(), "' has ", size,
                               " elements: there is no element ", index);
      return offset + index;
    }
    return InvalidArgument("node '", node.name(), "' (", node.op(), ") has no output called '",
                           name, "'");
  }

  // Of each output. Found out once: each element of a list asks.
  StatusOr<const std::vector<int64_t>*> OutputSizes(const tensorflow::NodeDef& node,
                                                    const OpSpec& spec) {
    const auto [found, is_new] = output_sizes_.try_emplace(&node);
    if (is_new) {
      CARILLON_ASSIGN_OR_RETURN(const AttrMap attrs, AttrsOf(node, spec));
      for (const ArgSpec& output : spec.outputs)
        found->second.push_back(static_cast<int64_t>(ArgDTypes(output, attrs).size()));
    }
    return &found->second;
  }

  StatusOr<AttrMap> AttrsOf(const tensorflow::NodeDef& node, const OpSpec& spec) const {
    AttrMap attrs;
    for (const auto& [name, given] : node.attr()) {
      if (spec.FindAttr(name) == nullptr) continue;
      tensorflow::AttrValue proto = given;
      CARILLON_RETURN_IF_ERROR(Substitute(attr_protos_, &proto, body_.charge.get()));
      CARILLON_ASSIGN_OR_RETURN(AttrValue value, AttrFromProto(proto, allocator()));
      attrs.emplace(name, std::move(value));
    }
    CARILLON_RETURN_IF_ERROR(CompleteAttrs(spec, &attrs));
    return attrs;
  }

  Status FindResults() {
    for (const ArgSpec& output : spec_.outputs) {
      const auto ret = def_.ret().find(output.name);
      if (ret == def_.ret().end())
        return InvalidArgument("nothing is said about the result '", output.name, "'");
      const std::vector<DType> dtypes = ArgDTypes(output, attrs_);
      const auto count = static_cast<int64_t>(dtypes.size());
      CARILLON_RETURN_IF_ERROR(CountOutputs(count, count * static_cast<int64_t>(sizeof(Endpoint))));
      for (size_t i = 0; i < dtypes.size(); ++i) {
        CARILLON_ASSIGN_OR_RETURN(const std::string name,
                                  ConvertInput(i == 0 ? ret->second : StrCat(ret->second, ":", i)));
        CARILLON_ASSIGN_OR_RETURN(const Endpoint result, FindEndpoint(graph_, name));
        const DType dtype = result.node->output(result.index).dtype;
        if (dtype != dtypes[i])
          return InvalidArgument("the result '", output.name, "' should be ", DTypeName(dtypes[i]),
                                 " but ", result.node->Describe(), " gives ", DTypeName(dtype));
        body_.results.push_back(result);
      }
    }
    return absl::OkStatus();
  }

  Status FindEffects() {
    std::vector<bool> is_effect(graph_.nodes().size(), false);
    for (const auto& [name, node_name] : def_.control_ret()) {
      const Node* node = graph_.Find(node_name);
      if (node == nullptr)
        return InvalidArgument("the control output '", name, "' is '", node_name,
                               "', which is no node");
      is_effect[static_cast<size_t>(node->id())] = true;
    }
    CARILLON_ASSIGN_OR_RETURN(const std::vector<Node*> order, graph_.TopologicalOrder());
    CARILLON_ASSIGN_OR_RETURN(const FrameMap frames, FrameMap::Make(graph_));
    // A node behind a Switch may not run; a Merge ends that.
    std::vector<bool> may_be_dead(graph_.nodes().size(), false);
    for (Node* node : order) {
      const size_t id = static_cast<size_t>(node->id());
      const auto dies = [&](const Node* before) {
        return before != nullptr && may_be_dead[static_cast<size_t>(before->id())];
      };
      may_be_dead[id] =
          IsSwitch(*node) ||
          (!IsMerge(*node) && (std::ranges::any_of(node->inputs(), dies, &Endpoint::node) ||
                               std::ranges::any_of(node->control_inputs(), dies)));
      if (frames.runs_in(*node) != 0 || may_be_dead[id]) continue;
      if (node->spec().is_stateful && node->op() != "_Arg") is_effect[id] = true;
      if (is_effect[id]) body_.effects.push_back(node);
    }
    return absl::OkStatus();
  }

  const tensorflow::FunctionDef& def_;
  const OpSpec& spec_;
  const FunctionRef& function_;
  const std::vector<OutputInfo>& known_;  // of the arguments
  FunctionBody& body_;
  NodeGraph& graph_;
  AttrMap attrs_;
  AttrProtos attr_protos_;
  std::unordered_map<std::string, const tensorflow::NodeDef*> nodes_;
  std::unordered_map<std::string, std::vector<Node*>> args_;
  std::unordered_map<const tensorflow::NodeDef*, std::vector<int64_t>> output_sizes_;
};

}  // namespace

StatusOr<OpSpec> SpecOfFunction(const tensorflow::FunctionDef& def) {
  const tensorflow::OpDef& signature = def.signature();
  OpSpec spec{.name = signature.name(),
              .is_stateful = signature.is_stateful(),
              .shape_fn = FunctionCallShape};
  for (const auto& attr : signature.attr()) {
    CARILLON_ASSIGN_OR_RETURN(AttrSpec attr_spec, SpecOfAttr(attr));
    spec.attrs.push_back(std::move(attr_spec));
  }
  for (const auto& arg : signature.input_arg()) {
    CARILLON_ASSIGN_OR_RETURN(ArgSpec arg_spec, SpecOfArg(arg, spec));
    spec.inputs.push_back(std::move(arg_spec));
  }
  for (const auto& arg : signature.output_arg()) {
    CARILLON_ASSIGN_OR_RETURN(ArgSpec arg_spec, SpecOfArg(arg, spec));
    spec.outputs.push_back(std::move(arg_spec));
  }
  return spec;
}

Status BuildFunctionBody(const tensorflow::FunctionDef& def, const OpSpec& spec,
                         const FunctionRef& function, const std::vector<OutputInfo>& args,
                         FunctionBody* body) {
  return BodyBuilder(def, spec, function, args, body).Build();
}

}  // namespace carillon
