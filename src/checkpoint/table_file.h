// Sorted tables of keys and values in one file: leveldb's table format, which checkpoints use for
// their index.
#pragma once

#include <map>
#include <string>

#include "base/env.h"

namespace carillon {

using TableEntries = std::map<std::string, std::string>;

// All entries of the table. The file is suspect: every size and offset in it is checked before it
// is used, and every block against its checksum. Damage is DataLoss that names file and offset.
// (leveldb's own reader takes memory for whatever size the file claims.)
StatusOr<TableEntries> ReadTable(Env& env, const std::string& path);

// Writes a new file, uncompressed, and waits until it would survive a power cut.
Status WriteTable(Env& env, const std::string& path, const TableEntries& entries);

}  // namespace carillon
