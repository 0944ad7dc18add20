#include "checkpoint/bundle.h"

#include <gtest/gtest.h>

#include "checkpoint/bundle_elements.h"
#include "checkpoint/varint.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

Tensor Counting(const Shape& shape, float from = 0) {
  Tensor tensor(DType::kFloat, shape);
  for (float& value : tensor.mutable_values<float>()) value = from++;
  return tensor;
}

Status Save(Env& env, const std::string& prefix, const std::map<std::string, Tensor>& tensors) {
  CARILLON_ASSIGN_OR_RETURN(auto writer, BundleWriter::Open(env, prefix));
  for (const auto& [name, tensor] : tensors) CARILLON_RETURN_IF_ERROR(writer->Add(name, tensor));
  return writer->Finish();
}

StatusOr<Tensor> Load(Env& env, const std::string& prefix, const std::string& name) {
  CARILLON_ASSIGN_OR_RETURN(auto reader, BundleReader::Open(env, prefix));
  CARILLON_ASSIGN_OR_RETURN(const BundleTensorInfo info, reader->Describe(name));
  Tensor tensor(info.dtype, info.shape);
  CARILLON_RETURN_IF_ERROR(reader->Read(name, &tensor));
  return tensor;
}

StatusOr<Tensor> LoadSlice(Env& env, const std::string& prefix, const std::string& name,
                           const std::string& slice) {
  CARILLON_ASSIGN_OR_RETURN(auto reader, BundleReader::Open(env, prefix));
  CARILLON_ASSIGN_OR_RETURN(const BundleTensorInfo info, reader->Describe(name));
  CARILLON_ASSIGN_OR_RETURN(const TensorSlice parsed, TensorSlice::Parse(slice));
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, parsed.ShapeWithin(info.shape));
  Tensor tensor(info.dtype, shape);
  CARILLON_RETURN_IF_ERROR(reader->ReadSlice(name, parsed, &tensor));
  return tensor;
}

std::vector<float> Floats(const Tensor& tensor) {
  return {tensor.values<float>().begin(), tensor.values<float>().end()};
}

void Corrupt(Env& env, const std::string& path, size_t at) {
  std::string bytes = *env.ReadFile(path);
  bytes[at] ^= 0x20;
  ASSERT_TRUE(env.WriteFile(path, bytes).ok());
}

class BundleTest : public testing::Test {
 protected:
  BundleTest() { EXPECT_TRUE(env_.MakeDirectories("/d").ok()); }
  MemoryEnv env_;
};

TEST_F(BundleTest, KeepsEveryDtype) {
  std::map<std::string, Tensor> tensors;
  for (const DType dtype :
       {DType::kFloat, DType::kDouble, DType::kInt32, DType::kUint8, DType::kInt16, DType::kInt8,
        DType::kInt64, DType::kBool, DType::kBfloat16, DType::kUint16, DType::kHalf, DType::kUint32,
        DType::kUint64}) {
    Tensor tensor(dtype, Shape{2, 3});
    DispatchPlain(dtype, [&]<typename T>() {
      for (size_t i = 0; i < 6; ++i) tensor.mutable_data<T>()[i] = static_cast<T>(i % 2 + 1);
    });
    tensors[DTypeName(dtype)] = tensor;
  }
  tensors["scalar"] = Tensor::Scalar(2.5f);
  tensors["empty"] = Tensor(DType::kFloat, Shape{0, 3});
  ASSERT_TRUE(Save(env_, "/d/all", tensors).ok());
  for (const auto& [name, tensor] : tensors) {
    const StatusOr<Tensor> read = Load(env_, "/d/all", name);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->dtype(), tensor.dtype());
    EXPECT_EQ(read->shape(), tensor.shape());
    EXPECT_EQ(std::string_view(static_cast<const char*>(read->raw_data()), read->num_bytes()),
              std::string_view(static_cast<const char*>(tensor.raw_data()), tensor.num_bytes()));
  }
}

TEST_F(BundleTest, KeepsStrings) {
  std::vector<std::string> texts = {"", "a", std::string("\0b", 2), std::string(100000, 'x')};
  for (int i = 0; i < 20000; ++i) texts.push_back(std::string(static_cast<size_t>(i % 300), 'y'));
  ASSERT_TRUE(Save(env_, "/d/s", {{"s", Tensor::FromVector(texts)}}).ok());
  const StatusOr<Tensor> read = Load(env_, "/d/s", "s");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(std::ranges::equal(read->values<std::string>(), texts));
}

TEST_F(BundleTest, MakesOnlyTheLastDirectory) {
  EXPECT_TRUE(Save(env_, "/d/new/p", {{"a", Counting({2})}}).ok());
  EXPECT_TRUE(absl::IsNotFound(Save(env_, "/no/such/p", {{"a", Counting({2})}})));
}

