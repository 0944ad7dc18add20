// Kernels of staging areas: Stage, MapStage and OrderedMapStage. Keys are always kept in order, so
// the last two are the same.
#include "kernels/staging.h"

#include "kernels/families.h"
#include "kernels/named_resource.h"
#include "kernels/ref/array_kernels.h"
#include "kernels/ref/staging_kernels.h"

namespace carillon {
namespace {

// Whether values are under keys: Map… and OrderedMap….
bool IsMapped(const KernelRequest& request) {
  return request.node.op().find("Map") != std::string_view::npos;
}

// Areas of different kinds may have the same name, as in TensorFlow: the kind is a part of it here.
ResourcePlace PlaceOf(const KernelRequest& request) {
  ResourcePlace place = ResourcePlace::Of(request, /*share_node_name=*/true);
  const char* kind = !IsMapped(request)                            ? "Stage:"
                     : request.node.op().starts_with("OrderedMap") ? "OrderedMap:"
                                                                   : "Map:";
  place.name.insert(0, kind);
  return place;
}

// Ops on a staging area find it by name, without a handle.
class AreaFinder {
 public:
  explicit AreaFinder(const KernelRequest& request)
      : place_(PlaceOf(request)),
        limits_{.capacity = request.attr<int64_t>("capacity"),
                .memory_limit = request.attr<int64_t>("memory_limit")} {}
  StatusOr<std::shared_ptr<StagingArea>> Find(const KernelContext& context) const {
    return FindOrMakeResource<StagingArea>(place_.store(context.services()), place_.container,
                                           place_.name,
                                           [&]() -> StatusOr<std::shared_ptr<Resource>> {
                                             return Make(context.services().allocator);
                                           });
  }

 private:
  StatusOr<std::shared_ptr<Resource>> Make(Allocator* allocator) const {
    return MakeOnAccount(allocator, place_.name, [&]() -> StatusOr<std::shared_ptr<StagingArea>> {
      return std::make_shared<StagingArea>(limits_, allocator);
    });
  }
  const ResourcePlace place_;
  const StagingLimits limits_;
};

StatusOr<std::vector<int32_t>> ReadIndices(const Tensor& indices, size_t count) {
  const auto values = indices.values<int32_t>();
  if (indices.rank() > 1 || values.size() != count) {
    return InvalidArgument("there are ", values.size(), " indices for ", count, " values");
  }
  return std::vector<int32_t>(values.begin(), values.end());
}

// Stage, MapStage.
class PutKernel final : public AsyncKernel {
 public:
  explicit PutKernel(const KernelRequest& request) : area_(request), mapped_(IsMapped(request)) {
    if (mapped_) types_ = request.attr<std::vector<DType>>("dtypes");
  }
  void RunAsync(KernelContext& context, Done done) override {
    const auto area = area_.Find(context);
    if (!area.ok()) return done(area.status());
    auto finish = [done](const Status& status, StagedTuple, int64_t) { done(status); };
    Cancellation* cancellation = context.services().cancellation;
    StagedTuple parts;
    for (int i = mapped_ ? 2 : 0; i < context.num_inputs(); ++i) parts.push_back(context.Keep(i));
    if (!mapped_) return (*area)->Put(std::move(parts), cancellation, finish);
    const StatusOr<int64_t> key = ReadOneInt(context.input(0), "key");
    if (!key.ok()) return done(key.status());
    StatusOr<std::vector<int32_t>> indices = ReadIndices(context.input(1), parts.size());
    if (!indices.ok()) return done(indices.status());
    std::vector<bool> seen(types_.size());
    for (size_t i = 0; i < parts.size(); ++i) {
      const int32_t index = (*indices)[i];
      if (index < 0 || static_cast<size_t>(index) >= types_.size() ||
          seen[static_cast<size_t>(index)] ||
          types_[static_cast<size_t>(index)] != parts[i].dtype()) {
        return done(InvalidArgument("part ", index, " of key ", *key,
                                    " does not exist, comes twice, or is not of type ",
                                    DTypeName(parts[i].dtype())));
      }
      seen[static_cast<size_t>(index)] = true;
    }
    (*area)->PutParts(*key, std::move(*indices), std::move(parts), types_.size(), cancellation,
                      finish);
  }

 private:
  const AreaFinder area_;
  const bool mapped_;
  std::vector<DType> types_;
};

// Unstage, StagePeek, MapUnstage, MapPeek, MapUnstageNoKey.
class GetKernel final : public AsyncKernel {
 public:
  explicit GetKernel(const KernelRequest& request)
      : area_(request),
        peek_(request.node.op().ends_with("Peek")),
        mapped_(IsMapped(request)),
        by_key_(mapped_ && !request.node.op().ends_with("NoKey")) {}

