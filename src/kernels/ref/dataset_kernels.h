// What the kernels that make data sets share.
#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/dataset.h"
#include "kernels/kernel.h"
#include "kernels/optional_value.h"
#include "tensor/memory_charge.h"
#include "tensor/text_memory.h"

namespace carillon {

void AddDatasetSourceKernels(KernelTable& table);
void AddDatasetTransformKernels(KernelTable& table);
void AddDatasetShuffleKernels(KernelTable& table);
void AddDatasetCacheKernels(KernelTable& table);
void AddDatasetBatchKernels(KernelTable& table);
void AddDatasetFunctionKernels(KernelTable& table);
void AddDatasetParallelKernels(KernelTable& table);
void AddDatasetRecordKernels(KernelTable& table);
void AddIteratorKernels(KernelTable& table);
void AddOptionalKernels(KernelTable& table);

// The attributes output_types (or Toutput_types) and output_shapes.
ElementSpec OutputSpec(const Node& node);

// Inputs. InvalidArgument when they are something else.
StatusOr<DatasetPtr> DatasetOf(const Tensor& value);
StatusOr<DatasetPtr> DatasetInput(const KernelContext& context, int i);
StatusOr<int64_t> Int64Input(const KernelContext& context, int i, std::string_view name);
StatusOr<bool> BoolInput(const KernelContext& context, int i, std::string_view name);
StatusOr<std::string> StringInput(const KernelContext& context, int i, std::string_view name);

// Output 0 becomes the handle of a resource that lives in its handles; output 1, where there is
// one, a deleter, for which there is nothing to do.
void SetAnonymousResource(KernelContext& context, std::shared_ptr<Resource> resource);
// For ops that only hold the place of such a resource, and that delete one.
Status RunNoResource(KernelContext& context);
Status RunNothing(KernelContext& context);

// Output 0 becomes the data set, which is made of the inputs, or is one of them. InvalidArgument
// when too many are inside of each other, ResourceExhausted when there is no memory to keep it.
Status SetDataset(KernelContext& context, DatasetPtr dataset);
// Output 0 becomes the optional.
using OptionalPtr = std::shared_ptr<const OptionalValue>;
Status SetOptional(KernelContext& context, const OptionalPtr& optional);

// Iterators call each other, and end, one inside of the other.
inline constexpr int kMostDatasetDepth = 2000;

// For the tables: ops whose kernel makes one data set.
using MakeDataset = StatusOr<DatasetPtr> (*)(KernelContext& context);
template <MakeDataset make>
Status RunDataset(KernelContext& context) {
  CARILLON_ASSIGN_OR_RETURN(DatasetPtr dataset, make(context));
  return SetDataset(context, std::move(dataset));
}

// A function of an op's attribute, and the values that it captured.
class CapturedFunction {
 public:
  // `captured` come after the arguments of each call.
  CapturedFunction(std::shared_ptr<CallableFunction> function, std::vector<Tensor> captured)
      : function_(std::move(function)), captured_(std::move(captured)) {}

  // As the iterators under the root of `context` call it.
  class Call {
   public:
    Call(const CapturedFunction& function, const IteratorContext& context)
        : captured_(function.captured_), function_(context.functions->Find(function.function_)) {}
    // Thread-safe.
    Status Run(const IteratorContext& context, Element args, Element* results) const;

   private:
    const std::vector<Tensor> captured_;
    const std::shared_ptr<CallableFunction> function_;
  };

 private:
  const std::shared_ptr<CallableFunction> function_;
  const std::vector<Tensor> captured_;
};

// Base of kernels that make data sets with a function.
class FunctionDatasetKernel : public Kernel {
 public:
  Status Run(KernelContext& context) final;

 protected:
  // `attr` is the function's. NotFound, Unimplemented when it cannot be called.
  Status Init(const KernelRequest& request, std::string_view attr);
  virtual StatusOr<DatasetPtr> Make(KernelContext& context, CapturedFunction function) = 0;
  const ElementSpec& spec() const { return spec_; }

 private:
  ElementSpec spec_;
  std::shared_ptr<CallableFunction> function_;
  int captures_begin_ = 0, captures_end_ = 0;
};

// For the tables.
template <typename K>
KernelResult FromFunctionDataset(const KernelRequest& request) {
  auto kernel = std::make_unique<K>();
  CARILLON_RETURN_IF_ERROR(kernel->Start(request));
  return kernel;
}

// Number and dtypes of the components. InvalidArgument when they are not those that the data set
// was declared with: graphs may declare what they like.
Status CheckElement(const ElementSpec& spec, const Element& element);

// What an iterator of one data set takes, with what it keeps for itself.
inline constexpr int64_t kIteratorBytes = 512;

// Counts what elements in a buffer take besides their tensors. Not thread-safe: lives under the
// lock of the buffer.
class BufferCharge {
 public:
  explicit BufferCharge(Allocator* allocator) : charge_(allocator) {}

  // Before an element is put in: ResourceExhausted, with nothing counted, when there is no room.
  // From then on the element stays as it is.
  Status Add(const Element& element) {
    for (const Tensor& component : element) CARILLON_RETURN_IF_ERROR(ChargeText(component));
    const int64_t bytes = BytesOf(element), missing = used_ + bytes - charge_.bytes();
    if (missing > 0 && !charge_.Add(std::max(missing, kStep)).ok())
      CARILLON_RETURN_IF_ERROR(charge_.Add(missing));
    used_ += bytes;
    return absl::OkStatus();
  }
  // When it leaves.
  void Remove(const Element& element) {
    used_ -= BytesOf(element);
    if (const int64_t spare = charge_.bytes() - used_; used_ == 0 || spare > 2 * kStep)
      charge_.Remove(used_ == 0 ? spare : spare - kStep);
  }
  void RemoveAll() {
    used_ = 0;
    charge_.Remove(charge_.bytes());
  }

 private:
  // So much at a time, so that not each small element asks the allocator.
  static constexpr int64_t kStep = 4096;

  // Its place in a deque or list, a status beside it, and the block of its components.
  static int64_t BytesOf(const Element& element) {
    constexpr size_t kPlace = sizeof(Element) + 40, kBlock = 16;
    return static_cast<int64_t>(kPlace + element.capacity() * sizeof(Tensor) + kBlock);
  }

  MemoryCharge charge_;
  int64_t used_ = 0;  // at most charge_.bytes()
};

// Data sets that several ops are made of.
DatasetPtr MakeBatch(DatasetPtr input, int64_t batch_size, bool drop_remainder, ElementSpec spec);
DatasetPtr MakeParallelMap(DatasetPtr input, CapturedFunction function, int64_t calls,
                           bool deterministic, bool keeps_cardinality, ElementSpec spec);
// Walks `input` on a thread of its own, up to `buffer_size` elements ahead.
std::unique_ptr<DatasetIterator> MakePrefetchIterator(std::unique_ptr<DatasetIterator> input,
                                                      int64_t buffer_size);

}  // namespace carillon
