#include "carillon/flags.h"

#include <gtest/gtest.h>

#include "carillon/error.h"

namespace carillon {
namespace {

struct Values {
  bool json = false, shuffle = true;
  int threads = 2;
  int64_t steps = 1000;
  double rate = 1e-4;
  std::string dir, data = "digits";
  std::vector<std::string> hosts;
  std::vector<int64_t> sizes{100, 10};
  std::vector<std::string> files;
};

void Declare(Values* v, Flags* flags) {
  flags->Group("Training");
  flags->Add("steps", &v->steps, "how many batches", {.min = 1});
  flags->Add("learning_rate", &v->rate, "the step size", {.min = 0, .max = 10});
  flags->Add("threads", &v->threads, "how many threads");
  flags->Add("sizes", &v->sizes, "the layers");
  flags->Group("Data");
  flags->Add("data", &v->data, {"digits", "mnist"}, "which data set");
  flags->Add("data_dir", &v->dir, "where the files are");
  flags->Add("shuffle", &v->shuffle, "in random order");
  flags->Add("hosts", &v->hosts, "who takes part");
  flags->Add("json", &v->json, "end with JSON");
  flags->Example("train --steps 10", "a very short run");
}

// "" when the arguments are fine, the message otherwise.
std::string ErrorOf(const std::vector<std::string>& arguments) {
  Values v;
  Flags flags("train", "Trains.");
  Declare(&v, &flags);
  try {
    flags.Parse(arguments);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kInvalidArgument);
    return error.what();
  }
}

TEST(FlagsTest, ReadsEverySpelling) {
  Values v;
  Flags flags("train", "Trains.");
  Declare(&v, &flags);
  flags.Positional("FILE…", &v.files, "files");
  ASSERT_TRUE(flags.Parse({"--steps", "5", "--learning-rate=0.5", "a", "--json", "--no_shuffle",
                           "--hosts", "x:1,y:2", "--sizes=1,2,3", "--threads", "-1", "--data=mnist",
                           "--data_dir=", "--", "--b"}));
  EXPECT_EQ(v.steps, 5);
  EXPECT_EQ(v.rate, 0.5);
  EXPECT_TRUE(v.json);
  EXPECT_FALSE(v.shuffle);
  EXPECT_EQ(v.hosts, (std::vector<std::string>{"x:1", "y:2"}));
  EXPECT_EQ(v.sizes, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(v.threads, -1);
  EXPECT_EQ(v.data, "mnist");
  EXPECT_EQ(v.dir, "");
  EXPECT_EQ(v.files, (std::vector<std::string>{"a", "--b"}));
}

TEST(FlagsTest, ABoolTakesTrueAndFalse) {
  for (const auto& [arguments, expected] : std::vector<std::pair<std::vector<std::string>, bool>>{
           {{"--shuffle=false"}, false},
           {{"--shuffle", "false"}, false},
           {{"--noshuffle"}, false},
           {{"--no-shuffle"}, false},
           {{"--shuffle=1"}, true},
           {{"--no_shuffle", "--shuffle"}, true}}) {
    Values v;
    Flags flags("train", "Trains.");
    Declare(&v, &flags);
    ASSERT_TRUE(flags.Parse(arguments));
    EXPECT_EQ(v.shuffle, expected) << arguments[0];
  }
}

TEST(FlagsTest, NamesTheNearestFlag) {
  EXPECT_EQ(ErrorOf({"--stesp", "5"}), "there is no flag --stesp; did you mean --steps?");
  EXPECT_EQ(ErrorOf({"--learning", "5"}),
            "there is no flag --learning; did you mean --learning_rate?");
  EXPECT_EQ(ErrorOf({"--xyzzy"}), "there is no flag --xyzzy");
  EXPECT_EQ(ErrorOf({"--no_steps"}), "there is no flag --no_steps") << "only a bool can be denied";
}

TEST(FlagsTest, SaysWhatItGotAndWhatItTakes) {
  EXPECT_EQ(ErrorOf({"--steps=ten"}), "--steps got \"ten\", expected a whole number, 1 or more");
  EXPECT_EQ(ErrorOf({"--steps", "0"}), "--steps got \"0\", expected a whole number, 1 or more");
  EXPECT_EQ(ErrorOf({"--steps", "1.5"}), "--steps got \"1.5\", expected a whole number, 1 or more");
  EXPECT_EQ(ErrorOf({"--steps", "99999999999999999999"}),
            "--steps got \"99999999999999999999\", expected a whole number, 1 or more");
  EXPECT_EQ(ErrorOf({"--learning_rate", "11"}),
            "--learning_rate got \"11\", expected a number from 0 to 10");
  EXPECT_EQ(ErrorOf({"--learning_rate=nan"}),
            "--learning_rate got \"nan\", expected a number from 0 to 10");
  EXPECT_EQ(ErrorOf({"--data", "cifar"}), "--data got \"cifar\", expected one of digits, mnist");
  EXPECT_EQ(ErrorOf({"--sizes=1,,2"}),
            "--sizes got \"1,,2\", expected whole numbers with commas between");
  EXPECT_EQ(ErrorOf({"--json=maybe"}), "--json got \"maybe\", expected true or false");
  EXPECT_EQ(ErrorOf({"--steps"}), "--steps needs a value, as in --steps N");
  EXPECT_EQ(ErrorOf({"--steps", "--json"}), "--steps needs a value, as in --steps N");
  EXPECT_EQ(ErrorOf({"x"}), "unexpected argument \"x\": this takes flags only");
  EXPECT_EQ(ErrorOf({"-x"}), "unexpected argument \"-x\": flags start with two dashes");
}

TEST(FlagsTest, HelpListsGroupsDefaultsAndExamples) {
  Values v;
  Flags flags(
      "train",
      "Trains a network.\n\nThe second paragraph is long enough that it has to be wrapped at sixty "
      "columns or so.");
  Declare(&v, &flags);
  EXPECT_FALSE(flags.Parse({"--steps", "1", "--help"}));
  EXPECT_FALSE(flags.Parse({"-h"}));
  const std::string help = Flags("x", "y").Help();
  EXPECT_NE(help.find("--help"), std::string::npos);
  const std::string text = flags.Help(60);
  for (const char* part :
       {"Usage: train [flags]", "Training\n", "Data\n", "--steps N", "(default 1000)", "--json  ",
        "--no_shuffle", "which data set: digits, mnist",
        "Examples\n  train --steps 10\n      a very short run"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 60u) << text.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(FlagsDeathTest, ExitsWithTheErrorOrTheHelp) {
  const char* wrong[] = {"train", "--oops"};
  EXPECT_EXIT(Flags("train", "Trains.").ParseOrExit(2, wrong), ::testing::ExitedWithCode(2),
              "there is no flag --oops");
  const char* help[] = {"train", "--help"};
  EXPECT_EXIT(Flags("train", "Trains.").ParseOrExit(2, help), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace carillon
