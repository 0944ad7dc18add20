#include "graph/graph_def.h"

#include <algorithm>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <limits>
#include <queue>
#include <type_traits>
#include <unordered_map>

#include "absl/strings/numbers.h"
#include "base/edit_distance.h"
#include "base/strings.h"
#include "base/work_scope.h"
#include "graph/function_library.h"
#include "graph/node_check.h"
#include "graph/node_mark.h"
#include "graph/passes/pass.h"
#include "proto/graph.pb.h"
#include "tensor/tensor_proto.h"

namespace carillon {
namespace {

constexpr int kMaxFunctionDepth = 32;

StatusOr<FunctionRef> FunctionFromProto(const tensorflow::NameAttrList& proto, int depth,
                                        Allocator* allocator);

StatusOr<AttrValue> AttrFromProtoAt(const tensorflow::AttrValue& proto, int depth,
                                    Allocator* allocator) {
  using Proto = tensorflow::AttrValue;
  switch (proto.value_case()) {
    case Proto::kS:
      return AttrValue(proto.s());
    case Proto::kI:
      return AttrValue(static_cast<int64_t>(proto.i()));
    case Proto::kF:
      return AttrValue(proto.f());
    case Proto::kB:
      return AttrValue(proto.b());
    case Proto::kType:
      return AttrValue(static_cast<DType>(proto.type()));
    case Proto::kShape: {
      CARILLON_ASSIGN_OR_RETURN(PartialShape shape, PartialShapeFromProto(proto.shape()));
      return AttrValue(shape);
    }
    case Proto::kTensor: {
      CARILLON_ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(proto.tensor(), allocator));
      return AttrValue(std::move(tensor));
    }
    case Proto::kFunc: {
      CARILLON_ASSIGN_OR_RETURN(FunctionRef function,
                                FunctionFromProto(proto.func(), depth, allocator));
      return AttrValue(std::move(function));
    }
    case Proto::kList:
      break;
    case Proto::kPlaceholder:
      return InvalidArgument("an attribute is the placeholder '", proto.placeholder(),
                             "', which only functions may have");
    case Proto::VALUE_NOT_SET:
      return InvalidArgument("an attribute has no value");
  }
  const auto& list = proto.list();
  if (list.i_size() > 0) return AttrValue(std::vector<int64_t>(list.i().begin(), list.i().end()));
  if (list.f_size() > 0) return AttrValue(std::vector<float>(list.f().begin(), list.f().end()));
  if (list.b_size() > 0) return AttrValue(std::vector<bool>(list.b().begin(), list.b().end()));
  if (list.type_size() > 0) {
    std::vector<DType> types;
    for (const int type : list.type()) types.push_back(static_cast<DType>(type));
    return AttrValue(std::move(types));
  }
  if (list.shape_size() > 0) {
    std::vector<PartialShape> shapes;
    for (const auto& one : list.shape()) {
      CARILLON_ASSIGN_OR_RETURN(PartialShape shape, PartialShapeFromProto(one));
      shapes.push_back(shape);
    }
    return AttrValue(std::move(shapes));
  }
  if (list.tensor_size() > 0) {
    std::vector<Tensor> tensors;
    for (const auto& one : list.tensor()) {
      CARILLON_ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(one, allocator));
      tensors.push_back(std::move(tensor));
    }
    return AttrValue(std::move(tensors));
  }
  if (list.func_size() > 0) {
    std::vector<FunctionRef> functions;
    for (const auto& one : list.func()) {
      CARILLON_ASSIGN_OR_RETURN(FunctionRef function, FunctionFromProto(one, depth, allocator));
      functions.push_back(std::move(function));
    }
    return AttrValue(std::move(functions));
  }
  return AttrValue(std::vector<std::string>(list.s().begin(), list.s().end()));
}

