#include "data/catalog.h"

#include <cstdlib>
#include <utility>

#include "base/throw.h"
#include "carillon/flags.h"
#include "data/formats.h"

namespace carillon {
namespace {

std::vector<std::string> DigitNames() { return {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; }

std::vector<std::string> NumberedNames(int n) {
  std::vector<std::string> names;
  for (int i = 0; i < n; ++i) names.push_back(StrCat("class ", i));
  return names;
}

Status ReadIdx(Env& env, const CatalogEntry& entry, Split, const std::vector<std::string>& paths,
               Dataset* dataset) {
  CARILLON_ASSIGN_OR_RETURN(dataset->images, ReadIdxImages(env, paths[0]));
  CARILLON_ASSIGN_OR_RETURN(
      dataset->labels, ReadIdxLabels(env, paths[1], static_cast<int>(entry.class_names.size())));
  if (dataset->images.dim(0) != dataset->labels.dim(0)) {
    return DataLoss(paths[1], ": ", dataset->labels.dim(0), " labels at offset 4, expected ",
                    dataset->images.dim(0), ", as many as there are images in ", paths[0]);
  }
  return absl::OkStatus();
}

Status ReadCifar10(Env& env, const CatalogEntry&, Split, const std::vector<std::string>& paths,
                   Dataset* dataset) {
  return ReadCifar(env, paths, /*label_bytes=*/1, /*classes=*/10, dataset);
}

// Each picture has a coarse label and a fine one, which counts.
Status ReadCifar100(Env& env, const CatalogEntry&, Split, const std::vector<std::string>& paths,
                    Dataset* dataset) {
  CARILLON_RETURN_IF_ERROR(ReadCifar(env, paths, /*label_bytes=*/2, /*classes=*/100, dataset));
  const auto names = env.ReadFile(JoinPath(Dirname(paths[0]), "fine_label_names.txt"), 1 << 16);
  if (!names.ok()) return absl::OkStatus();  // numbers will do
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < names->size();) {
    const size_t end = std::min(names->find('\n', begin), names->size());
    if (end > begin) lines.push_back(names->substr(begin, end - begin));
    begin = end + 1;
  }
  if (lines.size() == 100) dataset->class_names = std::move(lines);
  return absl::OkStatus();
}

Status ReadSvhnSplit(Env&, const CatalogEntry&, Split, const std::vector<std::string>& paths,
                     Dataset* dataset) {
  return ReadSvhn(paths[0], dataset);
}

Status DrawSplit(Env&, const CatalogEntry&, Split split, const std::vector<std::string>&,
                 Dataset* dataset) {
  return CatchAsStatus([&] {
    DigitsOptions options;
    (split == Split::kTrain ? options.test_size : options.train_size) = 0;
    DataSplits splits = DrawDigits(options);
    *dataset = split == Split::kTrain ? std::move(splits.train) : std::move(splits.test);
  });
}

std::vector<CatalogEntry> MakeCatalog() {
  const std::vector<std::string> idx_train{"train-images-idx3-ubyte", "train-labels-idx1-ubyte"};
  const std::vector<std::string> idx_test{"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
  return {
      {"digits",
       "digits drawn by Carillon",
       "28 x 28 grey",
       "",
       "",
       60'000,
       10'000,
       {},
       {},
       {},
       DigitNames(),
       DrawSplit},
      {"mnist",
       "handwritten digits",
       "28 x 28 grey",
       "MNIST_DIR",
       "https://github.com/cvdfoundation/mnist",
       60'000,
       10'000,
       {"", "raw", "MNIST/raw"},
       idx_train,
       idx_test,
       DigitNames(),
       ReadIdx},
      {"fashion_mnist",
       "pieces of clothing",
       "28 x 28 grey",
       "FASHION_MNIST_DIR",
       "https://github.com/zalandoresearch/fashion-mnist",
       60'000,
       10'000,
       {"", "raw", "FashionMNIST/raw"},
       idx_train,
       idx_test,
       {"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
        "ankle boot"},
       ReadIdx},
      {"cifar10",
       "animals and vehicles",
       "32 x 32 colour",
       "CIFAR10_DIR",
       "https://www.cs.toronto.edu/~kriz/cifar.html (binary version)",
       50'000,
       10'000,
       {"", "cifar-10-batches-bin"},
       {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
        "data_batch_5.bin"},
       {"test_batch.bin"},
       {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
       ReadCifar10},
      {"cifar100",
       "100 kinds of things",
       "32 x 32 colour",
       "CIFAR100_DIR",
       "https://www.cs.toronto.edu/~kriz/cifar.html (binary version)",
       50'000,
       10'000,
       {"", "cifar-100-binary"},
       {"train.bin"},
       {"test.bin"},
       NumberedNames(100),
       ReadCifar100},
      {"svhn",
       "digits of house numbers",
       "32 x 32 colour",
       "SVHN_DIR",
       "http://ufldl.stanford.edu/housenumbers (format 2)",
       73'257,
       26'032,
       {""},
       {"train_32x32.mat"},
       {"test_32x32.mat"},
       DigitNames(),
       ReadSvhnSplit},
  };
}

// The file as it is, packed, or with the dot that some programs write for the first dash of idx3
// and idx1; "" when there is none.
std::string FindFile(Env& env, const std::string& folder, const std::string& name) {
  std::vector<std::string> spellings{name};
  if (const size_t idx = name.find("-idx"); idx != std::string::npos) {
    spellings.push_back(std::string(name).replace(idx, 1, "."));
  }
  for (const std::string& spelling : spellings) {
    for (const char* ending : {"", ".gz"}) {
      std::string path = JoinPath(folder, spelling + ending);
      const auto info = env.Stat(path);
      if (info.ok() && !info->is_directory) return path;
    }
  }
  return "";
}

std::string ListOf(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) StrAppend(&out, out.empty() ? "" : ", ", item);
  return out;
}

}  // namespace

const std::vector<CatalogEntry>& Catalog() {
  static const std::vector<CatalogEntry> entries = MakeCatalog();
  return entries;
}

StatusOr<const CatalogEntry*> FindEntry(std::string_view name) {
  std::vector<std::string> names;
  for (const CatalogEntry& entry : Catalog()) {
    if (entry.name == name) return &entry;
    names.emplace_back(entry.name);
  }
  const std::string nearest = NearestName(name, names);
  return NotFound("there is no data set \"", name, "\"",
                  nearest.empty() ? "" : StrCat("; did you mean ", nearest, "?"), " Known are ",
                  ListOf(names));
}

DataPlaces DataPlaces::Of(const std::string& data_dir) {
  return {data_dir, [](const std::string& variable) {
            const char* value = std::getenv(variable.c_str());
            return std::string(value == nullptr ? "" : value);
          }};
}

std::vector<std::string> CandidateFolders(const CatalogEntry& entry, const DataPlaces& places) {
  std::vector<std::string> bases;
  const auto add = [&](const std::string& folder) {
    if (folder.empty()) return;
    bases.push_back(JoinPath(folder, entry.name));
    bases.push_back(folder);
  };
  if (!places.data_dir.empty()) {
    add(places.data_dir);
  } else {
    const std::string own = places.environment(std::string(entry.variable));
    if (!own.empty()) bases.push_back(own);
    add(places.environment("CARILLON_DATA_DIR"));
    add("data");
  }
  std::vector<std::string> folders;
  for (const std::string& base : bases) {
    for (const std::string& below : entry.folders) {
      folders.push_back(below.empty() ? base : JoinPath(base, below));
    }
  }
  return folders;
}

StatusOr<Location> Locate(Env& env, const CatalogEntry& entry, const DataPlaces& places) {
  if (!entry.needs_files()) return Location{};
  std::string incomplete;  // the first folder with some of the files
  for (const std::string& folder : CandidateFolders(entry, places)) {
    Location location{folder, {}, {}};
    std::vector<std::string> missing;
    for (const Split split : {Split::kTrain, Split::kTest}) {
      auto& paths = split == Split::kTrain ? location.train_paths : location.test_paths;
      for (const std::string& file : entry.files(split)) {
        paths.push_back(FindFile(env, folder, file));
        if (paths.back().empty()) missing.push_back(file);
      }
    }
    if (missing.empty()) return location;
    const size_t all = entry.train_files.size() + entry.test_files.size();
    if (incomplete.empty() && missing.size() < all) {
      incomplete = StrCat(folder, " lacks ", ListOf(missing));
    }
  }
  std::string hint = places.data_dir.empty() ? StrCat("; set ", entry.variable,
                                                      " or --data_dir to the folder with its files")
                                             : std::string();
  if (!incomplete.empty())
    return NotFound(entry.name, ": ", incomplete, " (from ", entry.homepage, ")");
  std::vector<std::string> looked;
  for (const std::string& folder : CandidateFolders(entry, places)) looked.push_back(folder);
  return NotFound(entry.name, ": expected ", entry.train_files.front(), " and the like in one of ",
                  ListOf(looked), hint, "; get them from ", entry.homepage);
}

StatusOr<Dataset> ReadSplit(Env& env, const CatalogEntry& entry, Split split,
                            const Location& location) {
  Dataset dataset;
  dataset.class_names = entry.class_names;
  CARILLON_RETURN_IF_ERROR(entry.read(env, entry, split, location.paths(split), &dataset));
  dataset.name = StrCat(entry.name, split == Split::kTrain ? " train" : " test");
  return dataset;
}

}  // namespace carillon
