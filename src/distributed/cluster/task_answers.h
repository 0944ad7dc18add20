// What a task tells of itself, and does for other tasks outside of steps.
#pragma once

#include <string>

#include "distributed/cluster/task_questions.h"
#include "proto/master.pb.h"
#include "runtime/device.h"
#include "runtime/resource_store.h"

namespace carillon {

tensorflow::DeviceAttributes Describe(const Device& device);

// The default one when the request names none.
void ClearContainers(const tensorflow::ResetRequest& request, MapResourceStore* resources);

// InvalidArgument when the request is malformed.
StatusOr<std::string> AnswerQuestion(TaskQuestion question, const std::string& request,
                                     const Device& device, MapResourceStore* resources);

}  // namespace carillon
