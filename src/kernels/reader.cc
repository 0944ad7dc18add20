#include "kernels/reader.h"

#include <utility>

#include "base/background.h"
#include "base/env.h"
#include "base/foreign_memory.h"
#include "base/strings.h"
#include "base/work_scope.h"
#include "kernels/work.h"
#include "proto/reader.pb.h"
#include "tensor/parsed_bytes.h"

namespace carillon {
namespace {

constexpr uint64_t kMaxFile = uint64_t{1} << 34;

std::vector<QueueTuple> Token() { return {{Tensor::Scalar(true)}}; }

}  // namespace

// One call of Read, until it is done.
struct Reader::Reading : std::enable_shared_from_this<Reading> {
  std::shared_ptr<Reader> reader;
  std::shared_ptr<Queue> files;
  int64_t most = 0;
  const StepServices* services = nullptr;
  Done done;
  std::optional<std::string> file;  // has been taken from the queue, and is to be begun with
  std::vector<Record> records;

  // Reads on a background thread, file after file until there are records.
  void GoOn() {
    auto work = [self = shared_from_this()] {
      const Status status =
          RunOnAccount(*self->services, [&] { return self->reader->ReadRecords(*self); });
      if (!status.ok() || !self->records.empty()) return self->Finish(status);
      self->TakeFile();
    };
    if (services->background == nullptr) return work();
    services->background->Start(std::move(work));
  }

  void TakeFile() {
    files->Dequeue(
        1, /*allow_fewer=*/false, services->cancellation,
        [self = shared_from_this()](const Status& status, const std::vector<QueueTuple>& tuples) {
          const Status name = status.ok() ? self->SetFile(tuples[0]) : status;
          if (name.ok()) return self->GoOn();
          self->reader->ForgetFile();
          self->Finish(name);
        });
  }

  Status SetFile(const QueueTuple& tuple) {
    if (tuple.size() != 1 || tuple[0].dtype() != DType::kString || tuple[0].num_elements() != 1) {
      return InvalidArgument("a reader expects a queue of file names, one string each, but '",
                             files->options().name, "' gave ", tuple.size(), " components",
                             tuple.empty() ? "" : StrCat(", the first ", tuple[0].ToString()));
    }
    file = tuple[0].data<std::string>()[0];
    return absl::OkStatus();
  }

  Status CheckNotCancelled() const {
    if (services->cancellation == nullptr || !services->cancellation->IsCancelled())
      return absl::OkStatus();
    return absl::CancelledError("the step was cancelled");
  }

