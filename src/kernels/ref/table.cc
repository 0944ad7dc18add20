// Kernels of the ops for hash tables.
#include <algorithm>
#include <cstring>

#include "kernels/families.h"
#include "kernels/lookup_table.h"
#include "kernels/named_resource.h"
#include "kernels/ref/table_kernels.h"

namespace carillon {
namespace {

// Keys of these dtypes can be told apart; values can be anything that elements can be copied of.
Status CheckDTypes(DType key, DType value) {
  if (!IsInteger(key) && key != DType::kString)
    return Unimplemented("keys of type ", DTypeName(key));
  if (value == DType::kResource || value == DType::kVariant)
    return Unimplemented("values of type ", DTypeName(value));
  return absl::OkStatus();
}

StatusOr<LookupTableOptions> OptionsOf(const KernelRequest& request, const std::string& name,
                                       bool initialized_once) {
  LookupTableOptions options{.name = name,
                             .initialized_once = initialized_once,
                             .key_dtype = request.attr<DType>("key_dtype"),
                             .value_dtype = request.attr<DType>("value_dtype")};
  CARILLON_RETURN_IF_ERROR(CheckDTypes(options.key_dtype, options.value_dtype));
  if (request.node.FindAttr("value_shape") != nullptr) {
    const auto& shape = request.attr<PartialShape>("value_shape");
    if (!shape.AsShape(&options.value_shape)) {
      return InvalidArgument("Shape ", shape.ToString(), " is not fully defined");
    }
  }
  return options;
}

// Of tensors of equal dtype and shape.
bool SameElements(const Tensor& a, const Tensor& b) {
  if (IsPlainData(a.dtype())) return std::memcmp(a.raw_data(), b.raw_data(), a.num_bytes()) == 0;
  return std::ranges::equal(a.values<std::string>(), b.values<std::string>());
}

class TableKernel : public NamedResourceKernel<LookupTable> {
 public:
  TableKernel(ResourcePlace place, LookupTableOptions options)
      : NamedResourceKernel(std::move(place)), options_(std::move(options)) {}

  // HashTable, MutableHashTable, MutableHashTableOfTensors.
  template <bool initialized_once, bool of_tensors>
  static KernelResult Make(const KernelRequest& request) {
    ResourcePlace place = ResourcePlace::Of(request, request.attr<bool>("use_node_name_sharing"));
    CARILLON_ASSIGN_OR_RETURN(LookupTableOptions options,
                              OptionsOf(request, place.name, initialized_once));
    if (of_tensors && options.value_shape.rank() != 1) {
      return InvalidArgument("Default value must be a vector, got shape ",
                             options.value_shape.ToString());
    }
    return std::make_unique<TableKernel>(std::move(place), std::move(options));
  }

 protected:
  const LookupTableOptions& options() const { return options_; }

 private:
  StatusOr<std::shared_ptr<LookupTable>> Create(KernelContext& context) const override {
    return std::make_shared<LookupTable>(options_, context.services().allocator);
  }
  Status Check(const LookupTable& existing) const override {
    const LookupTableOptions& other = existing.options();
    if (other.key_dtype != options_.key_dtype || other.value_dtype != options_.value_dtype) {
      return InvalidArgument("Conflicting key/value dtypes ", DTypeName(options_.key_dtype), "->",
                             DTypeName(options_.value_dtype), " with ", DTypeName(other.key_dtype),
                             "->", DTypeName(other.value_dtype), " for table ", options_.name);
    }
    if (other.initialized_once != options_.initialized_once ||
        other.value_shape != options_.value_shape) {
      return InvalidArgument("table ", options_.name, " exists and is of another kind");
    }
    return absl::OkStatus();
  }
  const LookupTableOptions options_;
};

// MutableDenseHashTable, MutableDenseHashTableV2: only the latter has a deleted_key. The keys that
// are set apart are no entries; how the table is laid out is our own business.
class DenseTableKernel final : public TableKernel {
 public:
  using TableKernel::TableKernel;
  static KernelResult Make(const KernelRequest& request) {
    ResourcePlace place = ResourcePlace::Of(request, request.attr<bool>("use_node_name_sharing"));
    CARILLON_ASSIGN_OR_RETURN(LookupTableOptions options, OptionsOf(request, place.name, false));
    const int64_t buckets = request.attr<int64_t>("initial_num_buckets");
    if (buckets < 4 || (buckets & (buckets - 1)) != 0) {
      return InvalidArgument("Number of buckets must be at least 4 and a power of 2, got: ",
                             buckets);
    }
    const float load = request.attr<float>("max_load_factor");
    if (!(load > 0 && load < 1)) {
      return InvalidArgument("max_load_factor must be between 0 and 1, got: ", load);
    }
    if (options.value_shape.rank() > 1) {
      return InvalidArgument("Empty value must be a scalar or a vector, got shape ",
                             options.value_shape.ToString());
    }
    return std::make_unique<DenseTableKernel>(std::move(place), std::move(options));
  }

