#include "distributed/cluster/task_wire.h"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <utility>

#include "proto/task.pb.h"

namespace carillon {
namespace {

constexpr int kHeader = 1, kTensor = 2;

void SetStatus(const Status& status, wire::TaskHeader* header) {
  header->set_code(static_cast<int>(status.code()));
  header->set_message(std::string(status.message()));
}

Status StatusOf(const wire::TaskHeader& header) {
  if (header.code() == 0) return absl::OkStatus();
  // A code that nobody knows is still an error.
  const bool known = header.code() > 0 && header.code() <= 16;
  return Status(known ? static_cast<absl::StatusCode>(header.code()) : absl::StatusCode::kUnknown,
                header.message());
}

void SetProgram(const RegisterProgram& message, wire::TaskProgram* to) {
  const TaskProgram& from = message.task_program;
  for (const TaskProgram::Part& part : from.parts) {
    wire::TaskProgram::Part* added = to->add_part();
    added->set_device(part.device);
    added->set_graph(part.graph);
    added->mutable_feed()->Add(part.feeds.begin(), part.feeds.end());
    added->mutable_fetch()->Add(part.fetches.begin(), part.fetches.end());
  }
  for (const auto& [key, task] : from.destinations) {
    wire::TaskProgram::Destination* added = to->add_destination();
    added->set_key(key);
    added->set_task(task);
  }
  to->set_optimize(from.optimize);
  to->set_exact(from.exact);
  to->set_measure(from.measure);
  to->set_own_resources(message.own_resources);
  to->set_is_known(message.is_known);
  to->set_memory_bytes(message.memory_bytes);
}

TaskProgram ProgramOf(wire::TaskProgram* from) {
  TaskProgram program;
  for (wire::TaskProgram::Part& part : *from->mutable_part()) {
    program.parts.push_back({std::move(*part.mutable_device()),
                             std::move(*part.mutable_graph()),
                             {part.feed().begin(), part.feed().end()},
                             {part.fetch().begin(), part.fetch().end()}});
  }
  for (wire::TaskProgram::Destination& destination : *from->mutable_destination()) {
    program.destinations.push_back(
        {std::move(*destination.mutable_key()), std::move(*destination.mutable_task())});
  }
  program.optimize = from->optimize();
  program.exact = from->exact();
  program.measure = from->measure();
  return program;
}

// The header of a message, and the tensors that follow it.
struct Writer {
  wire::TaskHeader header;
  std::vector<Tensor> tensors;

