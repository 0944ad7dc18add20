// Files, by paths that steps compute.
#pragma once

#include "carillon/graph.h"

namespace carillon {

// The content of a file, as a string scalar.
Output ReadFile(Graph& graph, const Input& filename);
// Replaces the file as a whole; makes the directories that are missing.
Operation WriteFile(Graph& graph, const Input& filename, const Input& contents);
// The paths that match `pattern`, or one of several, sorted: * ? [...] within a part of the path.
Output MatchingFiles(Graph& graph, const Input& pattern);

}  // namespace carillon
