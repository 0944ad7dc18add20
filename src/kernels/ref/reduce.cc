#include "kernels/ref/reduce.h"

#include <algorithm>

#include "base/parallel.h"

namespace carillon {
namespace {

constexpr int64_t kGrain = 32 * 1024;  // input elements worth another thread

struct Dim {
  int64_t size;
  int64_t stride;
};

// Dimensions to loop over, the first one outermost.
struct Loop {
  int rank = 0;
  std::array<Dim, kMaxRank> dims{};

  void Add(int64_t size, int64_t stride) { dims[static_cast<size_t>(rank++)] = {size, stride}; }
  int64_t size() const {
    int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= dims[static_cast<size_t>(i)].size;
    return product;
  }
  // Where step `at` of the loop stands.
  int64_t OffsetOf(int64_t at) const {
    int64_t offset = 0;
    for (int i = rank - 1; i >= 0; --i) {
      const Dim& dim = dims[static_cast<size_t>(i)];
      offset += at % dim.size * dim.stride;
      at /= dim.size;
    }
    return offset;
  }
};

// The work, cut into tasks of neighbouring outputs.
struct Work {
  const Reducer* reducer;
  const char* in;
  char* out;
  bool by_rows;    // the last dimension is reduced, else it is kept
  Dim batch;       // the innermost kept dimension, along which a task's outputs lie
  Dim run;         // the innermost reduced dimension
  Loop kept;       // the other kept dimensions
  Loop reduced;    // the other reduced dimensions
  int64_t count;   // elements that make one output
  int64_t chunk;   // outputs of a task
  int64_t chunks;  // tasks along `batch`

  int64_t tasks() const { return kept.size() * chunks; }
  int64_t OutputsOf(int64_t task) const {
    return std::min(chunk, batch.size - task % chunks * chunk);
  }
  int64_t FirstOutputOf(int64_t task) const {
    return task / chunks * batch.size + task % chunks * chunk;
  }

  // Takes into `accumulators` what task `task` finds between elements begin and end of the longest
  // reduced loop: the outermost one, or the run when there is no other.
  void Accumulate(int64_t task, int64_t begin, int64_t end, void* accumulators) const {
    const int64_t base = kept.OffsetOf(task / chunks) + task % chunks * chunk * batch.stride;
    const int64_t n = OutputsOf(task);
    reducer->start(accumulators, n);
    const auto take = [&](int64_t offset, int64_t length) {
      const char* from = in + static_cast<size_t>(base + offset) * reducer->in_size;
      if (by_rows) {
        reducer->rows(from, batch.stride, length, accumulators, n);
      } else {
        reducer->columns(from, run.stride, length, accumulators, n);
      }
    };
    if (reduced.rank == 0) {
      take(begin * run.stride, end - begin);
      return;
    }
    const int64_t inner = reduced.size() / reduced.dims[0].size;
    for (int64_t at = begin * inner; at < end * inner; ++at) take(reduced.OffsetOf(at), run.size);
  }
  int64_t SplitSize() const { return reduced.rank == 0 ? run.size : reduced.dims[0].size; }