  void Finish(const Status& status) {
    reader->turn_->Enqueue(Token(), nullptr, [](const Status&) {});
    done(status, status.ok() ? std::move(records) : std::vector<Record>());
  }
};

Reader::Reader()
    : turn_(std::make_shared<Queue>(QueueOptions{.name = "turn", .types = {DType::kBool}})) {
  turn_->Enqueue(Token(), nullptr, [](const Status&) {});
}

void Reader::Read(std::shared_ptr<Queue> files, int64_t most, const StepServices& services,
                  Done done) {
  if (most <= 0) return done(absl::OkStatus(), {});
  auto reading = std::make_shared<Reading>();
  reading->reader = shared_from_this();
  reading->files = std::move(files);
  reading->most = most;
  reading->services = &services;
  reading->done = std::move(done);
  turn_->Dequeue(1, /*allow_fewer=*/false, services.cancellation,
                 [reading](const Status& status, const std::vector<QueueTuple>&) {
                   if (!status.ok()) return reading->done(status, {});
                   reading->GoOn();
                 });
}

Status Reader::ReadRecords(Reading& reading) {
  std::lock_guard lock(mutex_);
  if (reading.file.has_value()) waiting_file_ = std::exchange(reading.file, std::nullopt);
  if (waiting_file_.has_value()) {
    file_ = *waiting_file_;
    const Status status = Start(file_, reading.services->allocator);
    if (!absl::IsCancelled(status)) waiting_file_.reset();
    CARILLON_RETURN_IF_ERROR(status);
    ++started_;
  }
  while (started_ > finished_ && static_cast<int64_t>(reading.records.size()) < reading.most) {
    CARILLON_RETURN_IF_ERROR(reading.CheckNotCancelled());
    Record record;
    bool at_end = false;
    CARILLON_ASSIGN_OR_RETURN(const bool produced, Next(file_, &record, &at_end));
    if (produced) {
      ++produced_;
      reading.records.push_back(std::move(record));
    }
    if (at_end) {
      Stop();
      finished_ = started_;
    }
  }
  return absl::OkStatus();
}

void Reader::ForgetFile() {
  std::lock_guard lock(mutex_);
  file_.clear();
}

int64_t Reader::records_produced() const {
  std::lock_guard lock(mutex_);
  return produced_;
}

int64_t Reader::files_finished() const {
  std::lock_guard lock(mutex_);
  return finished_;
}

void Reader::Reset() {
  std::lock_guard lock(mutex_);
  Stop();
  file_.clear();
  waiting_file_.reset();
  started_ = finished_ = produced_ = 0;
}

StatusOr<std::string> Reader::SerializeState() const {
  if (!has_plain_state()) return Unimplemented("this kind of reader cannot give its state");
  const WorkPause pause;  // for protobuf
  std::lock_guard lock(mutex_);
  tensorflow::ReaderBaseState state;
  state.set_work_started(started_);
  state.set_work_finished(finished_);
  state.set_num_records_produced(produced_);
  state.set_current_work(file_);
  return state.SerializeAsString();
}

Status Reader::RestoreState(const std::string& bytes) {
  if (!has_plain_state()) return Unimplemented("this kind of reader cannot restore its state");
  const ForeignWork work(MostParsedBytes<tensorflow::ReaderBaseState>(bytes));
  tensorflow::ReaderBaseState state;
  if (!state.ParseFromString(bytes)) return InvalidArgument("this is not the state of a reader");
  if (state.work_started() < 0 || state.num_records_produced() < 0 ||
      state.work_started() != state.work_finished()) {
    return InvalidArgument("a reader that has begun with ", state.work_started(),
                           " files, finished ", state.work_finished(), " and produced ",
                           state.num_records_produced(), " records is not between two files");
  }
  std::lock_guard lock(mutex_);
  file_ = state.current_work();
  started_ = state.work_started();
  finished_ = state.work_finished();
  produced_ = state.num_records_produced();
  return absl::OkStatus();
}

StatusOr<bool> ItemReader::Next(const std::string& file, Record* record, bool* at_end) {
  record->key = record->value = file;
  if (value_ == Value::kContent) {
    CARILLON_ASSIGN_OR_RETURN(record->value, PosixEnv().ReadFile(file, kMaxFile));
  }
  return *at_end = true;
}

Status FormatReader::Start(const std::string& file, Allocator* allocator) {
  error_ = absl::OkStatus();
  CARILLON_ASSIGN_OR_RETURN(RecordFile opened,
                            RecordFile::Open(PosixEnv(), file, packing_, *format_, allocator));
  file_.emplace(std::move(opened));
  return absl::OkStatus();
}

StatusOr<bool> FormatReader::Next(const std::string& file, Record* record, bool* at_end) {
  CARILLON_RETURN_IF_ERROR(error_);
  const StatusOr<bool> any = file_->Next(&record->value);
  if (!absl::IsCancelled(any.status())) error_ = any.status();
  CARILLON_RETURN_IF_ERROR(any.status());
  *at_end = !*any;
  if (*any) record->key = StrCat(file, ":", file_->place());
  return *any;
}

void FormatReader::Stop() {
  file_.reset();
  error_ = absl::OkStatus();
}

}  // namespace carillon