TEST_F(BundleTest, ReadsSlicesOfWholeTensorsAndTensorsOfSlices) {
  const Tensor whole = Counting({6, 4});
  ASSERT_TRUE(Save(env_, "/d/whole", {{"w", whole}}).ok());
  {
    auto writer = BundleWriter::Open(env_, "/d/parts");
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(
        (*writer)->AddSlice("w", {6, 4}, *TensorSlice::Parse("3,3:-"), Counting({3, 4}, 12)).ok());
    ASSERT_TRUE(
        (*writer)->AddSlice("w", {6, 4}, *TensorSlice::Parse("0,3:-"), Counting({3, 4})).ok());
    EXPECT_TRUE(absl::IsInvalidArgument(
        (*writer)->AddSlice("w", {6, 4}, *TensorSlice::Parse("0,3:-"), Counting({3, 4}))));
    EXPECT_TRUE(absl::IsInvalidArgument(
        (*writer)->AddSlice("w", {7, 4}, *TensorSlice::Parse("1,3:-"), Counting({3, 4}))));
    ASSERT_TRUE((*writer)->Finish().ok());
  }
  for (const std::string prefix : {"/d/whole", "/d/parts"}) {
    EXPECT_EQ(Floats(*Load(env_, prefix, "w")), Floats(whole)) << prefix;
    EXPECT_EQ(Floats(*LoadSlice(env_, prefix, "w", "2,3:1,2")),
              (std::vector<float>{9, 10, 13, 14, 17, 18}))
        << prefix;
    EXPECT_EQ(Floats(*LoadSlice(env_, prefix, "w", "3,3:-")), Floats(Counting({3, 4}, 12)));
    EXPECT_EQ(BundleReader::Open(env_, prefix).value()->names(), std::vector<std::string>{"w"});
  }
}

TEST_F(BundleTest, RefusesASliceThatIsNotCovered) {
  auto writer = BundleWriter::Open(env_, "/d/p");
  ASSERT_TRUE(
      (*writer)->AddSlice("w", {6, 4}, *TensorSlice::Parse("0,3:-"), Counting({3, 4})).ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Load(env_, "/d/p", "w").status()));
  EXPECT_TRUE(LoadSlice(env_, "/d/p", "w", "1,2:-").ok());
}

TEST_F(BundleTest, SliceKeysAreTensorFlows) {
  const auto key = [](const std::string& slice) {
    return SliceKey("w", *TensorSlice::Parse(slice));
  };
  EXPECT_EQ(key("0,3:-"), std::string("\0w\0\1\1\2\x80\x83\x80\x7f", 10));
  EXPECT_EQ(key("64,8191"), std::string("\0w\0\1\1\1\xc0\x40\xdf\xff", 10));
  EXPECT_EQ(key("8192,1"), std::string("\0w\0\1\1\1\xe0\x20\0\x81", 10));
  EXPECT_EQ(SliceKey(std::string("\0\xff", 2), TensorSlice()),
            std::string("\0\0\xff\xff\0\0\1\0", 8));
}

TEST_F(BundleTest, SaysWhatIsMissing) {
  EXPECT_TRUE(absl::IsNotFound(Load(env_, "/d/none", "a").status()));
  ASSERT_TRUE(Save(env_, "/d/p", {{"a", Counting({2})}}).ok());
  EXPECT_TRUE(absl::IsNotFound(Load(env_, "/d/p", "b").status()));
  EXPECT_TRUE(absl::IsNotFound(Load(env_, "/d/p", "").status()));
}

TEST_F(BundleTest, NoticesEveryDamagedByte) {
  ASSERT_TRUE(
      Save(env_, "/d/p",
           {{"a", Counting({3})}, {"s", Tensor::FromVector<std::string>({"one", "", "three"})}})
          .ok());
  for (const std::string path : {"/d/p.index", "/d/p.data-00000-of-00001"}) {
    const std::string bytes = *env_.ReadFile(path);
    for (size_t i = 0; i < bytes.size(); ++i) {
      Corrupt(env_, path, i);
      const StatusOr<Tensor> a = Load(env_, "/d/p", "a"), s = Load(env_, "/d/p", "s");
      if (a.ok()) {
        EXPECT_EQ(Floats(*a), Floats(Counting({3})));
      }
      EXPECT_FALSE(path.ends_with("00001") && a.ok() && s.ok()) << i;
      ASSERT_TRUE(env_.WriteFile(path, bytes.substr(0, i)).ok());
      EXPECT_FALSE(Load(env_, "/d/p", "a").ok() && Load(env_, "/d/p", "s").ok()) << i;
      ASSERT_TRUE(env_.WriteFile(path, bytes).ok());
    }
  }
  Corrupt(env_, "/d/p.data-00000-of-00001", 5);
  const Status status = Load(env_, "/d/p", "a").status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_NE(status.message().find("/d/p.data-00000-of-00001: tensor a at offset 0"),
            std::string::npos)
      << status;
}

