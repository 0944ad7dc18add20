#include "runtime/placer.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "absl/strings/str_join.h"
#include "base/strings.h"
#include "graph/device_name.h"
#include "graph/node_mark.h"

namespace carillon {
namespace {

constexpr std::string_view kColocationPrefix = "loc:@";
constexpr int kNowhere = -1;

// Nodes that must run together, with what they ask for together.
struct Group {
  DeviceName asked;
  const Node* asking = nullptr;  // a member that asks for something
  int members = 0;
  int device = kNowhere;
};

bool IsColocated(const Node& node) { return node.FindAttr("_class") != nullptr; }

// Looks at the shape of its input, not at the values.
bool ReadsOnlyShape(const Node& node) {
  return node.op() == "Shape" || node.op() == "Size" || node.op() == "Rank";
}

// Makes its value of nothing.
bool IsSource(const Node& node) {
  return node.num_inputs() == 0 && node.num_outputs() == 1 && !node.output(0).is_ref &&
         node.output(0).dtype != DType::kResource;
}

// Hands on what it is given, and has no place of its own.
bool FollowsItsInput(const Node& node) {
  return node.op() == "Identity" && node.device().empty() && !IsColocated(node) &&
         node.input(0).node != nullptr && node.input(0).node->device().empty() &&
         node.input(0).node->num_inputs() > 0;
}

class Placer {
 public:
  Placer(NodeGraph* graph, const std::vector<std::string>& devices, const PlacerOptions& options)
      : graph_(*graph), device_names_(devices), options_(options), parent_(graph->nodes().size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  Status Run() {
    for (const std::string& name : device_names_) {
      CARILLON_ASSIGN_OR_RETURN(devices_.emplace_back(), ParseDeviceName(name));
    }
    CARILLON_RETURN_IF_ERROR(FormGroups());
    CARILLON_RETURN_IF_ERROR(ChooseDevices());
    FollowInputs();
    FollowUses();
    for (const auto& node : graph_.nodes()) {
      if (node != nullptr) node->set_device(device_names_[static_cast<size_t>(DeviceOf(*node))]);
    }
    return absl::OkStatus();
  }

 private:
  int Root(int id) {
    while (parent_[static_cast<size_t>(id)] != id) {
      int& up = parent_[static_cast<size_t>(id)];
      up = parent_[static_cast<size_t>(up)];
      id = up;
    }
    return id;
  }
  Group& GroupOf(const Node& node) { return groups_[Root(node.id())]; }
  int DeviceOf(const Node& node) { return GroupOf(node).device; }

  Status FormGroups() {
    std::unordered_map<std::string, int> by_name;  // the first member of each named group
    std::vector<bool> follows(graph_.nodes().size(), false);
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr) continue;
      // Whoever changes a variable, or holds a resource's handle, is where it is.
      for (int i = 0; i < node->num_inputs(); ++i) {
        const Endpoint& input = node->input(i);
        if (input.node == nullptr) continue;
        if (node->input_wants_ref(i) || node->input_dtype(i) == DType::kResource) {
          Join(node->id(), input.node->id());
          follows[static_cast<size_t>(node->id())] = true;
        }
      }
      if (FollowsItsInput(*node)) Join(node->id(), node->input(0).node->id());
      JoinByName(*node, &by_name);
    }
    for (const auto& [member, absent] : absent_)
      CARILLON_RETURN_IF_ERROR(AddWishes(*absent, groups_[Root(member)], false));
    // What those ask for who follow a variable or a resource counts as far as it agrees with it.
    for (const bool followers : {false, true}) {
      for (const auto& node : graph_.nodes()) {
        if (node == nullptr || follows[static_cast<size_t>(node->id())] != followers) continue;
        ++GroupOf(*node).members;
        CARILLON_RETURN_IF_ERROR(AddWishes(*node, GroupOf(*node), followers));
      }
    }
    return absl::OkStatus();
  }

  void Join(int a, int b) { parent_[static_cast<size_t>(Root(a))] = Root(b); }

  // "_class" lists nodes to run with. One that is not in this step stands for those that name it,
  // and for those that it is to run with itself.
  void JoinByName(const Node& node, std::unordered_map<std::string, int>* by_name) {
    std::vector<std::string> names = ColocatedWith(node);
    while (!names.empty()) {
      const std::string with = std::move(names.back());
      names.pop_back();
      const Node* other = graph_.Find(with);
      const auto [known, is_new] =
          by_name->emplace(with, other != nullptr ? other->id() : node.id());
      Join(node.id(), known->second);
      if (other != nullptr || !is_new || options_.whole == nullptr) continue;
      const Node* absent = options_.whole->Find(with);
      if (absent == nullptr) continue;
      absent_.emplace_back(node.id(), absent);
      for (std::string& name : ColocatedWith(*absent)) names.push_back(std::move(name));
    }
  }

  static std::vector<std::string> ColocatedWith(const Node& node) {
    const AttrValue* attr = node.FindAttr("_class");
    const auto* names = attr == nullptr ? nullptr : attr->get_if<std::vector<std::string>>();
    std::vector<std::string> with;
    for (size_t i = 0; names != nullptr && i < names->size(); ++i) {
      if ((*names)[i].starts_with(kColocationPrefix))
        with.push_back((*names)[i].substr(kColocationPrefix.size()));
    }
    return with;
  }