StatusOr<FunctionRef> FunctionFromProto(const tensorflow::NameAttrList& proto, int depth,
                                        Allocator* allocator) {
  if (depth >= kMaxFunctionDepth)
    return InvalidArgument("function attributes are nested deeper than ", kMaxFunctionDepth);
  FunctionRef function{proto.name(), {}};
  for (const auto& [name, attr] : proto.attr()) {
    CARILLON_ASSIGN_OR_RETURN(AttrValue value, AttrFromProtoAt(attr, depth + 1, allocator));
    function.attrs.emplace_back(name, std::move(value));
  }
  std::ranges::sort(function.attrs, {},
                    [](const auto& pair) -> const std::string& { return pair.first; });
  return function;
}

void FunctionToProto(const FunctionRef& function, tensorflow::NameAttrList* proto) {
  proto->set_name(function.name);
  for (const auto& [name, value] : function.attrs)
    AttrToProto(value, &(*proto->mutable_attr())[name]);
}

// An input as it is written: "name", "name:1" or "^name".
struct ParsedInput {
  std::string node;
  int index = 0;
  bool is_control = false;
};

StatusOr<ParsedInput> ParseInput(std::string_view text) {
  ParsedInput input;
  if (text.starts_with('^')) {
    input.is_control = true;
    input.node = std::string(text.substr(1));
  } else if (const size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    const std::string_view number = text.substr(colon + 1);
    if (!absl::SimpleAtoi(absl::string_view(number.data(), number.size()), &input.index) ||
        input.index < 0) {
      return InvalidArgument("the input '", text, "' is malformed");
    }
    input.node = std::string(text.substr(0, colon));
  } else {
    input.node = std::string(text);
  }
  if (input.node.empty()) return InvalidArgument("the input '", text, "' is malformed");
  return input;
}

bool IsNextIteration(const std::string& op) {
  return op == "NextIteration" || op == "RefNextIteration";
}
bool IsMerge(const std::string& op) { return op == "Merge" || op == "RefMerge"; }

// Unimplemented for a node of a dtype that TensorFlow has and we do not.
Status CheckDTypes(const tensorflow::NodeDef& node) {
  constexpr std::pair<int, const char*> kMissing[] = {
      {8, "complex64"},      {11, "qint8"},   {12, "quint8"},     {13, "qint32"},
      {15, "qint16"},        {16, "quint16"}, {18, "complex128"}, {24, "float8_e5m2"},
      {25, "float8_e4m3fn"}, {29, "int4"},    {30, "uint4"}};
  constexpr int kReference = 100;
  const auto check = [&](int dtype) -> Status {
    for (const auto& [number, name] : kMissing) {
      if (dtype % kReference == number)
        return Unimplemented("node '", node.name(), "' (", node.op(), ") is of dtype ", name,
                             ", which is not supported");
    }
    return absl::OkStatus();
  };
  for (const auto& [name, attr] : node.attr()) {
    if (name.starts_with('_')) continue;
    CARILLON_RETURN_IF_ERROR(check(attr.type()));
    CARILLON_RETURN_IF_ERROR(check(attr.tensor().dtype()));
    for (const int dtype : attr.list().type()) CARILLON_RETURN_IF_ERROR(check(dtype));
  }
  return absl::OkStatus();
}

// One import: resolves names, finds an order, adds node by node, and takes everything back on
// failure.
class Importer {
 public:
  Importer(const tensorflow::GraphDef& graph_def, const std::string& prefix, NodeGraph* graph,
           Allocator* allocator, bool is_specialized, NodesLeftOut* left_out = nullptr)
      : def_(graph_def),
        prefix_(prefix.empty() ? "" : prefix + "/"),
        graph_(graph),
        allocator_(allocator),
        is_specialized_(is_specialized),
        left_out_(left_out) {}

  Status Run() {
    CARILLON_RETURN_IF_ERROR(AddFunctions());
    Status status;
    try {
      status = AddAll();
    } catch (...) {
      TakeBack();
      throw;
    }
    if (!status.ok()) TakeBack();
    return status;
  }

 private:
  struct BackEdge {
    Node* merge;
    int input;
    ParsedInput from;
  };

  void TakeBack() {
    for (auto node = added_.rbegin(); node != added_.rend(); ++node) graph_->Remove(*node);
    if (!functions_.empty()) graph_->functions()->Remove(functions_);
    for (const std::string& name : newly_left_out_) left_out_->erase(name);
  }

