// Steps that are small to ask for and large to do: in memory that is not a tensor's, or in time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "base/work_scope.h"
#include "carillon/server.h"
#include "eventually.h"
#include "own_process.h"
#include "raw_client.h"

namespace carillon {
namespace {

constexpr int64_t kMiB = 1 << 20;

std::string Text(const std::string& name, const std::string& value) {
  return NodeText(name, "Const", {},
                  Attr("dtype", "type: DT_STRING") +
                      Attr("value", StrCat("tensor { dtype: DT_STRING tensor_shape { } string_val: "
                                           "\"",
                                           value, "\" }")));
}

std::string Type(const std::string& attr, const std::string& dtype) {
  return Attr(attr, StrCat("type: DT_", dtype));
}

// `many` is a vector of zeros, `texts` one of empty strings, `long` a string: together they make
// more than a gigabyte.
constexpr int64_t kMany = 20'000;
std::string Parts() {
  return ConstText("dims", {kMany}, "DT_INT32") + ConstText("zero", {0}, "DT_INT32", true) +
         ConstText("one", {1}, "DT_INT32", true) +
         NodeText("many", "Fill", {"dims", "zero"}, Type("T", "INT32")) + Text("empty", "") +
         NodeText("texts", "Fill", {"dims", "empty"}, Type("T", "STRING")) +
         Text("long", std::string(64 << 10, 'a')) +
         NodeText("longs", "ExpandDims", {"long", "zero"}, Type("T", "STRING"));
}

// A serialized message of a million empty fields, of two bytes each; `tag` as GraphDefs write it.
std::string ManyFields(const std::string& name, const std::string& tag) {
  std::string fields;
  for (int i = 0; i < 1'000'000; ++i) fields += StrCat(tag, "\\000");
  return Text(name, fields);
}

// An Example in JSON, of many small features; as GraphDefs write it.
std::string ManyKeys() {
  std::string keys;
  for (int i = 0; i < 700'000; ++i) StrAppend(&keys, i == 0 ? "" : ",", "\\\"", i, "\\\":{}");
  return StrCat("{\\\"features\\\":{\\\"feature\\\":{", keys, "}}}");
}

struct Attack {
  std::string name;
  std::string graph;  // fetched: "out:0"
};

std::string Out(const std::string& op, const std::vector<std::string>& inputs,
                const std::string& attrs) {
  return Parts() + NodeText("out", op, inputs, attrs);
}

// A vector of strings, under the name "variable".
std::string Variable(const std::string& op, const std::string& shape) {
  return Parts() + NodeText("variable", op, {}, Type("dtype", "STRING") + Attr("shape", shape));
}

// Attributes of a data set of numbers, and of its iterators.
const std::string kNumbers =
    Attr("output_types", "list { type: DT_INT64 }") + Attr("output_shapes", "list { shape { } }");

std::string DataSet(const std::string& op, const std::vector<std::string>& more_inputs,
                    const std::string& attrs = "") {
  const std::string of_many = Attr("output_types", "list { type: DT_INT64 }") +
                              Attr("output_shapes", "list { shape { unknown_rank: true } }");
  std::vector<std::string> inputs{"range"};
  inputs.insert(inputs.end(), more_inputs.begin(), more_inputs.end());
  return ConstText("from", {0}, "DT_INT64", true) +
         ConstText("to", {int64_t{1} << 50}, "DT_INT64", true) +
         ConstText("step", {1}, "DT_INT64", true) +
         NodeText("no", "Const", {},
                  Type("dtype", "BOOL") +
                      Attr("value", "tensor { dtype: DT_BOOL tensor_shape { } bool_val: false }")) +
         NodeText("range", "RangeDataset", {"from", "to", "step"}, kNumbers) +
         NodeText("set", op, inputs, of_many + attrs) +
         NodeText("iterator", "IteratorV2", {},
                  of_many + Attr("shared_name", "s: \"\"") + Attr("container", "s: \"\"")) +
         NodeText("start", "MakeIterator", {"set", "iterator"}) +
         NodeText("out", "IteratorGetNext", {"iterator", "^start"}, of_many);
}

std::vector<Attack> TextAttacks() {
  return {
      {"GatherV2",
       Out("GatherV2", {"longs", "many", "zero"},
           Type("Tparams", "STRING") + Type("Tindices", "INT32") + Type("Taxis", "INT32"))},
      {"RegexReplace", Parts() + Text("pattern", "a") + Text("by", std::string(20'000, 'b')) +
                           NodeText("out", "RegexReplace", {"long", "pattern", "by"})},
      {"ReduceJoin", Out("ReduceJoin", {"texts", "zero"},
                         Attr("separator", StrCat("s: \"", std::string(64 << 10, 'a'), "\"")))},
      {"UnsortedSegmentJoin",
       Out("UnsortedSegmentJoin", {"texts", "many", "one"},
           Type("Tindices", "INT32") +
               Attr("separator", StrCat("s: \"", std::string(64 << 10, 'a'), "\"")))},
      {"Substr", Parts() + ConstText("length", {60'000}, "DT_INT32", true) +
                     NodeText("lengths", "Fill", {"dims", "length"}, Type("T", "INT32")) +
                     NodeText("out", "Substr", {"long", "many", "lengths"}, Type("T", "INT32"))},
      {"OneHot",
       Out("OneHot", {"many", "one", "long", "empty"}, Type("T", "STRING") + Type("TI", "INT32"))},
      {"SelectV2",
       Parts() + NodeText("which", "Equal", {"many", "zero"}, Type("T", "INT32")) +
           NodeText("out", "SelectV2", {"which", "long", "empty"}, Type("T", "STRING"))},
      {"Add", Out("Add", {"texts", "long"}, Type("T", "STRING"))},
      {"StringJoin", Out("StringJoin", {"texts", "long"}, Attr("N", "i: 2"))},
      {"SparseToDense", Parts() + ConstText("at", {0}, "DT_INT32") +
                            NodeText("out", "SparseToDense", {"at", "dims", "long", "long"},
                                     Type("T", "STRING") + Type("Tindices", "INT32"))},
      {"AsString", Out("AsString", {"many"}, Type("T", "INT32") + Attr("width", "i: 60000"))},
      {"Tile", Out("Tile", {"longs", "dims"}, Type("T", "STRING"))},
      {"BroadcastTo", Out("BroadcastTo", {"longs", "dims"}, Type("T", "STRING"))},
      {"Fill", Out("Fill", {"dims", "long"}, Type("T", "STRING"))},
      {"GatherNd", Parts() + NodeText("at", "ExpandDims", {"many", "one"}, Type("T", "INT32")) +
                       NodeText("out", "GatherNd", {"longs", "at"},
                                Type("Tparams", "STRING") + Type("Tindices", "INT32"))},
      {"ResourceGather", Variable("VarHandleOp", "shape { dim { size: 1 } }") +
                             NodeText("assigned", "AssignVariableOp", {"variable", "longs"},
                                      Type("dtype", "STRING")) +
                             NodeText("out", "ResourceGather", {"variable", "many", "^assigned"},
                                      Type("dtype", "STRING") + Type("Tindices", "INT32"))},
      {"ScatterUpdate",
       Variable("VariableV2", "shape { unknown_rank: true }") +
           ConstText("begin", {0}, "DT_INT32", true) +
           ConstText("end", {2 * kMany}, "DT_INT32", true) +
           NodeText("rows", "Range", {"begin", "end", "one"}, Type("Tidx", "INT32")) +
           ConstText("two", {2}, "DT_INT32") +
           NodeText("more", "Tile", {"texts", "two"}, Type("T", "STRING")) +
           NodeText("assigned", "Assign", {"variable", "more"},
                    Type("T", "STRING") + Attr("validate_shape", "b: false")) +
           NodeText("out", "ScatterUpdate", {"assigned", "rows", "long"},
                    Type("T", "STRING") + Type("Tindices", "INT32"))},
      {"MergeSummary", ManyFields("values", "\\012") +
                           NodeText("out", "MergeSummary", {"values"}, Attr("N", "i: 1"))},
      {"ParseTensor", ManyFields("strings", "\\102") +
                          NodeText("out", "ParseTensor", {"strings"}, Type("out_type", "STRING"))},
      {"DecodeJSONExample",
       Text("json", ManyKeys()) + NodeText("out", "DecodeJSONExample", {"json"})},
      {"BatchDataset of numbers", DataSet("BatchDatasetV2", {"to", "no"})},
      {"ShuffleDataset", DataSet("ShuffleDataset", {"to", "from", "from"},
                                 Attr("reshuffle_each_iteration", "b: true"))},
  };
}

// Of the whole process, beyond what it had before.
TEST(HostileWork, TakesNoMoreMemoryThanTheLimit) {
  if (!WorkScope::Counts()) GTEST_SKIP() << "the sanitizer owns operator new";
  constexpr int64_t kLimit = 96 * kMiB;
  const Server server({.memory_limit_bytes = kLimit});
  RawClient client(server.port());
  for (const Attack& attack : TextAttacks()) {
    const int64_t before = ResidentBytes();
    ResetPeakResidentBytes();
    const Status status = client.RunOnce(GraphOf(attack.graph), "out:0");
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << attack.name << ": " << status;
    // Messages, graphs and programs are not in the limit; a vector that grows has two copies.
    EXPECT_LT(PeakResidentBytes() - before, 3 * kLimit) << attack.name;
    tensorflow::ResetResponse reply;  // variables stay
    EXPECT_TRUE(client.Master("Reset", tensorflow::ResetRequest(), &reply).ok());
    EXPECT_TRUE(Eventually([&] { return server.bytes_in_use() == 0; }))
        << attack.name << " leaves " << server.bytes_in_use();
  }
}

std::string Image(int64_t side) {
  return ConstText("shape", {1, side, side, 1}, "DT_INT32") +
         NodeText("image", "RandomUniform", {"shape"}, Type("dtype", "FLOAT") + Type("T", "INT32"));
}

std::string Window(const std::string& name, int64_t side) {
  return Attr(name, StrCat("list { i: 1 i: ", side, " i: ", side, " i: 1 }"));
}

// In an order without pattern, so that an automaton meets ever new states.
std::string LettersAAndB(size_t count) {
  std::mt19937 random(1);
  std::string letters;
  for (size_t i = 0; i < count; ++i) letters.push_back(random() % 2 == 0 ? 'a' : 'b');
  return letters;
}

std::vector<Attack> LongAttacks() {
  const std::string padding = Attr("padding", "s: \"SAME\"");
  const std::string float_t = Type("T", "FLOAT");
  return {
      {"MaxPool",
       Image(2000) + NodeText("out", "MaxPool", {"image"},
                              float_t + Window("ksize", 2000) + Window("strides", 1) + padding)},
      {"AvgPool",
       Image(2000) + NodeText("out", "AvgPool", {"image"},
                              float_t + Window("ksize", 2000) + Window("strides", 1) + padding)},
      {"LRN", ConstText("shape", {1, 1, 1, 1 << 22}, "DT_INT32") +
                  NodeText("image", "RandomUniform", {"shape"},
                           Type("dtype", "FLOAT") + Type("T", "INT32")) +
                  NodeText("out", "LRN", {"image"}, float_t + Attr("depth_radius", "i: 4000000"))},
      {"Conv2D", Image(2000) + ConstText("filter_shape", {2000, 2000, 1, 1}, "DT_INT32") +
                     NodeText("filter", "RandomUniform", {"filter_shape"},
                              Type("dtype", "FLOAT") + Type("T", "INT32")) +
                     NodeText("out", "Conv2D", {"image", "filter"},
                              float_t + Window("strides", 1) + padding)},
      {"Conv2D with a filter for which there is no fast way",
       Image(1000) + ConstText("filter_shape", {700, 700, 1, 1}, "DT_INT32") +
           NodeText("filter", "RandomUniform", {"filter_shape"},
                    Type("dtype", "FLOAT") + Type("T", "INT32")) +
           NodeText("out", "Conv2D", {"image", "filter"},
                    float_t + Window("strides", 1) + padding)},
      {"MatMul of integers",
       ConstText("shape", {4000, 4000}, "DT_INT32") + ConstText("two", {2}, "DT_INT32", true) +
           NodeText("matrix", "Fill", {"shape", "two"}, Type("T", "INT32")) +
           NodeText("product", "MatMul", {"matrix", "matrix"}, Type("T", "INT32")) +
           NodeText("more", "MatMul", {"product", "matrix"}, Type("T", "INT32")) +
           NodeText("out", "MatMul", {"more", "matrix"}, Type("T", "INT32"))},
      {"SparseSegmentSum",
       ConstText("shape", {1, 1 << 22}, "DT_INT32") + ConstText("dims", {1 << 22}, "DT_INT32") +
           ConstText("zero", {0}, "DT_INT32", true) +
           NodeText("data", "RandomUniform", {"shape"},
                    Type("dtype", "FLOAT") + Type("T", "INT32")) +
           NodeText("zeros", "Fill", {"dims", "zero"}, Type("T", "INT32")) +
           NodeText("out", "SparseSegmentSum", {"data", "zeros", "zeros"}, float_t)},
      {"Substr", ConstText("dims", {100'000}, "DT_INT32") +
                     ConstText("one", {1}, "DT_INT32", true) +
                     Text("text", std::string(1 << 20, 'a')) +
                     NodeText("ones", "Fill", {"dims", "one"}, Type("T", "INT32")) +
                     NodeText("out", "Substr", {"text", "ones", "ones"},
                              Type("T", "INT32") + Attr("unit", "s: \"UTF8_CHAR\""))},
      {"RegexFullMatch", ConstText("dims", {2000}, "DT_INT32") +
                             Text("text", LettersAAndB(16 << 10)) +
                             Text("pattern", "[ab]*a[ab]{400}c") +
                             NodeText("texts", "Fill", {"dims", "text"}, Type("T", "STRING")) +
                             NodeText("out", "RegexFullMatch", {"texts", "pattern"})},
      {"ScatterAdd of one value",
       ConstText("shape", {2, 1 << 22}, "DT_INT32") + ConstText("dims", {100'000}, "DT_INT32") +
           ConstText("zero", {0}, "DT_INT32", true) + ConstText("one", {1}, "DT_INT32", true) +
           NodeText("zeros", "Fill", {"shape", "zero"}, Type("T", "INT32")) +
           NodeText("indices", "Fill", {"dims", "one"}, Type("T", "INT32")) +
           NodeText("variable", "VariableV2", {},
                    Type("dtype", "INT32") +
                        Attr("shape", "shape { dim { size: 2 } dim { size: 4194304 } }")) +
           NodeText("assigned", "Assign", {"variable", "zeros"}, Type("T", "INT32")) +
           NodeText("out", "ScatterAdd", {"assigned", "indices", "one"},
                    Type("T", "INT32") + Type("Tindices", "INT32"))},
  };
}

// Each of `depth` functions calls the next one in both branches of a condition: twice as many nodes
// a function.
std::string NestedConditions(int depth) {
  const auto branch = [](const std::string& name, int i) {
    return Attr(name, StrCat("func { name: \"f", i, "\" }"));
  };
  const auto condition = [&](const std::string& name, int i) {
    return NodeText(name, "StatelessIf", {"p", "p", "x"},
                    Type("Tcond", "BOOL") + Attr("Tin", "list { type: DT_BOOL type: DT_FLOAT }") +
                        Attr("Tout", "list { type: DT_FLOAT }") + branch("then_branch", i) +
                        branch("else_branch", i));
  };
  std::string library;
  for (int i = 0; i <= depth; ++i) {
    std::string body =
        i < depth ? condition("z", i + 1) : NodeText("z", "Identity", {"x"}, Type("T", "FLOAT"));
    body.replace(0, body.find('{'), "node_def ");
    StrAppend(&library, "function { signature { name: \"f", i,
              "\" input_arg { name: \"p\" type: DT_BOOL } input_arg { name: \"x\" type: DT_FLOAT "
              "} output_arg { name: \"y\" type: DT_FLOAT } } ",
              body, " ret { key: \"y\" value: \"z:output:0\" } }\n");
  }
  return StrCat(
      "library {\n", library, "}\n",
      NodeText("p", "Const", {},
               Type("dtype", "BOOL") +
                   Attr("value", "tensor { dtype: DT_BOOL tensor_shape { } bool_val: true }")),
      NodeText("x", "Const", {},
               Type("dtype", "FLOAT") +
                   Attr("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 }")),
      condition("out", 0));
}

// Rounds, each of which would leave something on the stack.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int64_t kDeep = 15'000;  // slow, and frames are large
#else
constexpr int64_t kDeep = 50'000;
#endif

// As node_def of a function.
std::string InFunction(std::string node) { return node.replace(0, node.find('{'), "node_def "); }

// The condition of a loop with the arguments `loop`: i < end.
std::string WhileBelow(int64_t end, const std::string& loop) {
  return StrCat("function { signature { name: \"goes_on\" ", loop,
                "output_arg { name: \"y\" type: DT_BOOL } } ",
                InFunction(ConstText("end", {end}, "DT_INT64", true)),
                InFunction(NodeText("less", "Less", {"i", "end:output:0"}, Type("T", "INT64"))),
                " ret { key: \"y\" value: \"less:z:0\" } }\n");
}

// A loop whose every round puts the data set into a list, and makes a new one that finds it there.
// Fetch "made:0" or "walked:0".
std::string NestedDataSets(int64_t depth) {
  const auto range = [&](const std::string& numbers) {
    return NodeText("range", "RangeDataset", {numbers + "0", numbers + "1", numbers + "1"},
                    kNumbers);
  };
  const std::string of_variant = Type("element_dtype", "VARIANT"),
                    loop =
                        "input_arg { name: \"i\" type: DT_INT64 } "
                        "input_arg { name: \"d\" type: DT_VARIANT } ";
  const std::string find = StrCat(
      "function { signature { name: \"find\" input_arg { name: \"x\" type: DT_INT64 } "
      "input_arg { name: \"l\" type: DT_VARIANT } output_arg { name: \"y\" type: DT_VARIANT } } ",
      InFunction(ConstText("zero", {0}, "DT_INT32", true)),
      InFunction(ConstText("shape", {}, "DT_INT32")),
      InFunction(NodeText("item", "TensorListGetItem", {"l", "zero:output:0", "shape:output:0"},
                          of_variant)),
      " ret { key: \"y\" value: \"item:item:0\" } }\n");
  const std::string goes_on = WhileBelow(depth, loop);
  std::string body;
  for (const std::string& node :
       {ConstText("c0", {0}, "DT_INT64", true), ConstText("c1", {1}, "DT_INT64", true),
        ConstText("most", {-1}, "DT_INT32", true), ConstText("shape", {}, "DT_INT32"),
        NodeText("next", "AddV2", {"i", "c1:output:0"}, Type("T", "INT64")),
        NodeText("none", "EmptyTensorList", {"shape:output:0", "most:output:0"},
                 of_variant + Type("shape_type", "INT32")),
        NodeText("list", "TensorListPushBack", {"none:handle:0", "d"}, of_variant),
        NodeText("range", "RangeDataset", {"c0:output:0", "c1:output:0", "c1:output:0"}, kNumbers),
        NodeText("flat", "FlatMapDataset", {"range:handle:0", "list:output_handle:0"},
                 kNumbers + Attr("f", "func { name: \"find\" }") +
                     Attr("Targuments", "list { type: DT_VARIANT }"))})
    body += InFunction(node);
  const std::string nest = StrCat(
      "function { signature { name: \"nest\" ", loop,
      "output_arg { name: \"j\" type: DT_INT64 } output_arg { name: \"e\" type: DT_VARIANT } } ",
      body,
      " ret { key: \"j\" value: \"next:z:0\" } ret { key: \"e\" value: \"flat:handle:0\" } }\n");
  return StrCat("library {\n", find, goes_on, nest, "}\n", ConstText("c0", {0}, "DT_INT64", true),
                ConstText("c1", {1}, "DT_INT64", true), range("c"),
                NodeText("nested", "StatelessWhile", {"c0", "range"},
                         Attr("T", "list { type: DT_INT64 type: DT_VARIANT }") +
                             Attr("cond", "func { name: \"goes_on\" }") +
                             Attr("body", "func { name: \"nest\" }")),
                NodeText("made", "DatasetCardinality", {"nested:1"}),
                NodeText("iterator", "IteratorV2", {},
                         kNumbers + Attr("shared_name", "s: \"\"") + Attr("container", "s: \"\"")),
                NodeText("start", "MakeIterator", {"nested:1", "iterator"}),
                NodeText("walked", "IteratorGetNext", {"iterator", "^start"}, kNumbers));
}

// Iterators call each other, and end, one inside of the other.
TEST(HostileWork, DataSetsInListsInDataSetsAreNotWalkedWithoutEnd) {
  const Server server;
  RawClient client(server.port());
  EXPECT_EQ(client.RunOnce(GraphOf(NestedDataSets(1000)), "walked:0"), absl::OkStatus());
  const tensorflow::GraphDef graph = GraphOf(NestedDataSets(kDeep));
  EXPECT_EQ(client.RunOnce(graph, "made:0"), absl::OkStatus());
  const Status status = client.RunOnce(graph, "walked:0");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_TRUE(Eventually([&] { return server.bytes_in_use() == 0; })) << server.bytes_in_use();
}

// A loop whose every round makes a resource that keeps "h", the one of the round before: "kept" of
// `nodes`, which may call "same" with a number and the resource.
std::string NestedResources(int64_t depth, const std::vector<std::string>& nodes) {
  const std::string loop =
      "input_arg { name: \"i\" type: DT_INT64 } input_arg { name: \"h\" type: DT_RESOURCE } ";
  const std::string same = StrCat("function { signature { name: \"same\" ", loop,
                                  "output_arg { name: \"y\" type: DT_INT64 } } ",
                                  InFunction(NodeText("x", "Identity", {"i"}, Type("T", "INT64"))),
                                  " ret { key: \"y\" value: \"x:output:0\" } }\n");
  const std::string goes_on = WhileBelow(depth, loop);
  std::string body =
      InFunction(ConstText("c1", {1}, "DT_INT64", true)) +
      InFunction(NodeText("next", "AddV2", {"i", "c1:output:0"}, Type("T", "INT64")));
  for (const std::string& node : nodes) body += InFunction(node);
  const std::string nest = StrCat(
      "function { signature { name: \"nest\" ", loop,
      "output_arg { name: \"j\" type: DT_INT64 } output_arg { name: \"n\" type: DT_RESOURCE } } ",
      body,
      " ret { key: \"j\" value: \"next:z:0\" } ret { key: \"n\" value: \"kept:output:0\" } }\n");
  return StrCat("library {\n", same, goes_on, nest, "}\n", ConstText("c0", {0}, "DT_INT64", true),
                NodeText("first", "AnonymousIteratorV3", {}, kNumbers),
                NodeText("nested", "While", {"c0", "first"},
                         Attr("T", "list { type: DT_INT64 type: DT_RESOURCE }") +
                             Attr("cond", "func { name: \"goes_on\" }") +
                             Attr("body", "func { name: \"nest\" }")),
                NodeText("out", "Identity", {"nested:0"}, Type("T", "INT64")));
}

TEST(HostileWork, ResourcesThatKeepOthersEndOneAfterTheOther) {
  const Server server;
  RawClient client(server.port());
  const std::vector<std::string> iterators = {
      ConstText("c0", {0}, "DT_INT64", true),
      NodeText("range", "RangeDataset", {"c0:output:0", "c1:output:0", "c1:output:0"}, kNumbers),
      NodeText("map", "MapDataset", {"range:handle:0", "h"},
               kNumbers + Attr("f", "func { name: \"same\" }") +
                   Attr("Targuments", "list { type: DT_RESOURCE }")),
      NodeText("iterator", "AnonymousIteratorV3", {}, kNumbers),
      NodeText("start", "MakeIterator", {"map:handle:0", "iterator:handle:0"}),
      NodeText("kept", "Identity", {"iterator:handle:0", "^start"}, Type("T", "RESOURCE"))};
  const std::string shapes = Attr("output_shapes", "list { shape { } }"),
                    resources = shapes + Attr("output_types", "list { type: DT_RESOURCE }");
  const std::vector<std::string> caches = {
      NodeText("one", "TensorDataset", {"h"},
               shapes + Attr("Toutput_types", "list { type: DT_RESOURCE }")),
      NodeText("cache", "AnonymousMemoryCache", {}),
      Text("file", ""),
      NodeText("cached", "CacheDatasetV2", {"one:handle:0", "file:output:0", "cache:handle:0"},
               resources),
      NodeText("iterator", "AnonymousIteratorV3", {}, resources),
      NodeText("start", "MakeIterator", {"cached:handle:0", "iterator:handle:0"}),
      NodeText("element", "IteratorGetNextAsOptional", {"iterator:handle:0", "^start"}, resources),
      NodeText("end", "IteratorGetNextAsOptional", {"iterator:handle:0", "^element"}, resources),
      NodeText("kept", "Identity", {"cache:handle:0", "^end"}, Type("T", "RESOURCE"))};
  for (const auto& nodes : {iterators, caches}) {
    EXPECT_EQ(client.RunOnce(GraphOf(NestedResources(kDeep, nodes)), "out:0"), absl::OkStatus());
    EXPECT_TRUE(Eventually([&] { return server.bytes_in_use() == 0; })) << server.bytes_in_use();
  }
}

// Programs are made of graphs in memory that has a limit, and as long as somebody waits for them.
TEST(HostileWork, NorDoProgramsThatAreMadeOfSmallGraphs) {
  if (!WorkScope::Counts()) GTEST_SKIP() << "the sanitizer owns operator new";
  constexpr int64_t kLimit = 96 * kMiB;
  const Server server({.memory_limit_bytes = kLimit});
  RawClient client(server.port());
  EXPECT_TRUE(client.RunOnce(GraphOf(NestedConditions(5)), "out:0").ok());
  for (const int depth : {16, 30, 90}) {
    const int64_t before = ResidentBytes();
    ResetPeakResidentBytes();
    const Status status = client.RunOnce(GraphOf(NestedConditions(depth)), "out:0");
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << depth << ": " << status;
    EXPECT_LT(PeakResidentBytes() - before, 2 * kLimit) << depth;
  }
  // Where there is much memory there is still little time.
  const Server large;
  RawClient other(large.port());
  EXPECT_EQ(
      other.RunOnce(GraphOf(NestedConditions(90)), "out:0", std::chrono::milliseconds(200)).code(),
      absl::StatusCode::kDeadlineExceeded);
}

// Each would take minutes, or days. The step ends soon after its time is up: the test has a time
// limit, too.
TEST(HostileWork, EndsWhenItsTimeIsUp) {
  const Server server;
  RawClient client(server.port());
  for (const Attack& attack : LongAttacks()) {
    SCOPED_TRACE(attack.name);
    const Status status =
        client.RunOnce(GraphOf(attack.graph), "out:0", std::chrono::milliseconds(200));
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(status.ToString(), testing::HasSubstr("did not end within its timeout"))
        << "the step went on until the call's own deadline";
  }
}

}  // namespace
}  // namespace carillon
