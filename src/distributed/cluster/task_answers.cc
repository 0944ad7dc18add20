#include "distributed/cluster/task_answers.h"

namespace carillon {
namespace {

// The container of resources that name none; TensorFlow's clients call it by its old name.
constexpr const char* kDefaultContainer = "";
constexpr const char* kDefaultContainerAlias = "localhost";

}  // namespace

tensorflow::DeviceAttributes Describe(const Device& device) {
  tensorflow::DeviceAttributes attributes;
  attributes.set_name(device.name);
  attributes.set_device_type(device.type);
  attributes.set_memory_limit(device.memory_limit);
  attributes.set_incarnation(device.incarnation);
  return attributes;
}

void ClearContainers(const tensorflow::ResetRequest& request, MapResourceStore* resources) {
  if (request.container().empty()) resources->Clear(kDefaultContainer);
  for (const std::string& container : request.container())
    resources->Clear(container == kDefaultContainerAlias ? kDefaultContainer : container);
}

StatusOr<std::string> AnswerQuestion(TaskQuestion question, const std::string& request,
                                     const Device& device, MapResourceStore* resources) {
  if (question == TaskQuestion::kDevices) {
    tensorflow::ListDevicesResponse answer;
    *answer.add_local_device() = Describe(device);
    return answer.SerializeAsString();
  }
  tensorflow::ResetRequest reset;
  if (!reset.ParseFromString(request)) return InvalidArgument("a request to reset is malformed");
  ClearContainers(reset, resources);
  return std::string();
}

}  // namespace carillon