  Status AddFunctions() {
    if (def_.library().function().empty() && def_.library().gradient().empty())
      return absl::OkStatus();
    if (graph_->functions() == nullptr)
      graph_->set_functions(std::make_shared<FunctionLibrary>(allocator_));
    return graph_->functions()->Add(def_.library(), &functions_);
  }

  Status AddAll() {
    const size_t n = static_cast<size_t>(def_.node_size());
    for (size_t i = 0; i < n; ++i) {
      const std::string& name = Def(i).name();
      if (!index_.emplace(name, i).second)
        return InvalidArgument("the graph has two nodes called '", name, "'");
    }
    inputs_.resize(n);
    std::vector<size_t> waiting(n, 0);
    std::vector<std::vector<size_t>> consumers(n);
    for (size_t i = 0; i < n; ++i) {
      for (const std::string& text : Def(i).input()) {
        CARILLON_ASSIGN_OR_RETURN(ParsedInput input, ParseInput(text));
        const auto found = index_.find(input.node);
        if (found != index_.end()) {
          const bool closes_loop = IsMerge(Def(i).op()) && IsNextIteration(Def(found->second).op());
          if (!closes_loop) {
            ++waiting[i];
            consumers[found->second].push_back(i);
          }
        } else if (graph_->Find(prefix_ + input.node) == nullptr &&
                   WhyLeftOut(input.node) == nullptr) {
          return InvalidArgument("node '", Def(i).name(), "' (", Def(i).op(), ") has the input '",
                                 text, "', but there is no node of that name");
        }
        inputs_[i].push_back(std::move(input));
      }
    }
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t i = 0; i < n; ++i) {
      if (waiting[i] == 0) ready.push(i);
    }
    size_t done = 0;
    for (; !ready.empty(); ++done) {
      // A body may be large, and whoever makes it has paused the scope that would say so.
      if (WorkIsCancelled()) return absl::CancelledError(WorkStopped().what());
      const size_t i = ready.top();
      ready.pop();
      CARILLON_RETURN_IF_ERROR(AddOne(i));
      for (const size_t consumer : consumers[i]) {
        if (--waiting[consumer] == 0) ready.push(consumer);
      }
    }
    if (done < n) {
      const auto stuck = std::ranges::find_if(waiting, [](size_t count) { return count > 0; });
      return InvalidArgument("the graph has a cycle through or before node '",
                             Def(static_cast<size_t>(stuck - waiting.begin())).name(), "'");
    }
    for (const BackEdge& edge : back_edges_) {
      if (const Status* why = WhyLeftOut(edge.from.node)) return *why;
      Node* from = graph_->Find(prefix_ + edge.from.node);
      CARILLON_RETURN_IF_ERROR(graph_->SetInput(edge.merge, edge.input, {from, edge.from.index}));
    }
    // What comes back into loops was not known before.
    return back_edges_.empty() ? absl::OkStatus() : InferShapesOf(graph_, added_);
  }

  Status AddOne(size_t i) {
    const tensorflow::NodeDef& def = Def(i);
    // Those that passes put in trust that the passes have checked what they are given.
    if (!is_specialized_ && def.op().starts_with('_') && graph_->ops().Find(def.op()) != nullptr)
      return InvalidArgument("node '", def.name(), "' has the op '", def.op(),
                             "', which only passes may use");
    if (WhyLeftOut(def.name()) != nullptr) {
      return InvalidArgument("node '", def.name(), "' (", def.op(),
                             "): a node of that name is already in the graph");
    }
    if (left_out_ != nullptr && LeaveOut(i)) return absl::OkStatus();
    NodeInit init{.name = prefix_ + def.name(), .op = def.op(), .device = def.device()};
    std::vector<std::pair<int, ParsedInput>> open;
    for (const ParsedInput& input : inputs_[i]) {
      Node* from = graph_->Find(prefix_ + input.node);
      if (input.is_control) {
        if (from == nullptr)
          return InvalidArgument("node '", def.name(), "' (", def.op(),
                                 ") waits for a node in a cycle");
        init.control_inputs.push_back(from);
        continue;
      }
      if (!init.control_inputs.empty()) {
        return InvalidArgument("node '", def.name(), "' (", def.op(),
                               ") lists a data input after a control input");
      }
      if (from == nullptr) open.emplace_back(static_cast<int>(init.inputs.size()), input);
      init.inputs.push_back({from, input.index});
    }
    for (const auto& [name, attr] : def.attr()) {
      StatusOr<AttrValue> value = AttrFromProtoAt(attr, 0, allocator_);
      if (!value.ok()) {
        if (name.starts_with('_')) continue;  // hints that we cannot read
        return Annotate(value.status(), StrCat("node '", def.name(), "' (", def.op(),
                                               "), attribute '", name, "': "));
      }
      init.attrs.emplace(name, *std::move(value));
    }
    // Two imports of one graph have loops of their own.
    if (init.op == "Enter" || init.op == "RefEnter") {
      const auto frame = init.attrs.find("frame_name");
      if (frame != init.attrs.end() && frame->second.get_if<std::string>() != nullptr)
        frame->second = AttrValue(prefix_ + *frame->second.get_if<std::string>());
    }
    CARILLON_ASSIGN_OR_RETURN(Node * node, graph_->Add(std::move(init)));
    added_.push_back(node);
    for (auto& [input, from] : open) back_edges_.push_back({node, input, from});
    return absl::OkStatus();
  }

  // Null: it is not left out.
  const Status* WhyLeftOut(const std::string& name) const {
    if (left_out_ == nullptr) return nullptr;
    const auto found = left_out_->find(prefix_ + name);
    return found == left_out_->end() ? nullptr : &found->second;
  }

  // Whether the node cannot be made because its op or dtype, or that of a node before it, is not
  // known.
  bool LeaveOut(size_t i) {
    const tensorflow::NodeDef& def = Def(i);
    const std::string name = prefix_ + def.name();
    Status why = KnowsOp(def.op()) ? CheckDTypes(def) : UnknownOp(def.op(), name, Hint(def.op()));
    if (!why.ok()) why = Status(why.code(), StrCat(why.message(), NodeMark(name)));
    for (const ParsedInput& input : inputs_[i]) {
      if (!why.ok()) break;
      if (const Status* before = WhyLeftOut(input.node)) why = *before;
    }
    if (why.ok() || graph_->Find(name) != nullptr || !CheckNodeName(name).ok() ||
        !CheckNodeName(def.op()).ok())
      return false;  // it is made, or is an error anyway
    left_out_->emplace(name, std::move(why));
    newly_left_out_.push_back(name);
    return true;
  }

  bool KnowsOp(const std::string& op) const {
    return graph_->ops().Find(op) != nullptr ||
           (graph_->functions() != nullptr && graph_->functions()->FindSpec(op) != nullptr);
  }

  // Each takes a while, and there may be any number: only the first ones get one.
  std::string Hint(const std::string& op) {
    constexpr size_t kMostHints = 100;
    if (hints_.size() == kMostHints && !hints_.contains(op)) return "";
    const auto [hint, is_new] = hints_.try_emplace(op);
    if (is_new) hint->second = HintForOp(graph_->ops(), op);
    return hint->second;
  }

  const tensorflow::NodeDef& Def(size_t i) const { return def_.node(static_cast<int>(i)); }

  const tensorflow::GraphDef& def_;
  const std::string prefix_;
  NodeGraph* const graph_;
  Allocator* const allocator_;
  const bool is_specialized_;
  NodesLeftOut* const left_out_;  // null: nothing is
  std::vector<std::string> newly_left_out_;
  std::unordered_map<std::string, std::string> hints_;  // by op
  std::unordered_map<std::string, size_t> index_;
  std::vector<std::vector<ParsedInput>> inputs_;
  std::vector<BackEdge> back_edges_;
  std::vector<Node*> added_;
  std::vector<std::string> functions_;  // that were added
};

