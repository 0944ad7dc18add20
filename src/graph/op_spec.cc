#include "graph/op_spec.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "base/edit_distance.h"
#include "base/strings.h"
#include "graph/ops/families.h"

namespace carillon {
namespace {

constexpr DType kIntegers[] = {DType::kInt8,  DType::kInt16,  DType::kInt32,  DType::kInt64,
                               DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64};
constexpr DType kFloats[] = {DType::kHalf, DType::kBfloat16, DType::kFloat, DType::kDouble};

// Reads one spec. Any surprise is a bug in a table of ours: it aborts with the text.
class SpecParser {
 public:
  explicit SpecParser(std::string_view text) : text_(text), rest_(text) {}

  void ParseSignature(OpSpec* spec) {
    spec->name = Word();
    Expect("(");
    ParseArgs(&spec->inputs);
    Expect("->");
    Expect("(");
    ParseArgs(&spec->outputs);
    if (!AtEnd()) Fail("trailing text");
  }

  void ParseAttrs(OpSpec* spec) {
    while (!AtEnd()) {
      spec->attrs.push_back(ParseAttr());
      if (!Accept(";") && !AtEnd()) Fail("expected ';'");
    }
  }

 private:
  [[noreturn]] void Fail(const char* what) const {
    std::fprintf(stderr, "bad op spec, %s at \"%s\" in: %s\n", what, std::string(rest_).c_str(),
                 std::string(text_).c_str());
    std::abort();
  }
  void SkipSpace() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool AtEnd() {
    SkipSpace();
    return rest_.empty();
  }
  bool Accept(std::string_view token) {
    SkipSpace();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void Expect(std::string_view token) {
    if (!Accept(token)) Fail("unexpected text");
  }
  std::string Word() {
    SkipSpace();
    size_t n = 0;
    while (n < rest_.size() &&
           (std::isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_'))
      ++n;
    if (n == 0) Fail("expected a name");
    std::string word(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return word;
  }
  std::string Number() {
    SkipSpace();
    const size_t n = std::min(rest_.find_first_not_of("+-.0123456789einf"), rest_.size());
    if (n == 0) Fail("expected a number");
    std::string number(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return number;
  }
  std::string Quoted() {
    Expect("'");
    const size_t n = rest_.find('\'');
    if (n == std::string_view::npos) Fail("unclosed quote");
    std::string text(rest_.substr(0, n));
    rest_.remove_prefix(n + 1);
    return text;
  }

  void ParseArgs(std::vector<ArgSpec>* args) {
    if (Accept(")")) return;
    do {
      ArgSpec arg;
      arg.name = Word();
      Expect(":");
      std::string word = Word();
      if (word == "list") {
        Expect("(");
        arg.type_list_attr = Word();
        Expect(")");
      } else {
        if (Accept("*")) {
          arg.number_attr = word;
          word = Word();
        }
        if (word == "ref") {
          arg.is_ref = true;
          Expect("(");
          word = Word();
          Expect(")");
        }
        arg.dtype = DTypeFromName(word);
        if (arg.dtype == DType::kInvalid) arg.type_attr = word;
      }
      args->push_back(std::move(arg));
    } while (Accept(","));
    Expect(")");
  }

  AttrSpec ParseAttr() {
    AttrSpec attr;
    attr.name = Word();
    Expect(":");
    ParseKind(&attr);
    if (Accept(">=")) attr.minimum = std::atoll(Number().c_str());
    if (Accept("=")) attr.default_value = ParseDefault(attr);
    return attr;
  }

  void ParseKind(AttrSpec* attr) {
    if (Accept("{")) {
      ParseSet(attr);
      return;
    }
    const std::string word = Word();
    if (word == "list") {
      attr->is_list = true;
      Expect("(");
      ParseKind(attr);
      Expect(")");
    } else if (word == "int") {
      attr->kind = AttrKind::kInt;
    } else if (word == "float") {
      attr->kind = AttrKind::kFloat;
    } else if (word == "bool") {
      attr->kind = AttrKind::kBool;
    } else if (word == "string") {
      attr->kind = AttrKind::kString;
    } else if (word == "type") {
      attr->kind = AttrKind::kType;
    } else if (word == "shape") {
      attr->kind = AttrKind::kShape;
    } else if (word == "tensor") {
      attr->kind = AttrKind::kTensor;
    } else if (word == "func") {
      attr->kind = AttrKind::kFunc;
    } else {
      Fail("unknown attribute kind");
    }
  }

  void ParseSet(AttrSpec* attr) {
    SkipSpace();
    attr->kind = rest_.starts_with("'") ? AttrKind::kString : AttrKind::kType;
    do {
      if (attr->kind == AttrKind::kString) {
        attr->allowed_strings.push_back(Quoted());
        continue;
      }
      const std::string word = Word();
      auto& types = attr->allowed_types;
      if (word == "number" || word == "integer")
        types.insert(types.end(), std::begin(kIntegers), std::end(kIntegers));
      if (word == "number" || word == "floating")
        types.insert(types.end(), std::begin(kFloats), std::end(kFloats));
      if (word == "index") types.insert(types.end(), {DType::kInt32, DType::kInt64});
      if (word != "number" && word != "integer" && word != "floating" && word != "index") {
        types.push_back(DTypeFromName(word));
        if (types.back() == DType::kInvalid) Fail("unknown dtype");
      }
    } while (Accept(","));
    Expect("}");
  }

  template <typename T, typename ParseOne>
  AttrValue OneOrList(bool is_list, ParseOne parse) {
    if (!is_list) return AttrValue(parse());
    std::vector<T> values;
    Expect("[");
    if (!Accept("]")) {
      do values.push_back(parse());
      while (Accept(","));
      Expect("]");
    }
    return AttrValue(std::move(values));
  }

  AttrValue ParseDefault(const AttrSpec& attr) {
    switch (attr.kind) {
      case AttrKind::kInt:
        return OneOrList<int64_t>(attr.is_list,
                                  [&]() -> int64_t { return std::atoll(Number().c_str()); });
      case AttrKind::kFloat:
        return OneOrList<float>(attr.is_list,
                                [&] { return std::strtof(Number().c_str(), nullptr); });
      case AttrKind::kBool:
        return OneOrList<bool>(attr.is_list, [&] { return Word() == "true"; });
      case AttrKind::kString:
        return OneOrList<std::string>(attr.is_list, [&] { return Quoted(); });
      case AttrKind::kType:
        return OneOrList<DType>(attr.is_list, [&] { return DTypeFromName(Word()); });
      case AttrKind::kShape:
        return OneOrList<PartialShape>(attr.is_list, [&] { return ParseShape(); });
      case AttrKind::kFunc:
        return OneOrList<FunctionRef>(attr.is_list, [&] { return FunctionRef{Quoted(), {}}; });
      case AttrKind::kTensor:
        return OneOrList<Tensor>(attr.is_list, [&] { return ParseBytes(); });
    }
    Fail("unknown attribute kind");
  }

  PartialShape ParseShape() {
    if (Accept("?")) return PartialShape();
    std::vector<int64_t> dims;
    Expect("[");
    if (!Accept("]")) {
      do dims.push_back(std::atoll(Number().c_str()));
      while (Accept(","));
      Expect("]");
    }
    return PartialShape(std::span<const int64_t>(dims));
  }

  // The only tensors among TensorFlow's defaults are vectors of bytes.
  Tensor ParseBytes() {
    std::vector<uint8_t> bytes;
    Expect("[");
    do bytes.push_back(static_cast<uint8_t>(std::atoi(Number().c_str())));
    while (Accept(","));
    Expect("]");
    return Tensor::FromVector(bytes);
  }

  const std::string_view text_;
  std::string_view rest_;
};

}  // namespace

const AttrSpec* OpSpec::FindAttr(std::string_view attr) const {
  for (const AttrSpec& spec : attrs) {
    if (spec.name == attr) return &spec;
  }
  return nullptr;
}

OpTable::OpTable() {
  AddArrayOps(*this);
  AddMathOps(*this);
  AddNnOps(*this);
  AddRandomOps(*this);
  AddStateOps(*this);
  AddTrainingOps(*this);
  AddControlFlowOps(*this);
  AddQueueOps(*this);
  AddAccumulatorOps(*this);
  AddListOps(*this);
  AddStagingOps(*this);
  AddTableOps(*this);
  AddStringOps(*this);
  AddParsingOps(*this);
  AddFileOps(*this);
  AddImageOps(*this);
  AddCheckpointOps(*this);
  AddSummaryOps(*this);
  AddFunctionOps(*this);
  AddDatasetOps(*this);
  AddInternalOps(*this);
}

void OpTable::Add(std::string_view signature, std::string_view attrs, ShapeFn shape_fn) {
  Add(signature, attrs, {}, shape_fn);
}

void OpTable::Add(std::string_view signature, std::string_view attrs,
                  std::initializer_list<OpFlag> flags, ShapeFn shape_fn) {
  auto spec = std::make_unique<OpSpec>();
  SpecParser(signature).ParseSignature(spec.get());
  SpecParser(attrs).ParseAttrs(spec.get());
  for (const OpFlag flag : flags) {
    spec->is_stateful |= flag == OpFlag::kStateful;
    spec->is_commutative |= flag == OpFlag::kCommutative;
  }
  spec->shape_fn = shape_fn;
  if (!by_name_.emplace(spec->name, spec.get()).second) {
    std::fprintf(stderr, "op spec given twice: %s\n", spec->name.c_str());
    std::abort();
  }
  specs_.push_back(std::move(spec));
}

const OpSpec* OpTable::Find(std::string_view op) const {
  const auto found = by_name_.find(op);
  return found == by_name_.end() ? nullptr : found->second;
}

std::string OpTable::NearestName(std::string_view op) const {
  const auto nearest = std::ranges::min_element(
      specs_, {}, [&](const auto& spec) { return EditDistance(spec->name, op.substr(0, 64)); });
  return nearest == specs_.end() ? "" : (*nearest)->name;
}

const OpTable& AllOps() {
  static const OpTable* const table = new OpTable;
  return *table;
}

}  // namespace carillon