  void RunAsync(KernelContext& context, Done done) override {
    const auto area = area_.Find(context);
    if (!area.ok()) return done(area.status());
    StatusOr<StagingArea::Wanted> wanted = WantedOf(context);
    if (!wanted.ok()) return done(wanted.status());
    const bool gives_key = mapped_ && !by_key_;
    (*area)->Get(
        std::move(*wanted), context.services().cancellation,
        [&context, gives_key, done = std::move(done)](const Status& status, StagedTuple tuple,
                                                      int64_t key) {
          done(status.ok() ? SetOutputs(context, std::move(tuple), key, gives_key) : status);
        });
  }

 private:
  StatusOr<StagingArea::Wanted> WantedOf(const KernelContext& context) const {
    StagingArea::Wanted wanted{.peek = peek_};
    if (!mapped_) {
      if (!peek_) return wanted;
      CARILLON_ASSIGN_OR_RETURN(wanted.position, ReadOneInt(context.input(0), "index"));
      if (*wanted.position < 0) return InvalidArgument("index ", *wanted.position, " is negative");
      return wanted;
    }
    if (by_key_) {
      CARILLON_ASSIGN_OR_RETURN(wanted.key, ReadOneInt(context.input(0), "key"));
    }
    const auto values = static_cast<size_t>(context.num_outputs() - (by_key_ ? 0 : 1));
    CARILLON_ASSIGN_OR_RETURN(wanted.indices, ReadIndices(context.input(by_key_ ? 1 : 0), values));
    return wanted;
  }

  static Status SetOutputs(KernelContext& context, StagedTuple tuple, int64_t key, bool gives_key) {
    const int first = gives_key ? 1 : 0;
    if (static_cast<int>(tuple.size()) != context.num_outputs() - first) {
      return InvalidArgument("Mismatch stage/unstage: ", tuple.size(), " vs. ",
                             context.num_outputs() - first);
    }
    for (size_t i = 0; i < tuple.size(); ++i) {
      const int output = first + static_cast<int>(i);
      if (tuple[i].dtype() != context.output_dtype(output)) {
        return InvalidArgument("part ", i, " is ", DTypeName(tuple[i].dtype()), ", not ",
                               DTypeName(context.output_dtype(output)));
      }
      context.set_output(output, std::move(tuple[i]));
    }
    if (gives_key) context.set_output(0, Tensor::Scalar(key));
    return absl::OkStatus();
  }

  const AreaFinder area_;
  const bool peek_, mapped_, by_key_;
};

template <int64_t (StagingArea::*size)() const>
class SizeKernel final : public Kernel {
 public:
  explicit SizeKernel(const KernelRequest& request) : area_(request) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const auto area, area_.Find(context));
    context.set_output(0, Tensor::Scalar(static_cast<int32_t>((area.get()->*size)())));
    return absl::OkStatus();
  }

 private:
  const AreaFinder area_;
};

class ClearKernel final : public Kernel {
 public:
  explicit ClearKernel(const KernelRequest& request) : area_(request) {}
  Status Run(KernelContext& context) override {
    CARILLON_ASSIGN_OR_RETURN(const auto area, area_.Find(context));
    area->Clear();
    return absl::OkStatus();
  }

 private:
  const AreaFinder area_;
};

}  // namespace

void AddStagingAreaKernels(KernelTable& table) {
  table.Add({
      {"Stage", "ref", FromClass<PutKernel>},
      {"Unstage", "ref", FromClass<GetKernel>},
      {"StagePeek", "ref", FromClass<GetKernel>},
      {"StageSize", "ref", FromClass<SizeKernel<&StagingArea::Size>>},
      {"StageClear", "ref", FromClass<ClearKernel>},
      {"MapStage", "ref", FromClass<PutKernel>},
      {"MapUnstage", "ref", FromClass<GetKernel>},
      {"MapUnstageNoKey", "ref", FromClass<GetKernel>},
      {"MapPeek", "ref", FromClass<GetKernel>},
      {"MapSize", "ref", FromClass<SizeKernel<&StagingArea::Size>>},
      {"MapIncompleteSize", "ref", FromClass<SizeKernel<&StagingArea::IncompleteSize>>},
      {"MapClear", "ref", FromClass<ClearKernel>},
      {"OrderedMapStage", "ref", FromClass<PutKernel>},
      {"OrderedMapUnstage", "ref", FromClass<GetKernel>},
      {"OrderedMapUnstageNoKey", "ref", FromClass<GetKernel>},
      {"OrderedMapPeek", "ref", FromClass<GetKernel>},
      {"OrderedMapSize", "ref", FromClass<SizeKernel<&StagingArea::Size>>},
      {"OrderedMapIncompleteSize", "ref", FromClass<SizeKernel<&StagingArea::IncompleteSize>>},
      {"OrderedMapClear", "ref", FromClass<ClearKernel>},
  });
}

void AddStagingReferenceKernels(KernelTable& table) {
  AddBarrierKernels(table);
  AddStagingAreaKernels(table);
  AddSessionTensorKernels(table);
}

}  // namespace carillon
