#include "carillon/data.h"

#include <cstring>
#include <sstream>

#include "cli/command.h"
#include "data/preview.h"
#include "data/test_util.h"

namespace carillon {
namespace {

struct Result {
  int status;
  std::string out, err;
};

Result RunTool(const std::vector<std::string>& arguments, const TextStyle& style = {},
               ColorDepth colors = ColorDepth::kNone) {
  std::ostringstream out, err;
  Console console{out, err, style, colors};
  const int status = RunData(arguments, console);
  return {status, out.str(), err.str()};
}

#define EXPECT_CONTAINS(text, part) \
  EXPECT_NE((text).find(part), std::string::npos) << "no \"" << part << "\" in\n" << (text)

// The four files of MNIST, tiny.
void WriteMnist(const TemporaryFolder& folder) {
  for (const char* part : {"train", "t10k"}) {
    folder.Write(StrCat("mnist/", part, "-images-idx3-ubyte.gz"),
                 Gzip(IdxFile({3, 28, 28}, SomeBytes(3 * 784))));
    folder.Write(StrCat("mnist/", part, "-labels-idx1-ubyte"), IdxFile({3}, {4, 0, 9}));
  }
}

TEST(DataCommandTest, HelpTeaches) {
  const Result help = RunTool({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* command : {"list", "check", "preview", "export"})
    EXPECT_CONTAINS(help.out, command);
  EXPECT_EQ(RunTool({}).status, 2);
  for (const char* command : {"list", "check", "preview", "export"}) {
    const Result more = RunTool({command, "--help"});
    EXPECT_EQ(more.status, 0);
    EXPECT_CONTAINS(more.out, StrCat("Usage: carillon data ", command));
    EXPECT_CONTAINS(more.out, "Examples");
    EXPECT_CONTAINS(more.out, "--data_dir");
  }
}

TEST(DataCommandTest, WrongUseIsExplained) {
  const Result unknown = RunTool({"lst"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_CONTAINS(unknown.err, "there is no command \"lst\"; did you mean list?");
  const Result flag = RunTool({"list", "--data_dri=x"});
  EXPECT_EQ(flag.status, 2);
  EXPECT_CONTAINS(flag.err, "did you mean --data_dir?");
  EXPECT_EQ(RunTool({"preview"}).status, 2);
  const Result name = RunTool({"preview", "mnits"});
  EXPECT_EQ(name.status, 1);
  EXPECT_CONTAINS(name.err, "did you mean mnist?");
}

TEST(DataCommandTest, ListSaysWhatIsFoundWhere) {
  const TemporaryFolder folder;
  WriteMnist(folder);
  const Result list = RunTool({"list", "--data_dir", folder.path()});
  EXPECT_EQ(list.status, 0);
  EXPECT_CONTAINS(list.out, folder.Path("mnist"));
  EXPECT_CONTAINS(list.out, "built in");
  EXPECT_CONTAINS(list.out, "Not found: fashion_mnist, cifar10, cifar100, svhn");
}

TEST(DataCommandTest, CheckFindsAndNamesDamage) {
  const TemporaryFolder folder;
  WriteMnist(folder);
  Result check = RunTool({"check", "mnist", "--data_dir", folder.path()});
  EXPECT_EQ(check.status, 1);
  EXPECT_CONTAINS(check.out, "3 pictures of 28 x 28 x 1");
  EXPECT_CONTAINS(check.out, "expected 60,000 pictures") << "it is sound, but not the whole set";
  folder.Write("mnist/train-images-idx3-ubyte.gz", Gzip(IdxFile({3, 28, 28}, SomeBytes(100))));
  check = RunTool({"check", "mnist", "--data_dir", folder.path()});
  EXPECT_CONTAINS(check.out, "✗ train");
  EXPECT_CONTAINS(check.out, "truncated at offset 116");
  check = RunTool({"check", "cifar10", "--data_dir", folder.path()});
  EXPECT_EQ(check.status, 1);
  EXPECT_CONTAINS(check.out, "data_batch_1.bin");
  check = RunTool({"check", "nothing-of-the-kind"});
  EXPECT_EQ(check.status, 1);
  EXPECT_CONTAINS(check.out, "there is no such file");
}

TEST(DataCommandTest, CheckReadsSingleFiles) {
  const TemporaryFolder folder;
  const std::string records = folder.Path("r.tfrecord");
  SaveAsTFRecords(DrawDigits({.train_size = 3, .test_size = 0}).train, records);
  Result check = RunTool({"check", records});
  EXPECT_EQ(check.status, 0);
  EXPECT_CONTAINS(check.out, "3 records");
  std::string bytes = *PosixEnv().ReadFile(records);
  bytes[500] ^= 1;
  check = RunTool({"check", folder.Write("bad.tfrecord", bytes)});
  EXPECT_EQ(check.status, 1);
  EXPECT_CONTAINS(check.out, "corrupt record at offset 0");
  EXPECT_CONTAINS(RunTool({"check", folder.Write("x-idx1-ubyte", IdxFile({3}, "abc"))}).out,
                  "3 labels");
  EXPECT_CONTAINS(RunTool({"check", folder.Write("x-idx3-ubyte", IdxFile({1, 1, 3}, "abc"))}).out,
                  "1 pictures of 1 x 3");
  EXPECT_EQ(RunTool({"check", folder.Write("x.mat", "no")}).status, 1);
}

TEST(DataCommandTest, CheckPassesTheBuiltInDigits) {
  const Result check = RunTool({"check", "digits"});
  EXPECT_EQ(check.status, 0);
  EXPECT_CONTAINS(check.out, "✓ train  60,000 pictures");
  EXPECT_CONTAINS(check.out, "✓ test   10,000 pictures");
}

TEST(DataCommandTest, PreviewDrawsInTheTerminal) {
  const Result dots = RunTool({"preview", "digits", "--split", "test", "--count", "3"});
  EXPECT_EQ(dots.status, 0);
  EXPECT_CONTAINS(dots.out, "⣿");
  EXPECT_EQ(std::count(dots.out.begin(), dots.out.end(), '\n'), 7 + 1 + 1) << "one row of pictures";
  const Result blocks = RunTool({"preview", "digits", "--split", "test", "--count", "3"},
                                {.width = 100, .color = true}, ColorDepth::kTrue);
  EXPECT_CONTAINS(blocks.out, "▀");
  EXPECT_CONTAINS(blocks.out, "\x1b[38;2;");
  const Result none = RunTool({"preview", "digits", "--split", "test", "--label", "77"});
  EXPECT_EQ(none.status, 1);
  EXPECT_CONTAINS(none.err, "none of its 10000 samples fits");
}

TEST(DataCommandTest, PreviewWritesPng) {
  const TemporaryFolder folder;
  const Result sheet =
      RunTool({"preview", "digits", "--split", "test", "--by_class", "--count", "2", "--columns",
               "4", "--zoom", "1", "--png", folder.Path("s.png")});
  EXPECT_EQ(sheet.status, 0);
  EXPECT_CONTAINS(sheet.out, "20 samples of digits test");
  EXPECT_TRUE(PosixEnv().ReadFile(folder.Path("s.png"))->starts_with("\x89PNG"));
  const Result unwritable =
      RunTool({"preview", "digits", "--split", "test", "--png", "/nowhere/s.png"});
  EXPECT_EQ(unwritable.status, 1);
  EXPECT_CONTAINS(unwritable.err, "/nowhere/s.png");
}

TEST(DataCommandTest, PreviewShowsTFRecords) {
  const TemporaryFolder folder;
  SaveAsTFRecords(DrawDigits({.train_size = 3, .test_size = 0}).train, folder.Path("r"));
  EXPECT_EQ(RunTool({"preview", folder.Path("r")}).status, 0);
}

TEST(DataCommandTest, ExportedDigitsAreRead) {
  const TemporaryFolder folder;
  const Result made = RunTool({"export", "digits", folder.Path("d/mnist")});
  EXPECT_EQ(made.status, 0) << made.err;
  const DataSplits back = LoadDataset("mnist", folder.Path("d")), digits = DrawDigits();
  EXPECT_EQ(back.train.size(), 60'000);
  const auto same = [](const Tensor& a, const Tensor& b) {
    return a.num_bytes() == b.num_bytes() &&
           std::memcmp(a.raw_data(), b.raw_data(), a.num_bytes()) == 0;
  };
  EXPECT_TRUE(same(back.test.images, digits.test.images));
  EXPECT_TRUE(same(back.test.labels, digits.test.labels));
  EXPECT_EQ(RunTool({"export", "digits"}).status, 2);
}

TEST(PreviewTest, ASheetHoldsItsSamples) {
  const Dataset digits = DrawDigits({.train_size = 50, .test_size = 0}).train;
  const std::vector<int64_t> picked = PickByClass(digits, 2);
  for (size_t i = 1; i < picked.size(); ++i) {
    EXPECT_LE(digits.labels.data<int64_t>()[picked[i - 1]],
              digits.labels.data<int64_t>()[picked[i]]);
  }
  const Picture sheet = ContactSheet(digits, std::vector<int64_t>{7}, 10, 2);
  const Picture sample = PictureOf(digits, 7);
  EXPECT_EQ(sheet.at(8, 8)[0], sample.at(0, 0)[0]);
  EXPECT_EQ(sheet.at(8 + 2 * 14 + 1, 8 + 2 * 9)[2], sample.at(14, 9)[0]);
  const Picture half = Halved(sample);
  EXPECT_EQ(half.width, 14);
  EXPECT_EQ(PickSamples(digits, 48, 10, -1), (std::vector<int64_t>{48, 49}));
}

}  // namespace
}  // namespace carillon