  void Finish(int64_t task, const void* accumulators) const {
    reducer->finish(accumulators, count,
                    out + static_cast<size_t>(FirstOutputOf(task)) * reducer->out_size,
                    OutputsOf(task));
  }
};

// Whole tasks, side by side.
void RunTasks(const Work& work, int64_t task_grain) {
  ParallelFor(work.tasks(), task_grain, [&](int64_t begin, int64_t end) {
    alignas(64) char accumulators[kReduceBatch * kMaxAccumulatorBytes];
    for (int64_t task = begin; task < end; ++task) {
      work.Accumulate(task, 0, work.SplitSize(), accumulators);
      work.Finish(task, accumulators);
    }
  });
}

// Too few tasks to go round: each is cut into parts along the reduction, then the parts are merged
// in their order, so that the result depends on the number of threads but not on their timing.
Status RunParts(const Work& work, int64_t parts, KernelContext& context) {
  const int64_t slot = kReduceBatch * static_cast<int64_t>(kMaxAccumulatorBytes);
  CARILLON_ASSIGN_OR_RETURN(Tensor memory,
                            context.AllocateTemporary(kUint8, Shape{parts * work.tasks() * slot}));
  char* slots = static_cast<char*>(memory.mutable_raw_data());
  const int64_t size = work.SplitSize();
  ParallelFor(parts * work.tasks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t part = i % parts;
      work.Accumulate(i / parts, size * part / parts, size * (part + 1) / parts, slots + i * slot);
    }
  });
  for (int64_t task = 0; task < work.tasks(); ++task) {
    char* first = slots + task * parts * slot;
    for (int64_t part = 1; part < parts; ++part)
      work.reducer->merge(first + part * slot, first, work.OutputsOf(task));
    work.Finish(task, first);
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<ReducePlan> MakeReducePlan(const Shape& input, const Tensor& axes, bool keep_dims) {
  std::array<bool, kMaxRank> reduce{};
  for (int64_t i = 0; i < axes.num_elements(); ++i) {
    const int64_t axis =
        axes.dtype() == kInt32 ? int64_t{axes.data<int32_t>()[i]} : axes.data<int64_t>()[i];
    if (axis < -input.rank() || axis >= input.rank()) {
      return InvalidArgument("Invalid reduction dimension (", axis, " for input with ",
                             input.rank(), " dimension(s))");
    }
    const auto at = static_cast<size_t>(axis < 0 ? axis + input.rank() : axis);
    if (reduce[at])
      return InvalidArgument("Invalid reduction arguments: Axes contains duplicate dimension: ",
                             axis);
    reduce[at] = true;
  }
  ReducePlan plan;
  std::array<int64_t, kMaxRank> kept{};
  size_t num_kept = 0;
  for (int i = 0; i < input.rank(); ++i) {
    const bool reduced = reduce[static_cast<size_t>(i)];
    if (!reduced || keep_dims) kept[num_kept++] = reduced ? 1 : input.dim(i);
  }
  if (!Shape::TryMake({kept.data(), num_kept}, &plan.output))
    return InvalidArgument("reducing ", input.ToString(), " gives more elements than can be");
  if (input.num_elements() == 0) {
    plan.count = 0;
    return plan;
  }
  int64_t stride = 1;
  for (int i = input.rank() - 1; i >= 0; --i) {
    const bool reduced = reduce[static_cast<size_t>(i)];
    const int64_t size = input.dim(i);
    if (size == 1) continue;
    if (reduced) plan.count *= size;
    const auto last = static_cast<size_t>(plan.rank - 1);
    if (plan.rank > 0 && plan.reduced[last] == reduced) {
      plan.dims[last] *= size;
    } else {
      const auto next = static_cast<size_t>(plan.rank++);
      plan.dims[next] = size;
      plan.strides[next] = stride;
      plan.reduced[next] = reduced;
    }
    stride *= size;
  }
  std::reverse(plan.dims.begin(), plan.dims.begin() + plan.rank);
  std::reverse(plan.strides.begin(), plan.strides.begin() + plan.rank);
  std::reverse(plan.reduced.begin(), plan.reduced.begin() + plan.rank);
  return plan;
}

Status Reduce(const ReducePlan& plan, const Reducer& reducer, const void* in, void* out,
              KernelContext& context) {
  const int64_t outputs = plan.output.num_elements();
  if (outputs == 0) return absl::OkStatus();
  Work work{.reducer = &reducer,
            .in = static_cast<const char*>(in),
            .out = static_cast<char*>(out),
            .by_rows = plan.rank > 0 && plan.reduced[static_cast<size_t>(plan.rank - 1)],
            .batch = {1, 0},
            .run = {1, 0},
            .count = plan.count};
  int innermost_kept = -1, innermost_reduced = -1;
  for (int i = 0; i < plan.rank; ++i)
    (plan.reduced[static_cast<size_t>(i)] ? innermost_reduced : innermost_kept) = i;
  for (int i = 0; i < plan.rank; ++i) {
    const auto at = static_cast<size_t>(i);
    if (i == innermost_kept) {
      work.batch = {plan.dims[at], plan.strides[at]};
    } else if (i == innermost_reduced) {
      work.run = {plan.dims[at], plan.strides[at]};
    } else {
      (plan.reduced[at] ? work.reduced : work.kept).Add(plan.dims[at], plan.strides[at]);
    }
  }
  if (plan.count == 0) {  // an empty input, but there are outputs
    work.batch = {outputs, 0};
    work.run = {0, 0};
  }
  // Tasks of some thousand elements: enough to hide their cost, few enough to go round.
  const int64_t count = std::max<int64_t>(plan.count, 1);
  work.chunk = std::clamp<int64_t>(kGrain / 4 / count, work.by_rows ? 1 : 64, kReduceBatch);
  work.chunks = (work.batch.size + work.chunk - 1) / work.chunk;
  const int64_t threads = KernelThreads();
  const int64_t total = outputs * count;
  if (work.tasks() < threads && threads > 1 && total >= 2 * kGrain) {
    const int64_t parts = std::min({threads, total / kGrain, work.SplitSize()});
    if (parts > 1) return RunParts(work, parts, context);
  }
  RunTasks(work, std::max<int64_t>(1, kGrain / (work.chunk * count)));
  return absl::OkStatus();
}

}  // namespace carillon