class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (text.empty()) text = StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  std::string text;
};

}  // namespace

StatusOr<AttrValue> AttrFromProto(const tensorflow::AttrValue& proto, Allocator* allocator) {
  return AttrFromProtoAt(proto, 0, allocator);
}

void AttrToProto(const AttrValue& value, tensorflow::AttrValue* proto) {
  std::visit(
      [&]<typename T>(const T& v) {
        if constexpr (std::is_same_v<T, std::monostate>) {
        } else if constexpr (std::is_same_v<T, std::string>) {
          proto->set_s(v);
        } else if constexpr (std::is_same_v<T, int64_t>) {
          proto->set_i(v);
        } else if constexpr (std::is_same_v<T, float>) {
          proto->set_f(v);
        } else if constexpr (std::is_same_v<T, bool>) {
          proto->set_b(v);
        } else if constexpr (std::is_same_v<T, DType>) {
          proto->set_type(static_cast<tensorflow::DataType>(v));
        } else if constexpr (std::is_same_v<T, PartialShape>) {
          ShapeToProto(v, proto->mutable_shape());
        } else if constexpr (std::is_same_v<T, Tensor>) {
          TensorToProto(v, proto->mutable_tensor());
        } else if constexpr (std::is_same_v<T, FunctionRef>) {
          FunctionToProto(v, proto->mutable_func());
        } else {
          auto* list = proto->mutable_list();
          for (const auto& element : v) {
            using E = typename T::value_type;
            if constexpr (std::is_same_v<E, std::string>) list->add_s(element);
            if constexpr (std::is_same_v<E, int64_t>) list->add_i(element);
            if constexpr (std::is_same_v<E, float>) list->add_f(element);
            if constexpr (std::is_same_v<E, bool>) list->add_b(element);
            if constexpr (std::is_same_v<E, DType>)
              list->add_type(static_cast<tensorflow::DataType>(element));
            if constexpr (std::is_same_v<E, PartialShape>) ShapeToProto(element, list->add_shape());
            if constexpr (std::is_same_v<E, Tensor>) TensorToProto(element, list->add_tensor());
            if constexpr (std::is_same_v<E, FunctionRef>)
              FunctionToProto(element, list->add_func());
          }
        }
      },
      value.variant());
}