TEST_F(BundleTest, AFailedWriteLeavesTheOldCheckpointWhole) {
  const Tensor before = Counting({1000}), after = Counting({1000}, 5);
  for (const bool same_prefix : {false, true}) {
    const std::string target = same_prefix ? "/d/old" : "/d/new";
    for (int64_t n = 0;; ++n) {
      ASSERT_TRUE(Save(env_, "/d/old", {{"a", before}}).ok());
      env_.Remove("/d/new.index").IgnoreError();
      FailingEnv failing(env_, n, /*stays_broken=*/false);
      const Status status = Save(failing, target, {{"a", after}});
      const StatusOr<Tensor> old = Load(env_, "/d/old", "a");
      if (failing.operations() <= n) {
        EXPECT_TRUE(status.ok()) << status;
        EXPECT_EQ(Floats(*Load(env_, target, "a")), Floats(after));
        EXPECT_GT(n, 8);
        break;
      }
      if (status.ok()) continue;  // only tidying up, or a question that has another answer, failed
      if (!same_prefix) {
        ASSERT_TRUE(old.ok()) << old.status();
        EXPECT_EQ(Floats(*old), Floats(before));
        EXPECT_FALSE(env_.Exists("/d/new.index")) << n;
      } else if (old.ok()) {
        EXPECT_EQ(Floats(*old), Floats(before));
      } else {  // the very last rename: noticed by the checksum
        EXPECT_TRUE(absl::IsDataLoss(old.status())) << old.status();
      }
      const std::vector<std::string> files = env_.List("/d").value();
      for (const std::string& name : files) {
        EXPECT_EQ(name.find("tempstate"), std::string::npos) << name << " after " << n;
      }
    }
  }
}

TEST_F(BundleTest, MergesShards) {
  ASSERT_TRUE(Save(env_, "/d/t1/part", {{"a", Counting({2})}}).ok());
  ASSERT_TRUE(Save(env_, "/d/t2/part", {{"b", Counting({3})}}).ok());
  const std::vector<std::string> parts = {"/d/t1/part", "/d/t2/part"};
  ASSERT_TRUE(MergeBundles(env_, parts, "/d/m").ok());
  EXPECT_EQ(Floats(*Load(env_, "/d/m", "a")), Floats(Counting({2})));
  EXPECT_EQ(Floats(*Load(env_, "/d/m", "b")), Floats(Counting({3})));
  EXPECT_EQ(*env_.List("/d"), (std::vector<std::string>{"m.data-00000-of-00002",
                                                        "m.data-00001-of-00002", "m.index"}));
}

TEST_F(BundleTest, MergesSlicesAndRefusesDuplicates) {
  const auto save_slice = [&](const std::string& prefix, const std::string& slice) {
    auto writer = BundleWriter::Open(env_, prefix);
    EXPECT_TRUE(
        (*writer)->AddSlice("w", {4, 2}, *TensorSlice::Parse(slice), Counting({2, 2})).ok());
    EXPECT_TRUE((*writer)->Finish().ok());
  };
  save_slice("/d/p1", "0,2:-");
  save_slice("/d/p2", "2,2:-");
  ASSERT_TRUE(MergeBundles(env_, std::vector<std::string>{"/d/p1", "/d/p2"}, "/d/m").ok());
  EXPECT_EQ(Floats(*Load(env_, "/d/m", "w")), (std::vector<float>{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_FALSE(env_.Exists("/d/p1.index"));

  ASSERT_TRUE(Save(env_, "/d/p1", {{"a", Counting({2})}}).ok());
  ASSERT_TRUE(Save(env_, "/d/p2", {{"a", Counting({2})}}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(
      MergeBundles(env_, std::vector<std::string>{"/d/p1", "/d/p2"}, "/d/m")));
  EXPECT_TRUE(Load(env_, "/d/p1", "a").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(
      MergeBundles(env_, std::vector<std::string>{"/d/p1", "/d/gone"}, "/d/m")));
  EXPECT_TRUE(MergeBundles(env_, std::vector<std::string>{"/d/p1", "/d/gone"}, "/d/m2",
                           {.allow_missing = true})
                  .ok());
}

TEST_F(BundleTest, AHostileEntryTakesNoMemory) {
  // An entry that claims 2^60 strings, or 2^50 floats, in a data file of a few bytes.
  ASSERT_TRUE(Save(env_, "/d/p", {{"a", Counting({2})}}).ok());
  for (const char dtype : {'\7', '\1'}) {
    std::string entry = std::string("\x08", 1) + dtype;
    std::string dim = "\x08";
    AppendVarint(uint64_t{1} << (dtype == 7 ? 60 : 50), &dim);
    entry += "\x12" + std::string(1, static_cast<char>(dim.size() + 2)) + "\x12" +
             std::string(1, static_cast<char>(dim.size())) + dim + "\x28";
    AppendVarint(uint64_t{1} << (dtype == 7 ? 60 : 52), &entry);
    ASSERT_TRUE(WriteTable(env_, "/d/p.index", {{"", BundleHeader(1)}, {"a", entry}}).ok());
    const Status status = Load(env_, "/d/p", "a").status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
}

}  // namespace
}  // namespace carillon