 private:
  StatusOr<std::shared_ptr<LookupTable>> Create(KernelContext& context) const override {
    LookupTableOptions with_keys = options();
    with_keys.empty_key = context.Keep(0);
    with_keys.key_shape = with_keys.empty_key.shape();
    if (with_keys.key_shape.rank() > 1) {
      return InvalidArgument("Empty key must be a scalar or a vector, got shape ",
                             with_keys.key_shape.ToString());
    }
    if (context.num_inputs() > 1) {
      with_keys.deleted_key = context.Keep(1);
      if (with_keys.deleted_key.shape() != with_keys.key_shape) {
        return InvalidArgument("Empty and deleted keys must have same shape, got shapes: ",
                               with_keys.key_shape.ToString(), " and ",
                               with_keys.deleted_key.shape().ToString());
      }
      if (SameElements(with_keys.deleted_key, with_keys.empty_key)) {
        return InvalidArgument("Empty and deleted keys cannot be equal");
      }
    }
    return std::make_shared<LookupTable>(std::move(with_keys), context.services().allocator);
  }
};

// A table that nobody finds by name: it lives in the handles to it.
class AnonymousTableKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(LookupTableOptions options,
                              OptionsOf(request, request.node.name(), true));
    return std::make_unique<AnonymousTableKernel>(std::move(options));
  }
  explicit AnonymousTableKernel(LookupTableOptions options) : options_(std::move(options)) {}
  Status Run(KernelContext& context) override {
    Allocator* const allocator = context.services().allocator;
    CARILLON_ASSIGN_OR_RETURN(
        auto table,
        MakeOnAccount(allocator, options_.name, [&]() -> StatusOr<std::shared_ptr<LookupTable>> {
          return std::make_shared<LookupTable>(options_, allocator);
        }));
    context.set_output(0, Tensor::Scalar(ResourceHandle{std::move(table), "table", options_.name}));
    return absl::OkStatus();
  }

 private:
  const LookupTableOptions options_;
};

Status RunFind(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto table, context.Resource<LookupTable>(0));
  const Tensor &keys = context.input(1), &default_value = context.input(2);
  if (keys.dtype() != table->options().key_dtype ||
      default_value.dtype() != table->options().value_dtype) {
    return InvalidArgument("table ", table->options().name, " leads from ",
                           DTypeName(table->options().key_dtype), " to ",
                           DTypeName(table->options().value_dtype), ", not from ",
                           DTypeName(keys.dtype()), " to ", DTypeName(default_value.dtype()));
  }
  CARILLON_ASSIGN_OR_RETURN(const Shape shape, table->ValuesShape(keys.shape()));
  CARILLON_ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(0, shape));
  return table->Find(keys, default_value, *values);
}

Status RunInsert(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto table, context.Resource<LookupTable>(0));
  return table->Insert(context.input(1), context.input(2));
}

Status RunRemove(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto table, context.Resource<LookupTable>(0));
  return table->Remove(context.input(1));
}

Status RunImport(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto table, context.Resource<LookupTable>(0));
  return table->Import(context.input(1), context.input(2));
}

Status RunInitialize(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto table, context.Resource<LookupTable>(0));
  return table->Initialize(context.input(1), context.input(2));
}

Status RunSize(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto table, context.Resource<LookupTable>(0));
  context.set_output(0, Tensor::Scalar(table->Size()));
  return absl::OkStatus();
}

Status RunExport(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(const auto table, context.Resource<LookupTable>(0));
  Tensor keys, values;
  CARILLON_RETURN_IF_ERROR(table->Export(context.services().allocator, &keys, &values));
  if (keys.dtype() != context.output_dtype(0) || values.dtype() != context.output_dtype(1)) {
    return InvalidArgument("table ", table->options().name, " leads from ", DTypeName(keys.dtype()),
                           " to ", DTypeName(values.dtype()));
  }
  context.set_output(0, std::move(keys));
  context.set_output(1, std::move(values));
  return absl::OkStatus();
}

}  // namespace

void AddTableReferenceKernels(KernelTable& table) {
  table.Add({
      {"HashTable", "ref", TableKernel::Make<true, false>},
      {"HashTableV2", "ref", TableKernel::Make<true, false>},
      {"AnonymousHashTable", "ref", FromClass<AnonymousTableKernel>},
      {"MutableHashTable", "ref", TableKernel::Make<false, false>},
      {"MutableHashTableV2", "ref", TableKernel::Make<false, false>},
      {"MutableHashTableOfTensors", "ref", TableKernel::Make<false, true>},
      {"MutableHashTableOfTensorsV2", "ref", TableKernel::Make<false, true>},
      {"MutableDenseHashTable", "ref", FromClass<DenseTableKernel>},
      {"MutableDenseHashTableV2", "ref", FromClass<DenseTableKernel>},
      {"LookupTableFind", "ref", FromFunction<RunFind>},
      {"LookupTableFindV2", "ref", FromFunction<RunFind>},
      {"LookupTableInsert", "ref", FromFunction<RunInsert>},
      {"LookupTableInsertV2", "ref", FromFunction<RunInsert>},
      {"LookupTableRemoveV2", "ref", FromFunction<RunRemove>},
      {"LookupTableSize", "ref", FromFunction<RunSize>},
      {"LookupTableSizeV2", "ref", FromFunction<RunSize>},
      {"LookupTableExport", "ref", FromFunction<RunExport>},
      {"LookupTableExportV2", "ref", FromFunction<RunExport>},
      {"LookupTableImport", "ref", FromFunction<RunImport>},
      {"LookupTableImportV2", "ref", FromFunction<RunImport>},
      {"InitializeTable", "ref", FromFunction<RunInitialize>},
      {"InitializeTableV2", "ref", FromFunction<RunInitialize>},
  });
  AddTableFileKernels(table);
}

}  // namespace carillon
