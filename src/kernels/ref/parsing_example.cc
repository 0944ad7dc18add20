// ParseExample, ParseExampleV2, ParseSingleExample: serialized Examples into dense, sparse and
// ragged tensors.
#include <google/protobuf/arena.h>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/foreign_memory.h"
#include "kernels/ref/parsing_kernels.h"
#include "proto/example.pb.h"
#include "tensor/dispatch.h"
#include "tensor/parsed_bytes.h"

namespace carillon {
namespace {

using tensorflow::Example;
using tensorflow::Feature;

// The dtypes of features.
template <typename Body>
void DispatchFeature(DType dtype, Body&& body) {
  DispatchAmong<float, int64_t, std::string>(dtype, body);
}

// The values of a feature; null when they are of another type.
template <typename T>
auto ListOf(const Feature& feature) {
  if constexpr (std::is_same_v<T, float>) {
    return feature.kind_case() == Feature::kFloatList ? &feature.float_list().value() : nullptr;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return feature.kind_case() == Feature::kInt64List ? &feature.int64_list().value() : nullptr;
  } else {
    return feature.kind_case() == Feature::kBytesList ? &feature.bytes_list().value() : nullptr;
  }
}

// One run of the kernel: the parsed examples, and functions that make outputs of one feature each.
class Batch {
 public:
  // `batched`: outputs have a first dimension for the examples; without it there is one example.
  Batch(KernelContext& context, std::span<const std::string> names, bool batched)
      : context_(context), names_(names), batched_(batched) {}

  Status Parse(std::span<const std::string> serialized) {
    for (const std::string& bytes : serialized) {
      if (bytes.size() > INT32_MAX)
        return InvalidArgument(Where(examples_.size()), " is longer than an Example may be");
      memory_.Add(MostParsedBytes<Example>(bytes));
      const WorkPause pause;  // for protobuf
      auto* example = google::protobuf::Arena::CreateMessage<Example>(&arena_);
      if (!example->ParseFromString(bytes)) {
        return InvalidArgument(Where(examples_.size()), " is no serialized Example");
      }
      examples_.push_back(example);
    }
    return absl::OkStatus();
  }

  template <typename T>
  Status Dense(int output, const std::string& key, const PartialShape& shape,
               const Tensor& standard) {
    const bool is_variable = shape.rank() > 0 && shape.dim(0) < 0;
    int64_t per_row = 1;  // elements, of an example or, when their number varies, of one row of it
    for (int d = is_variable ? 1 : 0; d < shape.rank(); ++d) per_row *= shape.dim(d);
    CARILLON_ASSIGN_OR_RETURN(const auto lists, (Find<T>(key)));
    int64_t most = 0;
    for (size_t i = 0; i < lists.size(); ++i) {
      const int64_t size = lists[i] == nullptr ? 0 : lists[i]->size();
      if (is_variable) {
        if (per_row == 0 || size % per_row != 0) {
          return InvalidArgument(Where(i), ": feature ", key, " has ", size,
                                 " values, which is no multiple of ", per_row);
        }
        most = std::max(most, size / per_row);
      } else if (lists[i] != nullptr && size != per_row) {
        return InvalidArgument(Where(i), ": feature ", key, " has ", size, " values for the shape ",
                               shape.ToString());
      } else if (lists[i] == nullptr && standard.num_elements() != per_row) {
        return InvalidArgument(Where(i), ": feature ", key, " of dtype ",
                               DTypeName(standard.dtype()), " is required but missing");
      }
    }
    std::vector<int64_t> dims;
    if (batched_) dims.push_back(static_cast<int64_t>(lists.size()));
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
    if (is_variable) dims[batched_ ? 1 : 0] = most;
    Shape full;
    if (!Shape::TryMake(dims, &full)) return InvalidArgument("feature ", key, " is too large");
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context_.AllocateOutput(output, full));
    T* to = out->mutable_data<T>();
    const int64_t row = is_variable ? most * per_row : per_row;
    for (size_t i = 0; i < lists.size(); ++i, to += row) {
      const int64_t size = lists[i] == nullptr ? 0 : lists[i]->size();
      if (size > 0) std::copy(lists[i]->begin(), lists[i]->end(), to);
      if (size == row) continue;
      if (is_variable) {
        std::fill(to + size, to + row, standard.data<T>()[0]);
      } else {
        std::copy(standard.data<T>(), standard.data<T>() + row, to);
      }
    }
    return absl::OkStatus();
  }