  // `node` is a member of the group, or stands beside it.
  Status AddWishes(const Node& node, Group& group, bool follows) {
    if (node.device().empty()) return absl::OkStatus();
    CARILLON_ASSIGN_OR_RETURN(const DeviceName asked, Parse(node));
    if (group.asking == nullptr) {
      group.asking = &node;
      group.asked = asked;
      return absl::OkStatus();
    }
    const auto conflict = [&](const auto& ours, const auto& theirs, auto any) {
      return ours.has_value() && theirs.has_value() && *ours != any && *theirs != any &&
             *ours != *theirs;
    };
    const std::string no_word;
    if (conflict(asked.job, group.asked.job, no_word) ||
        conflict(asked.replica, group.asked.replica, DeviceName::kAny) ||
        conflict(asked.task, group.asked.task, DeviceName::kAny))
      return follows ? absl::OkStatus() : Conflict(node, group);
    if (conflict(asked.type, group.asked.type, no_word) ||
        conflict(asked.index, group.asked.index, DeviceName::kAny)) {
      if (follows) return absl::OkStatus();
      if (!options_.allow_soft_placement) return Conflict(node, group);
      group.asked.type.reset();
      group.asked.index.reset();
      return absl::OkStatus();
    }
    // '*' gives way to a number.
    const auto narrow = [](std::optional<int>& ours, const std::optional<int>& theirs) {
      if (!ours.has_value() || *ours == DeviceName::kAny) ours = theirs.has_value() ? theirs : ours;
    };
    narrow(group.asked.replica, asked.replica);
    narrow(group.asked.task, asked.task);
    narrow(group.asked.index, asked.index);
    group.asked.FillFrom(asked);
    return absl::OkStatus();
  }

  StatusOr<DeviceName> Parse(const Node& node) {
    const auto [entry, is_new] = parsed_.emplace(node.device(), DeviceName{});
    if (is_new) {
      StatusOr<DeviceName> name = ParseDeviceName(node.device());
      if (!name.ok())
        return InvalidArgument("node ", node.Describe(), ": ", name.status().message(),
                               NodeMark(node));
      entry->second = *std::move(name);
    }
    return entry->second;
  }

  Status Conflict(const Node& node, const Group& group) const {
    return InvalidArgument("node ", node.Describe(), " asks for device '", node.device(),
                           "', but must run with node ", group.asking->Describe(),
                           ", which asks for '", group.asking->device(), "'", NodeMark(node));
  }

  Status ChooseDevices() {
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr) continue;
      Group& group = GroupOf(*node);
      if (group.device != kNowhere) continue;
      const Node& asking = group.asking != nullptr ? *group.asking : *node;
      CARILLON_ASSIGN_OR_RETURN(group.device, FirstFit(&group.asked, asking));
    }
    return absl::OkStatus();
  }

  StatusOr<int> FirstFit(DeviceName* asked, const Node& node) const {
    const auto find = [&] {
      const auto found = std::ranges::find_if(
          devices_, [&](const DeviceName& there) { return Fits(*asked, there); });
      return found == devices_.end() ? kNowhere : static_cast<int>(found - devices_.begin());
    };
    int device = find();
    if (device == kNowhere && options_.allow_soft_placement) {
      asked->type.reset();
      asked->index.reset();
      device = find();
    }
    if (device != kNowhere) return device;
    return InvalidArgument(
        "node ", node.Describe(), " asks for device '", node.device(), "', but there is only ",
        absl::StrJoin(
            device_names_, ", ",
            [](std::string* out, const std::string& name) { StrAppend(out, "'", name, "'"); }),
        "; allow_soft_placement lets it run there if only the device type or number differs",
        NodeMark(node));
  }

  void FollowInputs() {
    for (const auto& node : graph_.nodes()) {
      if (node != nullptr && ReadsOnlyShape(*node) && node->input(0).node != nullptr)
        MoveTo(DeviceOf(*node->input(0).node), *node);
    }
  }

  // Values that come from nowhere go where all their uses are, fetches stay where their values are.
  void FollowUses() {
    const UseMap uses(graph_);
    for (const auto& node : graph_.nodes()) {
      if (node == nullptr) continue;
      if (node->op() == "_Retval") MoveTo(DeviceOf(*node->input(0).node), *node);
      if (!IsSource(*node)) continue;
      const auto& all = uses.uses(*node);
      if (all.empty()) continue;
      const int device = DeviceOf(*all.front().node);
      if (std::ranges::all_of(
              all, [&](const UseMap::Use& use) { return DeviceOf(*use.node) == device; }))
        MoveTo(device, *node);
    }
  }

  // Unless that is not what the node asks for, or it runs with others.
  void MoveTo(int device, const Node& node) {
    Group& group = GroupOf(node);
    if (group.members == 1 && Fits(group.asked, devices_[static_cast<size_t>(device)]))
      group.device = device;
  }

  NodeGraph& graph_;
  const std::vector<std::string>& device_names_;
  const PlacerOptions options_;
  std::vector<DeviceName> devices_;
  std::vector<int> parent_;  // of each node in its tree; the root stands for the group
  std::unordered_map<int, Group> groups_;  // by root
  // Members of groups, and nodes that are not in the graph with which they are to run.
  std::vector<std::pair<int, const Node*>> absent_;
  std::unordered_map<std::string, DeviceName> parsed_;  // few names, many nodes
};

}  // namespace

Status Place(NodeGraph* graph, const std::vector<std::string>& devices,
             const PlacerOptions& options) {
  return Placer(graph, devices, options).Run();
}

}  // namespace carillon
