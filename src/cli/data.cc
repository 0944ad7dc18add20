// carillon data: lists, checks, previews and exports data sets.
#include "carillon/data.h"

#include <algorithm>
#include <limits>

#include "base/env.h"
#include "base/throw.h"
#include "checkpoint/record.h"
#include "cli/command.h"
#include "data/catalog.h"
#include "data/formats.h"
#include "data/mat_file.h"
#include "data/preview.h"
#include "report/terminal.h"
#include "report/text.h"

namespace carillon {
namespace {

constexpr char kDataDirHelp[] =
    "the folder that holds the files, or folders named after the data sets; without it the "
    "variables MNIST_DIR, CIFAR10_DIR and so on, $CARILLON_DATA_DIR and ./data are looked at";

std::string Message(const Status& status) {
  return std::string(status.message().data(), status.message().size());
}

std::string SizeText(uint64_t bytes) {
  if (bytes < 10'000) return StrCat(FormatCount(static_cast<int64_t>(bytes)), " bytes");
  return StrCat(FormatNumber(static_cast<double>(bytes) / 1e6), " MB");
}

int List(const std::vector<std::string>& arguments, Console& console) {
  std::string data_dir;
  Flags flags("carillon data list",
              "Lists the data sets that Carillon knows, and where their files are.");
  flags.Add("data_dir", &data_dir, kDataDirHelp);
  flags.Example("carillon data list --data_dir ~/data",
                "looks in ~/data/mnist, ~/data/cifar10 and so on");
  if (!ParseFlags(flags, arguments, console)) return 0;

  const DataPlaces places = DataPlaces::Of(data_dir);
  Table table("", {"name", "shows", "pictures", "train", "test", "found"});
  std::string absent;
  for (const CatalogEntry& entry : Catalog()) {
    const StatusOr<Location> location = Locate(PosixEnv(), entry, places);
    std::string where = !entry.needs_files() ? "built in" : location.ok() ? location->folder : "–";
    if (!location.ok()) StrAppend(&absent, absent.empty() ? "" : ", ", entry.name);
    table.Row({std::string(entry.name), std::string(entry.title), std::string(entry.shape),
               FormatCount(entry.train_size), FormatCount(entry.test_size), std::move(where)});
  }
  console.out << table.ToText(console.style);
  if (!absent.empty()) {
    console.out << "\n  Not found: " << absent
                << ".\n  `carillon data check NAME` says where its files are looked for and where "
                   "to get them.\n";
  }
  return 0;
}

// One finding of a check: what there is, or what is wrong. In a terminal long ones are wrapped, in
// a log each has one line.
void PrintFinding(bool good, std::string_view what, std::string_view text, Console& console) {
  constexpr int kIndent = 11;
  std::string line =
      StrCat("  ", good ? Styled(console.style, kGreen, "✓") : Styled(console.style, kRed, "✗"),
             " ", PadRight(what, 6), " ");
  const int width = console.style.redraw ? console.style.width : std::numeric_limits<int>::max();
  AppendWrapped(text, kIndent, kIndent, width, &line);
  console.out << line;
}

// What a sound split holds.
std::string Describe(const Dataset& data) {
  std::vector<int64_t> counts(static_cast<size_t>(data.num_classes()), 0);
  for (const int64_t label : data.labels.values<int64_t>()) ++counts[static_cast<size_t>(label)];
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  double sum = 0;
  for (const uint8_t pixel : data.images.values<uint8_t>()) sum += pixel;
  const double mean =
      sum / 255 / static_cast<double>(std::max<int64_t>(data.images.num_elements(), 1));
  return StrCat(FormatCount(data.size()), " pictures of ", data.images.dim(1), " x ",
                data.images.dim(2), " x ", data.images.dim(3), ", ", data.num_classes(),
                " classes of ", FormatCount(*least), " to ", FormatCount(*most),
                ", mean brightness ", FormatNumber(mean));
}

bool CheckSet(const CatalogEntry& entry, const std::string& data_dir, Console& console) {
  const StatusOr<Location> location = Locate(PosixEnv(), entry, DataPlaces::Of(data_dir));
  console.out << Styled(console.style, kBold, entry.name);
  if (location.ok() && entry.needs_files()) console.out << " in " << location->folder;
  console.out << "\n";
  if (!location.ok()) {
    PrintFinding(false, "files", Message(location.status()), console);
    return false;
  }
  bool good = true;
  for (const Split split : {Split::kTrain, Split::kTest}) {
    const char* name = split == Split::kTrain ? "train" : "test";
    const int64_t published = split == Split::kTrain ? entry.train_size : entry.test_size;
    const StatusOr<Dataset> data = ReadSplit(PosixEnv(), entry, split, *location);
    std::string text = data.ok() ? Describe(*data) : Message(data.status());
    const bool complete = data.ok() && data->size() == published;
    if (data.ok() && !complete)
      StrAppend(&text, "; expected ", FormatCount(published), " pictures");
    PrintFinding(complete, name, text, console);
    good = good && complete;
  }
  return good;
}

StatusOr<std::string> CheckRecords(const std::string& path) {
  CARILLON_ASSIGN_OR_RETURN(RecordReader reader, RecordReader::Open(PosixEnv(), path));
  int64_t records = 0;
  uint64_t bytes = 0;
  for (std::string record;; ++records, bytes += record.size()) {
    CARILLON_ASSIGN_OR_RETURN(const bool more, reader.Next(&record));
    if (!more)
      return StrCat(FormatCount(records), " records with ", SizeText(bytes),
                    ", all checksums right");
  }
}

StatusOr<std::string> CheckMat(const std::string& path) {
  CARILLON_ASSIGN_OR_RETURN(const std::vector<MatVariable> variables,
                            ScanMatFile(PosixEnv(), path));
  std::string text = "MATLAB file with";
  for (const MatVariable& variable : variables) {
    StrAppend(&text, " ", variable.name, Shape(std::span(variable.dims)).ToString());
  }
  return text;
}

StatusOr<std::string> CheckIdx(const std::string& path) {
  if (path.find("idx1") != std::string::npos) {
    CARILLON_ASSIGN_OR_RETURN(const Tensor labels, ReadIdxLabels(PosixEnv(), path, 256));
    return StrCat(FormatCount(labels.dim(0)), " labels");
  }
  CARILLON_ASSIGN_OR_RETURN(const Tensor images, ReadIdxImages(PosixEnv(), path));
  return StrCat(FormatCount(images.dim(0)), " pictures of ", images.dim(1), " x ", images.dim(2));
}

bool CheckFile(const std::string& path, Console& console) {
  const std::string_view name = Basename(path);
  const StatusOr<std::string> found = name.ends_with(".mat") ? CheckMat(path)
                                      : name.find("idx") != std::string_view::npos
                                          ? CheckIdx(path)
                                          : CheckRecords(path);
  PrintFinding(found.ok(), "file",
               found.ok() ? StrCat(path, ": ", *found) : Message(found.status()), console);
  return found.ok();
}

int Check(const std::vector<std::string>& arguments, Console& console) {
  std::string data_dir;
  std::vector<std::string> names;
  Flags flags(
      "carillon data check",
      "Reads data sets or files from end to end and says what they hold or what is wrong with "
      "them: the file, the offset and what was expected there.");
  flags.Positional(
      "NAME|FILE…", &names,
      StrCat("data sets (", JoinWith(", ", DatasetNames()),
             ") or files (TFRecords, idx files, MATLAB files); all data sets when there are none"));
  flags.Add("data_dir", &data_dir, kDataDirHelp);
  flags.Example("carillon data check mnist --data_dir ~/data", "checks the four files of MNIST");
  flags.Example("carillon data check train-00000.tfrecord", "checks the checksum of every record");
  if (!ParseFlags(flags, arguments, console)) return 0;

  bool good = true;
  if (names.empty()) names = DatasetNames();
  for (const std::string& name : names) {
    const StatusOr<const CatalogEntry*> entry = FindEntry(name);
    if (entry.ok()) {
      good = CheckSet(**entry, data_dir, console) && good;
    } else if (PosixEnv().Exists(name)) {
      good = CheckFile(name, console) && good;
    } else {
      PrintFinding(false, "name", StrCat(Message(entry.status()), "; and there is no such file"),
                   console);
      good = false;
    }
  }
  return good ? 0 : 1;
}

// Pictures side by side, as many as fit, the class below each.
void DrawRows(const Dataset& data, const std::vector<int64_t>& indices, bool large,
              Console& console) {
  // Dots are fine enough for the whole picture; blocks are as coarse as pixels, so that half the
  // size saves room.
  const bool whole = large || console.colors == ColorDepth::kNone;
  const auto lines_of = [&](int64_t index) {
    const Picture picture = PictureOf(data, index);
    return DrawPicture(whole ? picture : Halved(picture), console.colors);
  };
  const int pixels = static_cast<int>(data.images.dim(2));
  const int width = console.colors == ColorDepth::kNone ? (pixels + 1) / 2
                    : whole                             ? pixels
                                                        : (pixels + 1) / 2;
  constexpr int kGap = 2;
  const int columns = std::max(1, (console.style.width - kGap) / (width + kGap));
  for (size_t begin = 0; begin < indices.size(); begin += static_cast<size_t>(columns)) {
    const size_t end = std::min(indices.size(), begin + static_cast<size_t>(columns));
    std::vector<std::string> rows;
    std::string captions;
    for (size_t i = begin; i < end; ++i) {
      const std::vector<std::string> lines = lines_of(indices[i]);
      rows.resize(lines.size());
      for (size_t row = 0; row < lines.size(); ++row) StrAppend(&rows[row], "  ", lines[row]);
      const auto label = static_cast<size_t>(data.labels.data<int64_t>()[indices[i]]);
      StrAppend(&captions, "  ",
                PadRight(data.class_names[label].substr(0, static_cast<size_t>(width)), width));
    }
    for (const std::string& row : rows) console.out << row << "\n";
    console.out << Styled(console.style, kDim, captions) << "\n\n";
  }
}

int Preview(const std::vector<std::string>& arguments, Console& console) {
  std::string data_dir, split_name = "train", png;
  std::vector<std::string> names;
  int64_t count = 20, first = 0, wanted = -1, columns = 10, zoom = 3;
  bool by_class = false, large = false;
  Flags flags(
      "carillon data preview",
      "Shows samples of a data set, drawn with characters in the terminal or as a PNG file.");
  flags.Positional("NAME", &names,
                   StrCat("one of ", JoinWith(", ", DatasetNames()), ", or a TFRecord file"));
  flags.Group("Which samples");
  flags.Add("split", &split_name, {"train", "test"}, "which part");
  flags.Add("count", &count, "how many; with --by_class, of each class",
            {.min = 1, .max = 100'000});
  flags.Add("first", &first, "the number of the first one", {.min = 0});
  flags.Add("label", &wanted, "only this class, -1 for all", {.min = -1});
  flags.Add("by_class", &by_class, "sort them by class");
  flags.Group("How");
  flags.Add("png", &png, "write a picture to this file instead of drawing in the terminal");
  flags.Add("columns", &columns, "samples in a row of the PNG file", {.min = 1, .max = 1000});
  flags.Add("zoom", &zoom, "how many pixels of the PNG file a pixel takes", {.min = 1, .max = 32});
  flags.Add("large", &large, "in the terminal, a character for every two pixels");
  flags.Group("Where the files are");
  flags.Add("data_dir", &data_dir, kDataDirHelp);
  flags.Example("carillon data preview digits", "twenty of the built-in digits");
  flags.Example("carillon data preview digits --by_class --count 16 --columns 16 --png digits.png",
                "a picture with a row for each digit");
  if (!ParseFlags(flags, arguments, console)) return 0;
  if (names.size() != 1) {
    Throw(InvalidArgument(
        "expected the name of one data set, as in `carillon data preview digits`; known are ",
        JoinWith(", ", DatasetNames())));
  }

  Dataset data;
  const StatusOr<const CatalogEntry*> entry = FindEntry(names[0]);
  if (!entry.ok() && PosixEnv().Exists(names[0])) {
    data = LoadTFRecords({names[0]});
  } else {
    ThrowIfError(entry.status());
    const Location location = ValueOrThrow(Locate(PosixEnv(), **entry, DataPlaces::Of(data_dir)));
    data = ValueOrThrow(ReadSplit(PosixEnv(), **entry,
                                  split_name == "train" ? Split::kTrain : Split::kTest, location));
  }
  if (data.images.dim(3) != 1 && data.images.dim(3) != 3) {
    Throw(Unimplemented(data.name, " has ", data.images.dim(3), " channels; 1 or 3 can be shown"));
  }
  const std::vector<int64_t> indices =
      by_class ? PickByClass(data, count) : PickSamples(data, first, count, wanted);
  if (indices.empty()) Throw(NotFound(data.name, ": none of its ", data.size(), " samples fits"));
  if (png.empty()) {
    DrawRows(data, indices, large, console);
    return 0;
  }
  const Picture sheet =
      ContactSheet(data, indices, static_cast<int>(columns), static_cast<int>(zoom));
  ThrowIfError(PosixEnv().WriteFile(png, EncodePng(sheet)));
  console.out << png << ": " << indices.size() << " samples of " << data.name << ", " << sheet.width
              << " x " << sheet.height << " pixels\n";
  return 0;
}

int Export(const std::vector<std::string>& arguments, Console& console) {
  std::string data_dir;
  std::vector<std::string> names;
  Flags flags("carillon data export",
              "Writes a data set of grey pictures as the four files in which MNIST is given away, "
              "for programs that read those.");
  flags.Positional("NAME FOLDER", &names, "digits, mnist or fashion_mnist, and where to put it");
  flags.Add("data_dir", &data_dir, kDataDirHelp);
  flags.Example("carillon data export digits ~/data/digits", "the built-in digits");
  if (!ParseFlags(flags, arguments, console)) return 0;
  if (names.size() != 2) {
    Throw(InvalidArgument(
        "expected a data set and a folder, as in `carillon data export digits ~/data/digits`"));
  }
  const DataSplits data = LoadDataset(names[0], data_dir);
  ThrowIfError(PosixEnv().MakeDirectories(names[1]));
  for (const auto& [part, split] :
       {std::pair{"train", &data.train}, std::pair{"t10k", &data.test}}) {
    const std::string start = JoinPath(names[1], part);
    ThrowIfError(WriteIdxImages(PosixEnv(), split->images, StrCat(start, "-images-idx3-ubyte")));
    ThrowIfError(WriteIdxLabels(PosixEnv(), split->labels, StrCat(start, "-labels-idx1-ubyte")));
  }
  console.out << names[1] << ": " << FormatCount(data.train.size()) << " + "
              << FormatCount(data.test.size()) << " pictures\n";
  return 0;
}

constexpr Command kCommands[] = {
    {"list", "lists the data sets and where their files are found", List},
    {"check", "reads data sets or files from end to end and says what is wrong", Check},
    {"preview", "shows samples, in the terminal or as a PNG file", Preview},
    {"export", "writes grey pictures as the files of MNIST", Export},
};

}  // namespace

int RunData(const std::vector<std::string>& arguments, Console& console) {
  return RunOneOf(
      kCommands, "carillon data",
      "Data sets: handwritten digits that Carillon draws itself and so are always there, and "
      "MNIST, "
      "Fashion-MNIST, CIFAR-10, CIFAR-100 and SVHN from the files that their authors give away.",
      "", arguments, console);
}

}  // namespace carillon