  template <typename T>
  Status Sparse(int indices_output, int values_output, int shape_output, const std::string& key) {
    CARILLON_ASSIGN_OR_RETURN(const auto lists, (Find<T>(key)));
    int64_t most = 0;
    CARILLON_RETURN_IF_ERROR(Values<T>(values_output, lists, &most));
    const int64_t count = num_values_, rank = batched_ ? 2 : 1;
    CARILLON_ASSIGN_OR_RETURN(Tensor * indices,
                              context_.AllocateOutput(indices_output, Shape{count, rank}));
    CARILLON_ASSIGN_OR_RETURN(Tensor * shape, context_.AllocateOutput(shape_output, Shape{rank}));
    auto* index = indices->mutable_data<int64_t>();
    for (size_t i = 0; i < lists.size(); ++i) {
      for (int64_t j = 0; lists[i] != nullptr && j < lists[i]->size(); ++j) {
        if (batched_) *index++ = static_cast<int64_t>(i);
        *index++ = j;
      }
    }
    auto* size = shape->mutable_data<int64_t>();
    if (batched_) *size++ = static_cast<int64_t>(lists.size());
    *size = most;
    return absl::OkStatus();
  }

  template <typename T>
  Status Ragged(int values_output, int splits_output, const std::string& key) {
    CARILLON_ASSIGN_OR_RETURN(const auto lists, (Find<T>(key)));
    int64_t most = 0;
    CARILLON_RETURN_IF_ERROR(Values<T>(values_output, lists, &most));
    const int64_t count = batched_ ? static_cast<int64_t>(lists.size()) + 1 : 0;
    CARILLON_ASSIGN_OR_RETURN(Tensor * splits,
                              context_.AllocateOutput(splits_output, Shape{count}));
    if (!batched_) return absl::OkStatus();
    DispatchAmong<int32_t, int64_t>(splits->dtype(), [&]<typename S>() {
      S* split = splits->mutable_data<S>();
      *split = 0;
      for (const auto* list : lists) {
        split[1] = static_cast<S>(split[0] + (list == nullptr ? 0 : list->size()));
        ++split;
      }
    });
    return absl::OkStatus();
  }

 private:
  // "example 3 ('name')".
  std::string Where(size_t i) const {
    return i < names_.size() ? StrCat("example ", i, " ('", names_[i], "')")
                             : StrCat("example ", i);
  }

  // The list of each example; null where it has none.
  template <typename T>
  StatusOr<std::vector<decltype(ListOf<T>(std::declval<Feature>()))>> Find(
      const std::string& key) const {
    std::vector<decltype(ListOf<T>(std::declval<Feature>()))> lists;
    for (size_t i = 0; i < examples_.size(); ++i) {
      const auto& features = examples_[i]->features().feature();
      const auto found = features.find(key);
      if (found == features.end() || found->second.kind_case() == Feature::KIND_NOT_SET) {
        lists.push_back(nullptr);
        continue;
      }
      const auto list = ListOf<T>(found->second);
      if (list == nullptr) {
        return InvalidArgument(Where(i), ": feature ", key, " does not hold ",
                               DTypeName(kDTypeOf<T>), " values");
      }
      lists.push_back(list);
    }
    return lists;
  }

  // All values, one after the other; sets num_values_ and the length of the longest list.
  template <typename T, typename Lists>
  Status Values(int output, const Lists& lists, int64_t* most) {
    num_values_ = 0;
    for (const auto* list : lists) {
      const int64_t size = list == nullptr ? 0 : list->size();
      num_values_ += size;
      *most = std::max(*most, size);
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * values, context_.AllocateOutput(output, Shape{num_values_}));
    T* to = values->mutable_data<T>();
    for (const auto* list : lists) {
      if (list != nullptr) to = std::copy(list->begin(), list->end(), to);
    }
    return absl::OkStatus();
  }

  KernelContext& context_;
  const std::span<const std::string> names_;
  const bool batched_;
  ForeignMemory memory_;
  google::protobuf::Arena arena_;
  std::vector<Example*> examples_;
  int64_t num_values_ = 0;
};

class ParseExampleKernel final : public Kernel {
 public:
  explicit ParseExampleKernel(const KernelRequest& request)
      : op_(request.node.op()),
        sparse_types_(request.attr<std::vector<DType>>("sparse_types")),
        dense_types_(request.attr<std::vector<DType>>("Tdense")),
        dense_shapes_(request.attr<std::vector<PartialShape>>("dense_shapes")) {
    if (op_ == "ParseSingleExample") {
      sparse_keys_ = request.attr<std::vector<std::string>>("sparse_keys");
      dense_keys_ = request.attr<std::vector<std::string>>("dense_keys");
    }
    if (op_ == "ParseExampleV2") {
      ragged_types_ = request.attr<std::vector<DType>>("ragged_value_types");
    }
  }

