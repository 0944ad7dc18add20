// ReduceJoin and UnsortedSegmentJoin.
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/ref/index_values.h"
#include "kernels/ref/string_kernels.h"

namespace carillon {
namespace {

class ReduceJoinKernel final : public Kernel {
 public:
  explicit ReduceJoinKernel(const KernelRequest& request)
      : keep_dims_(request.attr<bool>("keep_dims")),
        separator_(request.attr<std::string>("separator")) {}

  Status Run(KernelContext& context) override {
    const Tensor &in = context.input(0), &axes = context.input(1);
    const int rank = in.rank();
    if (axes.rank() > 1) {
      return InvalidArgument("reduction_indices should be a scalar or a vector but has shape ",
                             axes.shape().ToString());
    }
    // The dimension that is named first is joined first: it changes fastest.
    std::array<bool, kMaxRank> reduced{};
    Walk joined, kept;
    std::array<int64_t, kMaxRank> strides{};
    for (int64_t d = rank - 1, stride = 1; d >= 0; --d) {
      strides[static_cast<size_t>(d)] = stride;
      stride *= in.dim(static_cast<int>(d));
    }
    for (int64_t i = axes.num_elements() - 1; i >= 0; --i) {
      const int64_t named = IndexAt(axes, i), axis = named < 0 ? named + rank : named;
      if (axis < 0 || axis >= rank) {
        return OutOfRange("reduction dimension ", named, " does not exist in shape ",
                          in.shape().ToString());
      }
      const auto d = static_cast<size_t>(axis);
      if (std::exchange(reduced[d], true)) {
        return InvalidArgument("reduction dimension ", named, " comes twice");
      }
      joined.Add(in.dim(static_cast<int>(axis)), strides[d]);
    }
    Shape shape;
    for (int d = 0; d < rank; ++d) {
      if (!reduced[static_cast<size_t>(d)]) {
        kept.Add(in.dim(d), strides[static_cast<size_t>(d)]);
        shape.AddDim(in.dim(d));
      } else if (keep_dims_) {
        shape.AddDim(1);
      }
    }
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    const auto* texts = in.data<std::string>();
    auto* result = out->mutable_data<std::string>();
    kept.ForEach(0, [&](int64_t base) {
      std::string text;
      bool first = true;
      joined.ForEach(base, [&](int64_t at) {
        if (!std::exchange(first, false)) text += separator_;
        text += texts[at];
      });
      *result++ = std::move(text);
    });
    return absl::OkStatus();
  }

 private:
  // Nested loops over some dimensions of a tensor.
  struct Walk {
    int rank = 0;
    std::array<int64_t, kMaxRank> dims{}, strides{};

    void Add(int64_t dim, int64_t stride) {
      dims[static_cast<size_t>(rank)] = dim;
      strides[static_cast<size_t>(rank++)] = stride;
    }
    template <typename Body>
    void ForEach(int64_t offset, Body&& body) const {
      int64_t count = 1;
      for (int d = 0; d < rank; ++d) count *= dims[static_cast<size_t>(d)];
      std::array<int64_t, kMaxRank> position{};
      for (; count > 0; --count) {
        body(offset);
        for (auto d = static_cast<size_t>(rank); d-- > 0;) {
          offset += strides[d];
          if (++position[d] < dims[d]) break;
          offset -= dims[d] * strides[d];
          position[d] = 0;
        }
      }
    }
  };

  const bool keep_dims_;
  const std::string separator_;
};

class UnsortedSegmentJoinKernel final : public Kernel {
 public:
  explicit UnsortedSegmentJoinKernel(const KernelRequest& request)
      : separator_(request.attr<std::string>("separator")) {}

  Status Run(KernelContext& context) override {
    const Tensor &in = context.input(0), &ids = context.input(1);
    CARILLON_ASSIGN_OR_RETURN(const int64_t segments,
                              ScalarIndex(context.input(2), "num_segments"));
    if (segments < 0) return InvalidArgument("num_segments is ", segments);
    if (ids.rank() == 0) return InvalidArgument("segment_ids should have at least one dimension");
    const auto prefix =
        in.shape().dims().first(static_cast<size_t>(std::min(in.rank(), ids.rank())));
    if (in.rank() < ids.rank() || !std::ranges::equal(prefix, ids.shape().dims())) {
      return InvalidArgument("the shape ", in.shape().ToString(),
                             " of the strings should start with that of segment_ids, ",
                             ids.shape().ToString());
    }
    std::vector<int64_t> dims{segments};
    for (int d = ids.rank(); d < in.rank(); ++d) dims.push_back(in.dim(d));
    Shape shape;
    if (!Shape::TryMake(dims, &shape))
      return InvalidArgument("num_segments ", segments, " is too large");
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    const std::span<std::string> result = out->mutable_values<std::string>();
    std::ranges::fill(result, std::string());
    const int64_t inner = segments == 0 ? 0 : shape.num_elements() / segments;
    std::vector<bool> started(static_cast<size_t>(segments));
    for (int64_t i = 0; i < ids.num_elements(); ++i) {
      const int64_t id = IndexAt(ids, i);
      if (id < 0 || id >= segments) {
        return InvalidArgument("segment_ids[", i, "] is ", id, ", outside of 0 … ", segments - 1);
      }
      const bool first = !started[static_cast<size_t>(id)];
      started[static_cast<size_t>(id)] = true;
      for (int64_t j = 0; j < inner; ++j) {
        std::string& text = result[static_cast<size_t>(id * inner + j)];
        if (!first) text += separator_;
        text += in.data<std::string>()[i * inner + j];
      }
    }
    return absl::OkStatus();
  }

 private:
  const std::string separator_;
};

}  // namespace

void AddStringReduceKernels(KernelTable& table) {
  table.Add({
      {"ReduceJoin", "ref", FromClass<ReduceJoinKernel>},
      {"UnsortedSegmentJoin", "ref", FromClass<UnsortedSegmentJoinKernel>},
  });
}

}  // namespace carillon
