// What an op is: its inputs, outputs and attributes, how shapes follow, and the table of all ops.
//
// A spec is written in one line:
//
//   ops.Add("ConcatV2(values: N * T, axis: Tidx) -> (output: T)", "N: int >= 2; T: type; Tidx:
//   {index} = int32", ConcatShape);
//
// An argument's type is a dtype name, the name of a type attribute, `N * T` (a list of N tensors of
// one type), `list(T)` (a list whose types stand in the attribute T), or any of the first three
// inside `ref(…)`. An attribute's kind is int, float, bool, string, type, shape, tensor, func or
// list(…) of one; `{a, b}` is a type or string out of a set, where number, floating, integer and
// index stand for sets of dtypes. `>= n` is the least value, or the least length of a list; `= v`
// the default, without which the attribute must be given.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/attr.h"

namespace carillon {

class ShapeContext;
// Sets the shapes of all outputs, or says why the inputs do not fit.
using ShapeFn = Status (*)(ShapeContext& context);

struct ArgSpec {
  std::string name;
  DType dtype = DType::kInvalid;  // when fixed
  std::string type_attr;          // else the attribute that holds the dtype …
  std::string number_attr;        // … of a list of this many
  std::string type_list_attr;     // or the attribute that holds the dtypes of a list
  bool is_ref = false;
  bool is_list() const { return !number_attr.empty() || !type_list_attr.empty(); }
};

enum class AttrKind { kString, kInt, kFloat, kBool, kType, kShape, kTensor, kFunc };

struct AttrSpec {
  std::string name;
  AttrKind kind = AttrKind::kInt;
  bool is_list = false;
  std::vector<DType> allowed_types;          // empty: all
  std::vector<std::string> allowed_strings;  // empty: all
  std::optional<int64_t> minimum;
  std::optional<AttrValue> default_value;
};

// stateful: has effects or memory, so it is never folded, merged or duplicated. uninitialized_ok:
// may be handed a variable without value.
enum class OpFlag { kStateful, kCommutative, kAggregate, kUninitializedOk };
inline constexpr OpFlag stateful = OpFlag::kStateful;
inline constexpr OpFlag commutative = OpFlag::kCommutative;
inline constexpr OpFlag aggregate = OpFlag::kAggregate;
inline constexpr OpFlag uninitialized_ok = OpFlag::kUninitializedOk;

struct OpSpec {
  std::string name;
  std::vector<ArgSpec> inputs;
  std::vector<ArgSpec> outputs;
  std::vector<AttrSpec> attrs;
  bool is_stateful = false;
  bool is_commutative = false;
  ShapeFn shape_fn = nullptr;  // null: nothing is known of the outputs

  const AttrSpec* FindAttr(std::string_view attr) const;
};

// Built once, then only read. A malformed line is a bug and aborts at start-up with the line.
class OpTable {
 public:
  OpTable();  // every family
  void Add(std::string_view signature, std::string_view attrs, ShapeFn shape_fn = nullptr);
  void Add(std::string_view signature, std::string_view attrs, std::initializer_list<OpFlag> flags,
           ShapeFn shape_fn = nullptr);
  const OpSpec* Find(std::string_view op) const;
  // Of the known names the one most like `op`, for messages.
  std::string NearestName(std::string_view op) const;
  const std::vector<std::unique_ptr<OpSpec>>& specs() const { return specs_; }

 private:
  std::vector<std::unique_ptr<OpSpec>> specs_;
  std::unordered_map<std::string_view, const OpSpec*> by_name_;
};

// The immutable table of all ops.
const OpTable& AllOps();

}  // namespace carillon
