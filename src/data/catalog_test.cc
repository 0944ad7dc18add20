#include "data/catalog.h"

#include <cstdlib>
#include <map>

#include "carillon/report.h"
#include "data/test_util.h"

namespace carillon {
namespace {

std::string SmallImages(uint32_t n) { return IdxFile({n, 28, 28}, SomeBytes(n * 784)); }
std::string SmallLabels(uint32_t n) {
  std::string labels;
  for (uint32_t i = 0; i < n; ++i) labels.push_back(static_cast<char>(i % 10));
  return IdxFile({n}, labels);
}

class CatalogTest : public ::testing::Test {
 protected:
  void WriteMnist(const std::string& folder, bool packed = false) {
    ASSERT_TRUE(env_.MakeDirectories(folder).ok());
    const auto write = [&](const std::string& name, const std::string& content) {
      const std::string path = JoinPath(folder, name + (packed ? ".gz" : ""));
      ASSERT_TRUE(env_.WriteFile(path, packed ? Gzip(content) : content).ok());
    };
    write("train-images-idx3-ubyte", SmallImages(6));
    write("train-labels-idx1-ubyte", SmallLabels(6));
    write("t10k-images-idx3-ubyte", SmallImages(4));
    write("t10k-labels-idx1-ubyte", SmallLabels(4));
  }
  DataPlaces Places(const std::string& data_dir = "") {
    return {data_dir, [this](const std::string& name) { return variables_[name]; }};
  }
  const CatalogEntry& Mnist() { return **FindEntry("mnist"); }

