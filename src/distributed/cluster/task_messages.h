// What the tasks of a cluster tell each other. A session's master cuts each signature into
// programs, one for each task that takes part, registers them once, and then starts every step with
// one message to each; values go from task to task as they come to be.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "carillon/tensor.h"

namespace carillon {

class StepRendezvous;

// Numbers of programs and steps are unique in a cluster: a master begins at a random one.
using ProgramId = uint64_t;
using StepId = uint64_t;
using IndexedTensor = std::pair<int, Tensor>;  // by position among a step's feeds or fetches

// What a task does in the steps of one signature.
struct TaskProgram {
  struct Part {
    std::string device;
    std::string graph;         // a GraphDef, specialised
    std::vector<int> feeds;    // of the step: the part's arguments, in their order
    std::vector<int> fetches;  // likewise its results
  };
  // The task to which the value of a key goes.
  struct Destination {
    std::string key;
    std::string task;
  };
  std::vector<Part> parts;
  std::vector<Destination> destinations;  // in the order in which the values are needed
  // How to compile.
  bool optimize = true;
  bool exact = false;
  bool measure = true;
};

// From the master.
struct RegisterProgram {
  ProgramId program = 0;
  std::string session;         // its handle: unique in the cluster
  bool own_resources = false;  // the session shares no variables with others
  bool is_known = false;       // the task has had programs of this session
  int64_t memory_bytes = 0;    // that the session may take on a task, as MakeDeviceShare
  TaskProgram task_program;
};
struct StartStep {
  ProgramId program = 0;
  StepId step = 0;
  std::vector<IndexedTensor> feeds;
  bool trace = false;  // StepDone is to tell when what ran
  // Of the master's own task, which it reaches without a wire: where feeds and fetches of a partial
  // run are exchanged.
  std::shared_ptr<StepRendezvous> exchange;
};
struct AbortStep {
  StepId step = 0;
  Status reason;
};
struct EndSession {
  std::string session;
};
// No step of the program will be started any more.
struct ReleaseProgram {
  ProgramId program = 0;
};

// To the master.
struct ProgramRegistered {
  ProgramId program = 0;
  Status status;
};
struct StepDone {
  StepId step = 0;
  Status status;
  std::vector<IndexedTensor> fetches;
  std::string step_stats;  // a serialized StepStats when a trace was wanted
};

// From one part of a step to another.
struct Deliver {
  StepId step = 0;
  std::string key;
  Tensor value;  // none when it is dead
  bool is_dead = false;
};

using TaskMessage = std::variant<RegisterProgram, StartStep, AbortStep, EndSession,
                                 ProgramRegistered, StepDone, Deliver, ReleaseProgram>;

// Moves messages to other tasks. Thread-safe.
class TaskMessenger {
 public:
  virtual ~TaskMessenger() = default;
  // Takes the message and returns at once; messages to one task arrive in the order in which they
  // were sent. An error when the task is known to be out of reach; when that turns out later,
  // whoever owns the messenger is told that the task is lost.
  virtual Status Send(const std::string& task, TaskMessage message) = 0;
  // Several, which travel together if that is possible.
  virtual Status SendAll(const std::string& task, std::vector<TaskMessage> messages) {
    for (TaskMessage& message : messages) CARILLON_RETURN_IF_ERROR(Send(task, std::move(message)));
    return absl::OkStatus();
  }
};

}  // namespace carillon
