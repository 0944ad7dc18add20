#include "kernels/record_file.h"

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <vector>

#include "base/strings.h"
#include "base/throw.h"
#include "base/work_scope.h"
#include "checkpoint/record.h"

namespace carillon {
namespace {

// Records of several pieces each, so that there is a middle to stop in.
std::string RecordOf(int i) {
  return std::string(100'000 + 1000 * static_cast<size_t>(i), 'a' + i);
}
constexpr int kRecords = 5;

struct Case {
  const char* name;
  std::shared_ptr<const RecordFormat> format;
  std::function<void(Env&, const std::string&)> write;
};

std::vector<Case> Cases() {
  const auto write_text = [](Env& env, const std::string& path) {
    std::string text;
    for (int i = 0; i < kRecords; ++i) StrAppend(&text, RecordOf(i), "\n");
    ASSERT_TRUE(env.WriteFile(path, text).ok());
  };
  const auto write_records = [](Env& env, const std::string& path) {
    auto writer = RecordWriter::Open(env, path);
    ASSERT_TRUE(writer.ok());
    for (int i = 0; i < kRecords; ++i) ASSERT_TRUE(writer->Append(RecordOf(i)).ok());
    ASSERT_TRUE(writer->Close().ok());
  };
  const auto fixed = [](int64_t hop) {
    return std::make_shared<FixedLengthRecords>(
        FixedLengthRecords::Options{.header = 10, .record = 70'000, .footer = 7, .hop = hop});
  };
  return {{"lines", std::make_shared<TextLines>(), write_text},
          {"TFRecords", std::make_shared<TfRecords>(), write_records},
          {"of a length", fixed(0), write_text},
          {"that overlap", fixed(3000), write_text},
          {"with gaps", fixed(90'000), write_text}};
}

// Says yes once, when it is asked for the nth time.
class YesAtOnce final : public CancelFlag {
 public:
  explicit YesAtOnce(int64_t n) : left_(n) {}
  bool IsCancelled() const override { return left_-- == 0; }

 private:
  mutable int64_t left_;
};

// Has no room, once, when it is charged for the nth time.
class FullAtOnce final : public MemoryBudget {
 public:
  explicit FullAtOnce(int64_t n) : left_(n) {}
  bool Charge(int64_t) override {
    // Asked for much and then for little, it says no to both.
    const bool has_room = left_ != 0 && left_ != -1;
    --left_;
    return has_room;
  }

 private:
  int64_t left_;
};

struct Outcome {
  std::vector<std::string> records;  // place and content
  int stops = 0;
};

// Reads on after whatever stops it.
Outcome ReadAll(RecordFile file, MemoryBudget* budget, const CancelFlag* cancel) {
  Outcome outcome;
  for (bool is_end = false; !is_end && outcome.stops < 3;) {
    std::string record;
    StatusOr<bool> any = false;
    const Status thrown = CatchAsStatus([&] {
      const WorkScope scope(budget, cancel);
      any = file.Next(&record);
    });
    const Status status = thrown.ok() ? any.status() : thrown;
    if (!status.ok()) {
      EXPECT_TRUE(absl::IsCancelled(status) || absl::IsResourceExhausted(status)) << status;
      ++outcome.stops;
      continue;
    }
    is_end = !*any;
    if (*any) outcome.records.push_back(StrCat(file.place(), ":", record));
  }
  return outcome;
}

TEST(RecordFile, NothingIsLostWhenWorkStopsInTheMiddleOfARecord) {
  for (const Case& one : Cases()) {
    MemoryEnv env;
    one.write(env, "file");
    const auto open = [&] {
      return *RecordFile::Open(env, "file", ByteStream::Packing::kNone, *one.format, nullptr);
    };
    const Outcome all = ReadAll(open(), nullptr, nullptr);
    ASSERT_GE(all.records.size(), 3u) << one.name;
    int stops = 0;
    for (int64_t n = 0; n < 60; ++n) {
      const YesAtOnce cancel(n);
      FullAtOnce budget(n);
      for (const Outcome& outcome :
           {ReadAll(open(), nullptr, &cancel), ReadAll(open(), &budget, nullptr)}) {
        EXPECT_TRUE(outcome.records == all.records) << one.name << ", stopped at " << n;
        stops += outcome.stops;
      }
    }
    EXPECT_GT(stops, 5) << one.name;
  }
}

// Counts what is charged, and has room for so much.
class CountingAllocator final : public Allocator {
 public:
  void* Allocate(size_t bytes) override { return HostAllocator()->Allocate(bytes); }
  void Free(void* memory, size_t bytes) override { HostAllocator()->Free(memory, bytes); }
  AllocatorStats stats() const override { return {}; }
  bool Charge(int64_t bytes) override {
    if (charged + bytes > limit) return false;
    charged += bytes;
    return true;
  }
  void Discharge(int64_t bytes) override { charged -= bytes; }

  int64_t charged = 0, limit = 1 << 20;
};

TEST(RecordFile, CountsWhatItKeepsOfTheFile) {
  for (const Case& one : Cases()) {
    MemoryEnv env;
    one.write(env, "file");
    const bool keeps = std::dynamic_pointer_cast<const FixedLengthRecords>(one.format) != nullptr;
    CountingAllocator allocator;
    {
      auto file =
          RecordFile::Open(env, "file", ByteStream::Packing::kNone, *one.format, &allocator);
      ASSERT_TRUE(file.ok()) << file.status();
      std::string record;
      ASSERT_TRUE(*file->Next(&record));
      EXPECT_EQ(allocator.charged > 60'000, keeps) << one.name << ": " << allocator.charged;
    }
    EXPECT_EQ(allocator.charged, 0) << one.name;
  }
}

TEST(RecordFile, KeepsNothingWhenThereIsNoRoom) {
  for (const Case& one : Cases()) {
    if (std::string_view(one.name) != "that overlap") continue;
    MemoryEnv env;
    one.write(env, "file");
    CountingAllocator allocator;
    const auto open = [&] {
      return *RecordFile::Open(env, "file", ByteStream::Packing::kNone, *one.format, &allocator);
    };
    const Outcome all = ReadAll(open(), nullptr, nullptr);
    RecordFile file = open();
    for (const std::string& wanted : all.records) {
      std::string record;
      allocator.limit = 1000;
      const int64_t kept = allocator.charged;  // needs no more room
      const Status thrown = CatchAsStatus([&] { (void)file.Next(&record); });
      if (!thrown.ok()) {
        EXPECT_EQ(kept, 0);
        EXPECT_TRUE(absl::IsResourceExhausted(thrown)) << thrown;
        EXPECT_EQ(allocator.charged, 0);
        allocator.limit = 1 << 20;
        record.clear();
        ASSERT_TRUE(*file.Next(&record));
      }
      EXPECT_TRUE(StrCat(file.place(), ":", record) == wanted);
    }
    EXPECT_GT(allocator.charged, 0);
  }
}

}  // namespace
}  // namespace carillon