  MemoryEnv env_;
  std::map<std::string, std::string> variables_;
};

TEST_F(CatalogTest, FindsFilesWhereTheUserSays) {
  WriteMnist("/here");
  WriteMnist("/all/mnist", true);
  WriteMnist("/torch/MNIST/raw");
  const auto folder = [&](const std::string& data_dir) {
    const auto location = Locate(env_, Mnist(), Places(data_dir));
    return location.ok() ? location->folder : StrCat(location.status().message());
  };
  EXPECT_EQ(folder("/here"), "/here");
  EXPECT_EQ(folder("/all"), "/all/mnist");
  EXPECT_EQ(folder("/all/mnist"), "/all/mnist");
  EXPECT_EQ(folder("/torch"), "/torch/MNIST/raw");
  variables_["CARILLON_DATA_DIR"] = "/all";
  EXPECT_EQ(folder(""), "/all/mnist");
  variables_["MNIST_DIR"] = "/here";
  EXPECT_EQ(folder(""), "/here");
  EXPECT_NE(folder("/nowhere"), "/here") << "what the user says counts alone";
}

TEST_F(CatalogTest, ReadsBothSplits) {
  for (const bool packed : {false, true}) {
    WriteMnist("/m", packed);
    const auto location = Locate(env_, Mnist(), Places("/m"));
    ASSERT_TRUE(location.ok()) << location.status();
    const auto train = ReadSplit(env_, Mnist(), Split::kTrain, *location);
    ASSERT_TRUE(train.ok()) << train.status();
    EXPECT_EQ(train->name, "mnist train");
    EXPECT_EQ(train->images.shape(), (Shape{6, 28, 28, 1}));
    EXPECT_EQ(train->labels.data<int64_t>()[5], 5);
    EXPECT_EQ(train->class_names.size(), 10u);
    EXPECT_EQ(ReadSplit(env_, Mnist(), Split::kTest, *location)->size(), 4);
  }
}

TEST_F(CatalogTest, SaysWhatIsMissingAndWhereToGetIt) {
  EXPECT_STATUS(Locate(env_, Mnist(), Places("/x")).status(), kNotFound, "mnist", "/x/mnist, ",
                "/x", "train-images-idx3-ubyte", "https://");
  EXPECT_STATUS(Locate(env_, Mnist(), Places()).status(), kNotFound, "MNIST_DIR", "--data_dir");
  WriteMnist("/m");
  ASSERT_TRUE(env_.Remove("/m/t10k-labels-idx1-ubyte").ok());
  EXPECT_STATUS(Locate(env_, Mnist(), Places("/m")).status(), kNotFound,
                "/m lacks t10k-labels-idx1-ubyte");
  EXPECT_STATUS(FindEntry("minst").status(), kNotFound, "did you mean mnist?", "cifar10");
}

TEST_F(CatalogTest, ImagesAndLabelsHaveToMatch) {
  WriteMnist("/m");
  ASSERT_TRUE(env_.WriteFile("/m/train-labels-idx1-ubyte", SmallLabels(5)).ok());
  const auto location = Locate(env_, Mnist(), Places("/m"));
  EXPECT_STATUS(ReadSplit(env_, Mnist(), Split::kTrain, *location).status(), kDataLoss,
                "/m/train-labels-idx1-ubyte: 5 labels", "expected 6");
}

TEST_F(CatalogTest, EachEntryIsComplete) {
  for (const CatalogEntry& entry : Catalog()) {
    EXPECT_GT(entry.class_names.size(), 1u) << entry.name;
    EXPECT_EQ(entry.train_files.empty(), entry.test_files.empty()) << entry.name;
    EXPECT_EQ(entry.needs_files(), !entry.variable.empty() && !entry.homepage.empty())
        << entry.name;
    EXPECT_TRUE(FindEntry(entry.name).ok());
  }
  EXPECT_EQ(DatasetNames().front(), "digits");
}

TEST(LoadDatasetTest, ReadsFilesAndThrowsWhatIsWrong) {
  const TemporaryFolder folder;
  folder.Write("train.bin", std::string(3074 * 3, '\1'));
  folder.Write("test.bin", std::string(3074 * 2, '\2'));
  const DataSplits plain = LoadDataset("cifar100", folder.path());
  EXPECT_EQ(plain.train.images.shape(), (Shape{3, 32, 32, 3}));
  EXPECT_EQ(plain.test.class_names[2], "class 2");
  std::string names;
  for (int i = 0; i < 100; ++i) names += StrCat("name", i, "\n");
  folder.Write("fine_label_names.txt", names);
  EXPECT_EQ(LoadDataset("cifar100", folder.path()).test.class_names[99], "name99");
  EXPECT_THROW(LoadDataset("cifar10", folder.path()), Error);
  EXPECT_THROW(LoadDataset("nothing"), Error);
}

// $CARILLON_MNIST_DIR, or shared/data/mnist in a folder above this one; "" when there is neither.
std::string RealMnist() {
  if (const char* variable = std::getenv("CARILLON_MNIST_DIR")) return variable;
  for (std::string up = ".."; up.size() < 60; up += "/..") {
    const std::string folder = JoinPath(up, "shared/data/mnist");
    if (PosixEnv().Exists(folder)) return folder;
  }
  return "";
}

TEST(MnistTest, ReadsTheRealFiles) {
  const std::string folder = RealMnist();
  if (folder.empty()) GTEST_SKIP() << "no MNIST here: set CARILLON_MNIST_DIR to its folder";
  const DataSplits mnist = LoadDataset("mnist", folder);
  EXPECT_EQ(mnist.train.images.shape(), (Shape{60'000, 28, 28, 1}));
  EXPECT_EQ(mnist.test.images.shape(), (Shape{10'000, 28, 28, 1}));
  EXPECT_EQ(std::vector<int64_t>(mnist.train.labels.data<int64_t>(),
                                 mnist.train.labels.data<int64_t>() + 8),
            (std::vector<int64_t>{5, 0, 4, 1, 9, 2, 1, 3}));
  int64_t sum = 0;
  for (const uint8_t pixel : mnist.train.images.values<uint8_t>()) sum += pixel;
  EXPECT_NEAR(static_cast<double>(sum) / (60'000 * 784), 33.318,
              0.001);  // the published mean, 0.1307 of 255
}

}  // namespace
}  // namespace carillon