  void Add(const std::vector<IndexedTensor>& list) {
    for (const auto& [index, tensor] : list) {
      header.add_index(index);
      tensors.push_back(tensor);
    }
  }
  void operator()(const RegisterProgram& m) {
    header.set_kind(wire::TaskHeader::REGISTER_PROGRAM);
    header.set_program(m.program);
    header.set_session(m.session);
    SetProgram(m, header.mutable_task_program());
  }
  void operator()(const StartStep& m) {
    header.set_kind(wire::TaskHeader::START_STEP);
    header.set_program(m.program);
    header.set_step(m.step);
    header.set_trace(m.trace);
    Add(m.feeds);
  }
  void operator()(const AbortStep& m) {
    header.set_kind(wire::TaskHeader::ABORT_STEP);
    header.set_step(m.step);
    SetStatus(m.reason, &header);
  }
  void operator()(const EndSession& m) {
    header.set_kind(wire::TaskHeader::END_SESSION);
    header.set_session(m.session);
  }
  void operator()(const ReleaseProgram& m) {
    header.set_kind(wire::TaskHeader::RELEASE_PROGRAM);
    header.set_program(m.program);
  }
  void operator()(const ProgramRegistered& m) {
    header.set_kind(wire::TaskHeader::PROGRAM_REGISTERED);
    header.set_program(m.program);
    SetStatus(m.status, &header);
  }
  void operator()(const StepDone& m) {
    header.set_kind(wire::TaskHeader::STEP_DONE);
    header.set_step(m.step);
    SetStatus(m.status, &header);
    header.set_step_stats(m.step_stats);
    Add(m.fetches);
  }
  void operator()(const Deliver& m) {
    header.set_kind(wire::TaskHeader::DELIVER);
    header.set_step(m.step);
    header.set_key(m.key);
    header.set_is_dead(m.is_dead);
    if (!m.is_dead) tensors.push_back(m.value);
  }
};

StatusOr<std::vector<IndexedTensor>> Indexed(const wire::TaskHeader& header,
                                             std::vector<Tensor>* tensors) {
  if (static_cast<size_t>(header.index_size()) != tensors->size())
    return InvalidArgument("a message announces ", header.index_size(), " tensors and has ",
                           tensors->size());
  std::vector<IndexedTensor> list;
  for (size_t i = 0; i < tensors->size(); ++i)
    list.emplace_back(header.index(static_cast<int>(i)), std::move((*tensors)[i]));
  return list;
}

StatusOr<TaskMessage> MessageOf(wire::TaskHeader* header, std::vector<Tensor>* tensors) {
  switch (header->kind()) {
    case wire::TaskHeader::REGISTER_PROGRAM: {
      RegisterProgram m{header->program(), std::move(*header->mutable_session())};
      m.own_resources = header->task_program().own_resources();
      m.is_known = header->task_program().is_known();
      m.memory_bytes = std::max<int64_t>(-1, header->task_program().memory_bytes());
      m.task_program = ProgramOf(header->mutable_task_program());
      return m;
    }
    case wire::TaskHeader::START_STEP: {
      StartStep m{header->program(), header->step(), {}, header->trace()};
      CARILLON_ASSIGN_OR_RETURN(m.feeds, Indexed(*header, tensors));
      return m;
    }
    case wire::TaskHeader::ABORT_STEP: {
      AbortStep m{header->step(), StatusOf(*header)};
      if (m.reason.ok()) return InvalidArgument("a step is aborted for no reason");
      return m;
    }
    case wire::TaskHeader::END_SESSION:
      return EndSession{std::move(*header->mutable_session())};
    case wire::TaskHeader::RELEASE_PROGRAM:
      return ReleaseProgram{header->program()};
    case wire::TaskHeader::PROGRAM_REGISTERED:
      return ProgramRegistered{header->program(), StatusOf(*header)};
    case wire::TaskHeader::STEP_DONE: {
      StepDone m{header->step(), StatusOf(*header), {}, std::move(*header->mutable_step_stats())};
      CARILLON_ASSIGN_OR_RETURN(m.fetches, Indexed(*header, tensors));
      for (const auto& [index, tensor] : m.fetches) {
        if (!tensor.has_value())
          m.status.Update(ResourceExhausted("no memory for what another task has computed"));
      }
      return m;
    }
    case wire::TaskHeader::DELIVER: {
      Deliver m{header->step(), std::move(*header->mutable_key()), {}, header->is_dead()};
      if (tensors->size() != (m.is_dead ? 0 : 1))
        return InvalidArgument("a value is delivered with ", tensors->size(), " tensors");
      if (!m.is_dead) m.value = std::move(tensors->front());
      return m;
    }
    default:
      return InvalidArgument("a message of the unknown kind ", static_cast<int>(header->kind()));
  }
}

Status ReadAll(FieldReader reader, bool is_cut, Allocator* allocator,
               absl::FunctionRef<void(TaskMessage)> handle) {
  wire::TaskHeader header;
  std::vector<Tensor> tensors;
  bool has_header = false;
  // A message is whole when the next begins.
  const auto finish = [&]() -> Status {
    if (!std::exchange(has_header, false)) return absl::OkStatus();
    CARILLON_ASSIGN_OR_RETURN(TaskMessage message, MessageOf(&header, &tensors));
    tensors.clear();
    handle(std::move(message));
    return absl::OkStatus();
  };
  while (const int field = reader.Next()) {
    if (field == kHeader) {
      CARILLON_RETURN_IF_ERROR(finish());
      header.Clear();
      reader.Read(&header);
      has_header = true;
    } else if (field == kTensor && has_header) {
      reader.ReadTensorIfRoom(allocator, &tensors.emplace_back());
      if (is_cut && !reader.Finish().ok()) return finish();
    } else {
      return InvalidArgument("a message between tasks is malformed");
    }
    CARILLON_RETURN_IF_ERROR(reader.Finish());
  }
  CARILLON_RETURN_IF_ERROR(reader.Finish());
  return finish();
}

}  // namespace

void AddTaskMessage(const TaskMessage& message, MessagePieces* pieces) {
  Writer writer;
  std::visit(writer, message);
  pieces->AddString(kHeader, writer.header.SerializeAsString());
  for (const Tensor& tensor : writer.tensors) pieces->AddTensor(kTensor, tensor);
}

Status ReadTaskMessages(CodedInput* in, Allocator* allocator,
                        absl::FunctionRef<void(TaskMessage)> handle) {
  return ReadAll(FieldReader(in), false, allocator, handle);
}

Status ReadTaskMessages(std::string_view bytes, const Tensor& content, bool is_cut,
                        Allocator* allocator, absl::FunctionRef<void(TaskMessage)> handle) {
  const size_t content_bytes = content.has_value() ? content.num_bytes() : 0;
  const std::span<const Tensor> contents(&content, content_bytes == 0 ? 0 : 1);
  if (bytes.size() + content_bytes > INT32_MAX)
    return InvalidArgument("messages of more than 2 GB came at once");
  google::protobuf::io::ArrayInputStream first(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::ArrayInputStream second(content_bytes == 0 ? nullptr : content.raw_data(),
                                                static_cast<int>(content_bytes));
  google::protobuf::io::ZeroCopyInputStream* const parts[] = {&first, &second};
  google::protobuf::io::ConcatenatingInputStream both(parts, 2);
  CodedInput in(&both);
  in.PushLimit(static_cast<int>(bytes.size() + content_bytes));
  return ReadAll(FieldReader(&in, contents), is_cut, allocator, handle);
}

}  // namespace carillon
