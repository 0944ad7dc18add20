#include "kernels/cpu/dnnl_support.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/work_scope.h"

namespace carillon {

dnnl::memory::data_type DnnlType(DType dtype) {
  using Type = dnnl::memory::data_type;
  switch (dtype) {
    case DType::kFloat:
      return Type::f32;
    case DType::kHalf:
      return Type::f16;
    case DType::kBfloat16:
      return Type::bf16;
    case DType::kInt32:
      return Type::s32;
    case DType::kInt8:
      return Type::s8;
    case DType::kUint8:
      return Type::u8;
    default:
      return Type::undef;
  }
}

dnnl::memory::dims DnnlDims(const Shape& shape) {
  if (shape.rank() == 0) return {1};
  return dnnl::memory::dims(shape.dims().begin(), shape.dims().end());
}

dnnl::memory::desc PlainDesc(DType dtype, const Shape& shape) {
  const dnnl::memory::dims dims = DnnlDims(shape);
  dnnl::memory::dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return dnnl::memory::desc(dims, DnnlType(dtype), strides);
}

dnnl::memory::desc AnyDesc(DType dtype, const Shape& shape) {
  return dnnl::memory::desc(DnnlDims(shape), DnnlType(dtype), dnnl::memory::format_tag::any);
}

bool DnnlLayout::Equals(const LayoutDescription& other) const {
  const auto* dnnl_layout = dynamic_cast<const DnnlLayout*>(&other);
  return dnnl_layout != nullptr && dnnl_layout->desc_ == desc_;
}

// As in "acdb, 16b": the outer dimensions from the widest stride to the narrowest, then the
// blocks inside.
std::string DnnlLayout::ToString() const {
  const dnnl_memory_desc_t& data = desc_.data;
  if (data.format_kind != dnnl_blocked) return "onednn(opaque)";
  const auto& blocking = data.format_desc.blocking;
  std::vector<int> order;
  for (int i = 0; i < data.ndims; ++i) {
    auto at = order.begin();
    while (at != order.end() && blocking.strides[*at] >= blocking.strides[i]) ++at;
    order.insert(at, i);
  }
  std::string text = "onednn(";
  for (int dim : order) text += static_cast<char>('a' + dim);
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    StrAppend(&text, i == 0 ? ", " : "", static_cast<int64_t>(blocking.inner_blks[i]));
    text += static_cast<char>('a' + blocking.inner_idxs[i]);
  }
  return text + ")";
}

Layout LayoutOf(const dnnl::memory::desc& desc, DType dtype, const Shape& shape) {
  if (desc == PlainDesc(dtype, shape)) return nullptr;
  return std::make_shared<DnnlLayout>(desc);
}

dnnl::memory::desc DescOf(const Layout& layout, DType dtype, const Shape& shape) {
  if (layout == nullptr) return PlainDesc(dtype, shape);
  return static_cast<const DnnlLayout&>(*layout).desc();
}

Status CatchDnnl(absl::FunctionRef<void()> body) {
  const WorkPause pause;  // its locks and caches are not made for what operator new throws
  try {
    body();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented)
      return Unimplemented("oneDNN has none: ", error.message);
    if (error.status == dnnl_out_of_memory) return ResourceExhausted("oneDNN: ", error.message);
    return Internal("oneDNN: ", error.message, " (status ", static_cast<int>(error.status), ")");
  }
  return absl::OkStatus();
}

int64_t PieceOf(int64_t count, double products_each) {
  constexpr double kMostProducts = 1LL << 35;
  const double most = std::max(1.0, kMostProducts / products_each);
  if (static_cast<double>(count) <= most) return count;
  const auto pieces = static_cast<int64_t>(std::ceil(static_cast<double>(count) / most));
  return (count + pieces - 1) / pieces;
}

DnnlCall::DnnlCall(dnnl::engine engine, dnnl::primitive primitive, std::vector<Argument> arguments)
    : engine_(std::move(engine)),
      stream_(engine_),
      primitive_(std::move(primitive)),
      arguments_(std::move(arguments)) {
  free_.push_back(Take());
}

std::unique_ptr<DnnlCall::Bound> DnnlCall::Take() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Bound> bound = std::move(free_.back());
      free_.pop_back();
      return bound;
    }
  }
  auto bound = std::make_unique<Bound>();
  for (const Argument& argument : arguments_) {
    bound->memory.emplace_back(argument.desc, engine_, nullptr);
    bound->args.push_back({argument.kind, bound->memory.back().get()});
  }
  return bound;
}

Status DnnlCall::Run(std::initializer_list<const void*> data) {
  if (data.size() != arguments_.size()) {
    return Internal("a oneDNN call of ", arguments_.size(), " arguments got ", data.size());
  }
  return CatchDnnl([&] {
    std::unique_ptr<Bound> bound = Take();
    size_t i = 0;
    for (const void* pointer : data) bound->memory[i++].set_data_handle(const_cast<void*>(pointer));
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream_.get(),
                               static_cast<int>(bound->args.size()), bound->args.data()),
        "could not execute the primitive");
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(std::move(bound));
  });
}

}  // namespace carillon
