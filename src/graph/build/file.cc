#include "carillon/ops/file.h"

#include "carillon/op_builder.h"

namespace carillon {

Output ReadFile(Graph& graph, const Input& filename) {
  return OpBuilder(graph, "ReadFile").Arg(filename);
}

Operation WriteFile(Graph& graph, const Input& filename, const Input& contents) {
  return OpBuilder(graph, "WriteFile").Arg(filename).Arg(contents).Build();
}

Output MatchingFiles(Graph& graph, const Input& pattern) {
  return OpBuilder(graph, "MatchingFiles").Arg(pattern);
}

}  // namespace carillon
