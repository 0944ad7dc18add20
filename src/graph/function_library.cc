#include "graph/function_library.h"

#include <google/protobuf/util/message_differencer.h>

#include "base/strings.h"
#include "base/work_scope.h"
#include "graph/function_body.h"
#include "graph/shape_context.h"
#include "proto/graph.pb.h"
#include "tensor/shared_allocator.h"

namespace carillon {
namespace {

// Bodies in which calls stand in bodies in which …: beyond this nothing is inferred of results.
constexpr int kMaxInferenceDepth = 40;

std::string KeyOf(const FunctionRef& function, const std::vector<OutputInfo>& args) {
  std::string key = AttrValue(function).ToString();
  for (const OutputInfo& arg : args) {
    StrAppend(&key, "|", arg.shape.ToString());
    if (arg.handle.has_value())
      StrAppend(&key, ">", DTypeName(arg.handle->dtype), arg.handle->shape.ToString());
  }
  return key;
}

}  // namespace

// Invariants: all below the mutex is touched under mutex; functions are never changed once they are
// there. `results` holds an empty list for a function whose results are being found out, or had no
// room.
struct FunctionLibrary::State {
  std::shared_ptr<Allocator> allocator;  // never changed
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<const Function>, std::less<>> functions;
  std::map<std::string, std::string, std::less<>> gradients;  // of which function, which
  struct Results {
    std::vector<OutputInfo> outputs;
    std::unique_ptr<MemoryCharge> charge;
  };
  std::map<std::string, Results> results;  // by instantiation
};

FunctionLibrary::FunctionLibrary(Allocator* allocator) : state_(std::make_shared<State>()) {
  state_->allocator = KeepAllocator(allocator);
}

Allocator* FunctionLibrary::allocator() const { return state_->allocator.get(); }

Status FunctionLibrary::Add(const tensorflow::FunctionDefLibrary& library,
                            std::vector<std::string>* added) {
  std::map<std::string, std::shared_ptr<const Function>, std::less<>> functions;
  for (const tensorflow::FunctionDef& def : library.function()) {
    const std::string& name = def.signature().name();
    if (name.empty()) return InvalidArgument("the library has a function without a name");
    if (AllOps().Find(name) != nullptr)
      return InvalidArgument("the function '", name, "' has the name of an op");
    auto function = std::make_shared<Function>();
    StatusOr<OpSpec> spec = SpecOfFunction(def);
    if (!spec.ok())
      return Annotate(spec.status(), StrCat("the signature of function '", name, "': "));
    function->spec = *std::move(spec);
    function->def = std::make_unique<tensorflow::FunctionDef>(def);
    if (!functions.emplace(name, std::move(function)).second)
      return InvalidArgument("the library has two functions called '", name, "'");
  }
  std::lock_guard lock(state_->mutex);
  for (const auto& [name, function] : functions) {
    const auto found = state_->functions.find(name);
    if (found != state_->functions.end() &&
        !google::protobuf::util::MessageDifferencer::Equals(*found->second->def, *function->def))
      return InvalidArgument("the function '", name, "' is in the graph already and differs");
  }
  for (const tensorflow::GradientDef& gradient : library.gradient()) {
    const auto found = state_->gradients.find(gradient.function_name());
    if (found != state_->gradients.end() && found->second != gradient.gradient_func())
      return InvalidArgument("the function '", gradient.function_name(),
                             "' has the gradient function '", found->second, "' already, not '",
                             gradient.gradient_func(), "'");
  }
  for (auto& [name, function] : functions) {
    const bool is_new = state_->functions.emplace(name, std::move(function)).second;
    if (is_new && added != nullptr) added->push_back(name);
  }
  for (const tensorflow::GradientDef& gradient : library.gradient())
    state_->gradients.emplace(gradient.function_name(), gradient.gradient_func());
  return absl::OkStatus();
}

void FunctionLibrary::Remove(const std::vector<std::string>& names) {
  std::lock_guard lock(state_->mutex);
  for (const std::string& name : names) state_->functions.erase(name);
  state_->results.clear();
}

void FunctionLibrary::ToProto(tensorflow::FunctionDefLibrary* library) const {
  std::lock_guard lock(state_->mutex);
  for (const auto& [name, function] : state_->functions) *library->add_function() = *function->def;
  for (const auto& [name, gradient] : state_->gradients) {
    tensorflow::GradientDef* def = library->add_gradient();
    def->set_function_name(name);
    def->set_gradient_func(gradient);
  }
}

std::shared_ptr<const FunctionLibrary::Function> FunctionLibrary::Find(
    const std::string& name) const {
  std::lock_guard lock(state_->mutex);
  const auto found = state_->functions.find(name);
  return found == state_->functions.end() ? nullptr : found->second;
}

const OpSpec* FunctionLibrary::FindSpec(std::string_view name) const {
  const std::shared_ptr<const Function> function = Find(std::string(name));
  return function == nullptr ? nullptr : &function->spec;
}

std::string FunctionLibrary::GradientOf(std::string_view name) const {
  std::lock_guard lock(state_->mutex);
  const auto found = state_->gradients.find(name);
  return found == state_->gradients.end() ? "" : found->second;
}

StatusOr<std::unique_ptr<FunctionBody>> FunctionLibrary::Instantiate(
    const FunctionRef& function, std::vector<OutputInfo> args) const {
  const WorkPause pause;  // for protobuf
  const std::shared_ptr<const Function> found = Find(function.name);
  if (found == nullptr)
    return NotFound("the graph's library has no function called '", function.name, "'");
  auto body = std::make_unique<FunctionBody>();
  body->name = function.name;
  body->graph.nodes().set_functions(
      std::shared_ptr<FunctionLibrary>(new FunctionLibrary(state_, depth_ + 1)));
  CARILLON_RETURN_IF_ERROR(
      Annotate(BuildFunctionBody(*found->def, found->spec, function, args, body.get()),
               StrCat("function '", function.name, "': ")));
  return body;
}

std::vector<OutputInfo> FunctionLibrary::ResultsOf(const FunctionRef& function,
                                                   const std::vector<OutputInfo>& args) const {
  if (depth_ >= kMaxInferenceDepth) return {};
  const WorkPause pause;  // what is begun here is seen by all
  const std::string key = KeyOf(function, args);
  {
    std::lock_guard lock(state_->mutex);
    const auto found = state_->results.find(key);
    if (found != state_->results.end()) return found->second.outputs;
  }
  constexpr int64_t kEntry = 256;  // besides its key, which is here twice for a while
  auto charge = std::make_unique<MemoryCharge>(allocator());
  if (!charge->Add(kEntry + 2 * static_cast<int64_t>(key.size())).ok()) return {};
  {
    std::lock_guard lock(state_->mutex);
    const auto [found, is_new] = state_->results.try_emplace(key);
    if (!is_new) return found->second.outputs;
  }
  std::vector<OutputInfo> results;
  const StatusOr<std::unique_ptr<FunctionBody>> body = Instantiate(function, args);
  if (absl::IsCancelled(body.status())) {  // of this step; others may go on
    std::lock_guard lock(state_->mutex);
    state_->results.erase(key);
    return {};
  }
  if (body.ok() && charge->Add(VectorBytes<OutputInfo>((*body)->results.size())).ok()) {
    for (const Endpoint& result : (*body)->results)
      results.push_back(result.node->output(result.index));
  }
  std::lock_guard lock(state_->mutex);
  state_->results[key] = {results, std::move(charge)};
  return results;
}

bool IsFunctionCall(const Node& node) {
  const std::string& op = node.op();
  if (op == "PartitionedCall" || op == "StatefulPartitionedCall" || op == "RemoteCall") return true;
  return node.graph().ops().Find(op) != &node.spec();
}

FunctionRef CalledFunction(const Node& node) {
  if (node.FindAttr("f") != nullptr && node.graph().ops().Find(node.op()) == &node.spec())
    return node.attr<FunctionRef>("f");
  FunctionRef function{node.op(), {}};
  for (const auto& [name, value] : node.attrs()) function.attrs.emplace_back(name, value);
  return function;
}

}  // namespace carillon