int64_t NumOutputs(const tensorflow::NodeDef& node, const OpSpec& spec) {
  int64_t outputs = 0;
  for (const ArgSpec& arg : spec.outputs) {
    if (!arg.is_list()) {
      ++outputs;
      continue;
    }
    const bool has_number = !arg.number_attr.empty();
    const std::string& name = has_number ? arg.number_attr : arg.type_list_attr;
    int64_t listed = 0;
    if (const auto attr = node.attr().find(name); attr != node.attr().end()) {
      listed = has_number ? attr->second.i() : attr->second.list().type_size();
    } else if (const AttrSpec* of_op = spec.FindAttr(name);
               of_op != nullptr && of_op->default_value.has_value()) {
      const auto* const number = of_op->default_value->get_if<int64_t>();
      const auto* const types = of_op->default_value->get_if<std::vector<DType>>();
      if (number != nullptr) listed = *number;
      if (types != nullptr) listed = static_cast<int64_t>(types->size());
    }
    outputs += std::clamp<int64_t>(listed, 0, kMostListed);
  }
  return outputs;
}

Status ImportGraphDef(const tensorflow::GraphDef& graph_def, const std::string& prefix,
                      NodeGraph* graph, Allocator* allocator) {
  return Importer(graph_def, prefix, graph, allocator, /*is_specialized=*/false).Run();
}

Status ImportKnownNodes(const tensorflow::GraphDef& graph_def, NodeGraph* graph,
                        NodesLeftOut* left_out, Allocator* allocator) {
  return Importer(graph_def, "", graph, allocator, /*is_specialized=*/false, left_out).Run();
}

Status ImportSpecializedGraphDef(const tensorflow::GraphDef& graph_def, NodeGraph* graph,
                                 Allocator* allocator) {
  return Importer(graph_def, "", graph, allocator, /*is_specialized=*/true).Run();
}