  Status Run(KernelContext& context) override {
    std::vector<std::string> sparse = sparse_keys_, dense = dense_keys_, ragged;
    std::span<const std::string> names;
    const int first_default = context.num_inputs() - static_cast<int>(dense_types_.size());
    const Tensor& serialized = context.input(0);
    if (op_ != "ParseSingleExample") {
      names = context.input(1).values<std::string>();
      if (!names.empty() && context.input(1).shape() != serialized.shape()) {
        return InvalidArgument("names have shape ", context.input(1).shape().ToString(),
                               ", the examples ", serialized.shape().ToString());
      }
    }
    if (op_ == "ParseExample") {
      for (size_t i = 0; i < sparse_types_.size() + dense_types_.size(); ++i) {
        const Tensor& key = context.input(2 + static_cast<int>(i));
        if (key.num_elements() != 1) {
          return InvalidArgument("a key should be a scalar but is ", key.ToString());
        }
        (i < sparse_types_.size() ? sparse : dense).push_back(key.data<std::string>()[0]);
      }
    } else if (op_ == "ParseExampleV2") {
      for (const auto& [keys, input] : {std::pair(&sparse, 2), {&dense, 3}, {&ragged, 4}}) {
        const auto values = context.input(input).values<std::string>();
        keys->assign(values.begin(), values.end());
      }
      if (sparse.size() != sparse_types_.size() || dense.size() != dense_types_.size() ||
          ragged.size() != ragged_types_.size()) {
        return InvalidArgument("there are ", sparse.size(), " sparse, ", dense.size(),
                               " dense and ", ragged.size(), " ragged keys, but ",
                               sparse_types_.size(), ", ", dense_types_.size(), " and ",
                               ragged_types_.size(), " types");
      }
    }
    const bool may_be_scalar = op_ != "ParseExample", may_be_vector = op_ != "ParseSingleExample";
    if (!(serialized.rank() == 0 && may_be_scalar) && !(serialized.rank() == 1 && may_be_vector)) {
      return InvalidArgument("serialized examples have shape ", serialized.shape().ToString());
    }
    CARILLON_RETURN_IF_ERROR(CheckDefaults(context, dense, first_default));
    Batch batch(context, names, serialized.rank() == 1);
    CARILLON_RETURN_IF_ERROR(batch.Parse(serialized.values<std::string>()));

    Status status;
    const int num_sparse = static_cast<int>(sparse.size()),
              num_dense = static_cast<int>(dense.size());
    for (int i = 0; i < num_sparse && status.ok(); ++i) {
      DispatchFeature(sparse_types_[static_cast<size_t>(i)], [&]<typename T>() {
        status =
            batch.Sparse<T>(i, num_sparse + i, 2 * num_sparse + i, sparse[static_cast<size_t>(i)]);
      });
    }
    for (int i = 0; i < num_dense && status.ok(); ++i) {
      const auto at = static_cast<size_t>(i);
      DispatchFeature(dense_types_[at], [&]<typename T>() {
        status = batch.Dense<T>(3 * num_sparse + i, dense[at], dense_shapes_[at],
                                context.input(first_default + i));
      });
    }
    const int first_ragged = 3 * num_sparse + num_dense,
              num_ragged = static_cast<int>(ragged.size());
    for (int i = 0; i < num_ragged && status.ok(); ++i) {
      const auto at = static_cast<size_t>(i);
      DispatchFeature(ragged_types_[at], [&]<typename T>() {
        status = batch.Ragged<T>(first_ragged + i, first_ragged + num_ragged + i, ragged[at]);
      });
    }
    return status;
  }

 private:
  // A default has the shape of the feature, or no element when the feature is required; where the
  // number of values varies it is the one element to pad with.
  Status CheckDefaults(const KernelContext& context, const std::vector<std::string>& keys,
                       int first) const {
    for (size_t i = 0; i < keys.size(); ++i) {
      const Tensor& standard = context.input(first + static_cast<int>(i));
      const PartialShape& shape = dense_shapes_[i];
      const bool is_variable = shape.rank() > 0 && shape.dim(0) < 0;
      if (is_variable ? standard.num_elements() != 1
                      : standard.num_elements() > 0 && !shape.IsCompatibleWith(standard.shape())) {
        return InvalidArgument("the default of feature ", keys[i], " has shape ",
                               standard.shape().ToString(), ", the feature ", shape.ToString());
      }
    }
    return absl::OkStatus();
  }

  const std::string op_;
  const std::vector<DType> sparse_types_, dense_types_;
  const std::vector<PartialShape> dense_shapes_;
  std::vector<std::string> sparse_keys_, dense_keys_;  // where they are attributes
  std::vector<DType> ragged_types_;
};

}  // namespace

void AddParsingExampleKernels(KernelTable& table) {
  table.Add({
      {"ParseExample", "ref", FromClass<ParseExampleKernel>},
      {"ParseExampleV2", "ref", FromClass<ParseExampleKernel>},
      {"ParseSingleExample", "ref", FromClass<ParseExampleKernel>},
  });
}

}  // namespace carillon
