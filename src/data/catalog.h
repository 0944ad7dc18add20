// The data sets that we know by name: what they are, where their files are looked for, how they are
// read.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "carillon/data.h"

namespace carillon {

enum class Split { kTrain, kTest };

struct CatalogEntry {
  std::string_view name;      // "mnist"
  std::string_view title;     // what it shows, in a few words
  std::string_view shape;     // "28 x 28 grey"
  std::string_view variable;  // the environment variable that names its folder
  std::string_view homepage;  // where to get the files
  int64_t train_size, test_size;
  std::vector<std::string> folders;      // below the folder that is given, where archives unpack to
  std::vector<std::string> train_files;  // each may end in .gz besides
  std::vector<std::string> test_files;
  std::vector<std::string> class_names;
  // Reads a split from its files, given in the order above.
  Status (*read)(Env& env, const CatalogEntry& entry, Split split,
                 const std::vector<std::string>& paths, Dataset* dataset);

  bool needs_files() const { return !train_files.empty(); }
  const std::vector<std::string>& files(Split split) const {
    return split == Split::kTrain ? train_files : test_files;
  }
};

const std::vector<CatalogEntry>& Catalog();
// NotFound names the nearest name and all others.
StatusOr<const CatalogEntry*> FindEntry(std::string_view name);

// Where files may be.
struct DataPlaces {
  std::string data_dir;  // what the user said; may be empty
  std::function<std::string(const std::string&)>
      environment;                                    // the value of a variable, "" when unset
  static DataPlaces Of(const std::string& data_dir);  // with the environment of this process
};

struct Location {
  std::string folder;
  std::vector<std::string> train_paths, test_paths;
  const std::vector<std::string>& paths(Split split) const {
    return split == Split::kTrain ? train_paths : test_paths;
  }
};

// The folder that has all files. NotFound says where we looked, what was missing, and what to do.
StatusOr<Location> Locate(Env& env, const CatalogEntry& entry, const DataPlaces& places);
// All that `entry` may be in, best first.
std::vector<std::string> CandidateFolders(const CatalogEntry& entry, const DataPlaces& places);

StatusOr<Dataset> ReadSplit(Env& env, const CatalogEntry& entry, Split split,
                            const Location& location);

}  // namespace carillon
