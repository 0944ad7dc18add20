#include "carillon/device_setter.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>

#include "base/md5.h"
#include "base/strings.h"
#include "base/throw.h"
#include "graph/device_name.h"
#include "graph/node_graph.h"

namespace carillon {
namespace {

// What holds state that the workers share.
const char* const kPsOps[] = {"Variable",
                              "VariableV2",
                              "AutoReloadVariable",
                              "MutableHashTable",
                              "MutableHashTableV2",
                              "MutableHashTableOfTensors",
                              "MutableHashTableOfTensorsV2",
                              "MutableDenseHashTable",
                              "MutableDenseHashTableV2",
                              "VarHandleOp",
                              "BoostedTreesEnsembleResourceHandleOp",
                              "BoostedTreesQuantileStreamResourceHandleOp",
                              "ResourceConditionalAccumulator"};

int CheckTasks(int tasks) {
  if (tasks <= 0)
    Throw(InvalidArgument("variables cannot be spread over ", tasks, " parameter servers"));
  return tasks;
}

struct Setter {
  DeviceName worker, ps;
  std::set<std::string> ps_ops;
  PsStrategy strategy;
  int tasks;
  bool merge;

  std::string operator()(const Operation& op) const {
    if (!merge && !op.device().empty()) return op.device();
    DeviceName own = ValueOrThrow(ParseDeviceName(op.device()));
    DeviceName wanted = worker;
    if (ps_ops.contains(op.type())) {
      wanted = ps;
      if (ps.job.has_value() && (!own.job.has_value() || own.job == ps.job))
        wanted.task = Choose(op);
    }
    own.FillFrom(wanted);
    return own.ToString();
  }

  int Choose(const Operation& op) const {
    const int task = strategy(op);
    if (task < 0 || task >= tasks) {
      Throw(InvalidArgument("the strategy put '", op.name(), "' on task ", task, " of ", tasks,
                            " parameter servers"));
    }
    return task;
  }
};

}  // namespace

PsStrategy RoundRobin(int tasks) {
  CheckTasks(tasks);
  return [tasks, next = std::make_shared<int>(0)](const Operation&) {
    const int task = *next;
    *next = (task + 1) % tasks;
    return task;
  };
}

double ByteSizeLoad(const Operation& variable) {
  const Node& node = *variable.node();
  // A handle tells of its value in its attributes.
  const AttrValue* shape = node.FindAttr("shape");
  const AttrValue* dtype = node.FindAttr("dtype");
  const PartialShape* declared = shape == nullptr ? nullptr : shape->get_if<PartialShape>();
  const DType* type = dtype == nullptr ? nullptr : dtype->get_if<DType>();
  if (node.num_outputs() != 1) {
    Throw(InvalidArgument("'", variable.name(), "' has ", node.num_outputs(),
                          " outputs: only the bytes of one can be balanced"));
  }
  const bool is_handle = node.output(0).dtype == DType::kResource;
  Shape known;
  const bool is_known = (declared != nullptr && declared->AsShape(&known)) ||
                        (!is_handle && node.output(0).shape.AsShape(&known));
  if (!is_known || (is_handle && type == nullptr)) {
    Throw(InvalidArgument("the shape of '", variable.name(),
                          "' is not known: its bytes cannot be balanced"));
  }
  return static_cast<double>(known.num_elements()) *
         static_cast<double>(DTypeSize(is_handle ? *type : node.output(0).dtype));
}

PsStrategy GreedyLoadBalancing(int tasks, LoadFunction load) {
  CheckTasks(tasks);
  if (load == nullptr) load = ByteSizeLoad;
  auto loads = std::make_shared<std::vector<double>>(static_cast<size_t>(tasks), 0.0);
  return [loads, load = std::move(load)](const Operation& variable) {
    const auto least = std::ranges::min_element(*loads);
    *least += load(variable);
    return static_cast<int>(least - loads->begin());
  };
}

PsStrategy RandomByName(int tasks, int64_t seed) {
  CheckTasks(tasks);
  return [tasks, seed](const Operation& variable) {
    // The digest is one number of 128 bits, the first byte the highest.
    const auto digest = Md5(StrCat(variable.name(), "_", seed));
    return std::accumulate(digest.begin(), digest.end(), 0, [&](int rest, uint8_t byte) {
      return static_cast<int>((int64_t{rest} * 256 + byte) % tasks);
    });
  };
}

DeviceFunction ReplicaDeviceSetter(const ClusterSpec& cluster, const DeviceSetterOptions& options) {
  Setter setter{.worker = ValueOrThrow(ParseDeviceName(options.worker_device)),
                .ps = ValueOrThrow(ParseDeviceName(options.ps_device)),
                .strategy = options.strategy,
                .merge = options.merge_devices};
  const std::string ps_job = setter.ps.job.value_or("");
  setter.tasks = cluster.empty() ? options.ps_tasks : cluster.num_tasks(ps_job);
  if (setter.tasks == 0) return [](const Operation& op) { return op.device(); };
  if (options.worker_task >= 0) setter.worker.task = options.worker_task;
  if (setter.strategy == nullptr) setter.strategy = RoundRobin(setter.tasks);
  if (options.ps_ops.empty()) {
    setter.ps_ops.insert(std::begin(kPsOps), std::end(kPsOps));
  } else {
    setter.ps_ops.insert(options.ps_ops.begin(), options.ps_ops.end());
  }
  return setter;
}

}  // namespace carillon