Status ImportGraphDefBinary(std::string_view bytes, const std::string& prefix, NodeGraph* graph) {
  tensorflow::GraphDef graph_def;
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !graph_def.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument("the ", bytes.size(),
                           " bytes given are no GraphDef: they are truncated or corrupt");
  }
  return ImportGraphDef(graph_def, prefix, graph);
}

Status ImportGraphDefText(std::string_view text, const std::string& prefix, NodeGraph* graph) {
  tensorflow::GraphDef graph_def;
  google::protobuf::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(std::string(text), &graph_def))
    return InvalidArgument("the text is no GraphDef: ", error.text);
  return ImportGraphDef(graph_def, prefix, graph);
}

void ExportGraphDef(const NodeGraph& graph, tensorflow::GraphDef* graph_def, int first_node) {
  graph_def->Clear();
  graph_def->mutable_versions()->set_producer(1395);
  graph_def->mutable_versions()->set_min_consumer(0);
  for (const auto& node : graph.nodes()) {
    if (node == nullptr || node->id() < first_node) continue;
    tensorflow::NodeDef* def = graph_def->add_node();
    def->set_name(node->name());
    def->set_op(node->op());
    def->set_device(node->device());
    for (const Endpoint& input : node->inputs()) {
      def->add_input(input.index == 0 ? input.node->name()
                                      : StrCat(input.node->name(), ":", input.index));
    }
    for (const Node* before : node->control_inputs()) def->add_input("^" + before->name());
    for (const auto& [name, value] : node->attrs()) {
      const AttrSpec* spec = node->spec().FindAttr(name);
      const bool is_default = spec != nullptr && spec->kind != AttrKind::kType &&
                              spec->default_value.has_value() && *spec->default_value == value;
      if (!is_default) AttrToProto(value, &(*def->mutable_attr())[name]);
    }
  }
  if (graph.functions() != nullptr) graph.functions()->ToProto(graph_def->mutable_library());
}

std::string ExportGraphDefBinary(const NodeGraph& graph) {
  tensorflow::GraphDef graph_def;
  ExportGraphDef(graph, &graph_def);
  return graph_def.SerializeAsString();
}

std::string ExportGraphDefText(const NodeGraph& graph) {
  tensorflow::GraphDef graph_def;
  ExportGraphDef(graph, &graph_def);
  std::string text;
  google::protobuf::TextFormat::PrintToString(graph_def, &text);
  return text;
}

StatusOr<Node*> FindNode(const NodeGraph& graph, std::string_view name) {
  Node* node = graph.Find(name);
  if (node != nullptr) return node;
  // A slip of the pen is near. Large graphs are looked through as far as that is quick.
  constexpr size_t kLongestName = 100, kMostNodes = 10'000;
  const Node* nearest = nullptr;
  size_t least = std::max<size_t>(2, name.size() / 3) + 1, seen = 0;
  for (const auto& candidate : graph.nodes()) {
    if (candidate == nullptr || name.size() > kLongestName || ++seen > kMostNodes) continue;
    const std::string& other = candidate->name();
    if (std::max(other.size(), name.size()) - std::min(other.size(), name.size()) >= least)
      continue;
    const auto distance = EditDistance(name, other);
    if (distance < least) {
      least = distance;
      nearest = candidate.get();
    }
  }
  return NotFound("the graph has no node called '", name, "'",
                  nearest == nullptr ? "" : StrCat("; the nearest is '", nearest->name(), "'"));
}

StatusOr<Endpoint> FindEndpoint(const NodeGraph& graph, std::string_view name) {
  CARILLON_ASSIGN_OR_RETURN(const ParsedInput parsed, ParseInput(name));
  if (parsed.is_control) return InvalidArgument("'", name, "' names no output of a node");
  CARILLON_ASSIGN_OR_RETURN(Node * node, FindNode(graph, parsed.node));
  if (parsed.index >= node->num_outputs()) {
    return NotFound("'", name, "' does not exist: node ", node->Describe(), " has ",
                    node->num_outputs(), " outputs");
  }
  return Endpoint{node, parsed.index};
}

}  // namespace carillon
