// Kernels that treat vectors as sets, and that search in sorted ones.
#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

#include "absl/strings/ascii.h"
#include "kernels/ref/array_copy.h"
#include "kernels/ref/array_kernels.h"
#include "tensor/dispatch.h"

namespace carillon {
namespace {

enum class SetOperation { kFirstWithoutSecond, kSecondWithoutFirst, kIntersection, kUnion };

StatusOr<SetOperation> ParseSetOperation(const std::string& name) {
  const std::string lower = absl::AsciiStrToLower(name);
  if (lower == "a-b") return SetOperation::kFirstWithoutSecond;
  if (lower == "b-a") return SetOperation::kSecondWithoutFirst;
  if (lower == "intersection") return SetOperation::kIntersection;
  if (lower == "union") return SetOperation::kUnion;
  return InvalidArgument("set_operation should be a-b, b-a, intersection or union but is '", name,
                         "'");
}

template <typename T>
std::vector<T> SortedSet(const T* begin, int64_t count) {
  std::vector<T> set(begin, begin + count);
  std::ranges::sort(set);
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return set;
}

template <typename T>
std::vector<T> Combine(SetOperation operation, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> result;
  const auto out = std::back_inserter(result);
  switch (operation) {
    case SetOperation::kFirstWithoutSecond:
      std::ranges::set_difference(a, b, out);
      break;
    case SetOperation::kSecondWithoutFirst:
      std::ranges::set_difference(b, a, out);
      break;
    case SetOperation::kIntersection:
      std::ranges::set_intersection(a, b, out);
      break;
    case SetOperation::kUnion:
      std::ranges::set_union(a, b, out);
      break;
  }
  return result;
}

class DenseToDenseSetOperationKernel final : public Kernel {
 public:
  static KernelResult Make(const KernelRequest& request) {
    CARILLON_ASSIGN_OR_RETURN(const SetOperation operation,
                              ParseSetOperation(request.attr<std::string>("set_operation")));
    return std::make_unique<DenseToDenseSetOperationKernel>(operation);
  }
  explicit DenseToDenseSetOperationKernel(SetOperation operation) : operation_(operation) {}

  Status Run(KernelContext& context) override {
    const Shape& first = context.input(0).shape();
    const Shape& second = context.input(1).shape();
    if (first.rank() < 2 || second.rank() != first.rank() ||
        !std::equal(first.dims().begin(), first.dims().end() - 1, second.dims().begin())) {
      return InvalidArgument(
          "the sets should have at least two dimensions, and all but the last agree, but they have "
          "shapes ",
          first.ToString(), " and ", second.ToString());
    }
    Status status = Unimplemented("there are no sets of ", DTypeName(context.input(0).dtype()));
    DispatchAmong<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, std::string>(
        context.input(0).dtype(), [&]<typename T>() { status = Combine<T>(context); });
    return status;
  }

 private:
  template <typename T>
  Status Combine(KernelContext& context) const {
    const Tensor& first = context.input(0);
    const Tensor& second = context.input(1);
    const int rank = first.rank();
    const int64_t n1 = first.dim(rank - 1);
    const int64_t n2 = second.dim(rank - 1);
    Ints groups(first.shape().dims().begin(), first.shape().dims().end() - 1);
    CARILLON_ASSIGN_OR_RETURN(const Shape groups_shape, MakeShape(groups));
    std::vector<T> values;
    std::vector<int64_t> sizes;
    int64_t largest = 0;
    if (n1 > 0 || n2 > 0) {
      for (int64_t group = 0; group < groups_shape.num_elements(); ++group) {
        const std::vector<T> result =
            carillon::Combine(operation_, SortedSet(first.data<T>() + group * n1, n1),
                              SortedSet(second.data<T>() + group * n2, n2));
        values.insert(values.end(), result.begin(), result.end());
        sizes.push_back(static_cast<int64_t>(result.size()));
        largest = std::max(largest, sizes.back());
      }
    }
    const int64_t total = static_cast<int64_t>(values.size());
    CARILLON_ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(0, Shape{total, rank}));
    CARILLON_ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(1, Shape{total}));
    CARILLON_ASSIGN_OR_RETURN(Tensor * shape, context.AllocateOutput(2, Shape{rank}));
    std::ranges::move(values, out->mutable_data<T>());
    std::ranges::copy(groups, shape->mutable_data<int64_t>());
    shape->mutable_data<int64_t>()[rank - 1] = largest;
    int64_t* index = indices->mutable_data<int64_t>();
    for (size_t group = 0; group < sizes.size(); ++group) {
      for (int64_t i = 0; i < sizes[group]; ++i, index += rank) {
        int64_t position = static_cast<int64_t>(group);
        for (int d = rank - 2; d >= 0; --d) {
          index[d] = position % groups_shape.dim(d);
          position /= groups_shape.dim(d);
        }
        index[rank - 1] = i;
      }
    }
    return absl::OkStatus();
  }

  const SetOperation operation_;
};

// For each value the first place in its sorted row that is not less (kLower), or that is greater.
template <bool kLower>
Status RunBound(KernelContext& context) {
  const Tensor& sorted = context.input(0);
  const Tensor& values = context.input(1);
  if (sorted.rank() != 2 || values.rank() != 2 || sorted.dim(0) != values.dim(0)) {
    return InvalidArgument(
        "sorted_inputs and values should be matrices with the same number of rows but have shapes ",
        sorted.shape().ToString(), " and ", values.shape().ToString());
  }
  CARILLON_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, values.shape()));
  const int64_t length = sorted.dim(1);
  const int64_t wanted = values.dim(1);
  if (output->dtype() == DType::kInt32 && length > std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("rows of ", length, " elements need out_type int64");
  }
  const auto search = [&]<typename T>() {
    for (int64_t i = 0; i < values.num_elements(); ++i) {
      const T* row = sorted.data<T>() + i / wanted * length;
      const T& value = values.data<T>()[i];
      const T* found = kLower ? std::lower_bound(row, row + length, value)
                              : std::upper_bound(row, row + length, value);
      if (output->dtype() == DType::kInt32) {
        output->mutable_data<int32_t>()[i] = static_cast<int32_t>(found - row);
      } else {
        output->mutable_data<int64_t>()[i] = found - row;
      }
    }
  };
  if (!DispatchNumber(sorted.dtype(), search) &&
      !DispatchAmong<std::string>(sorted.dtype(), search))
    return Unimplemented("values of dtype ", DTypeName(sorted.dtype()), " cannot be ordered");
  return absl::OkStatus();
}

}  // namespace

void AddArraySetKernels(KernelTable& table) {
  table.Add({
      {"DenseToDenseSetOperation", "ref", FromClass<DenseToDenseSetOperationKernel>},
      {"LowerBound", "ref", FromFunction<RunBound<true>>},
      {"UpperBound", "ref", FromFunction<RunBound<false>>},
  });
}

}  // namespace carillon
