// What every kernel made of oneDNN primitives needs: descriptions of tensors, layouts, and calls on
// plain pointers.
#pragma once

#include <dnnl.hpp>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "base/status.h"
#include "carillon/dtype.h"
#include "carillon/shape.h"
#include "kernels/layout.h"

namespace carillon {

// A CPU engine of the caller's own: cheap to make, and primitives and memory of different CPU
// engines go together.
inline dnnl::engine MakeDnnlEngine() { return dnnl::engine(dnnl::engine::kind::cpu, 0); }

// undef when oneDNN has no such type.
dnnl::memory::data_type DnnlType(DType dtype);

dnnl::memory::dims DnnlDims(const Shape& shape);

// Row-major, as tensors lie when nobody says otherwise; a scalar counts as one dimension of one.
dnnl::memory::desc PlainDesc(DType dtype, const Shape& shape);
// The same dtype and dimensions in whatever order the primitive likes best.
dnnl::memory::desc AnyDesc(DType dtype, const Shape& shape);

// A layout that oneDNN chose.
class DnnlLayout final : public LayoutDescription {
 public:
  explicit DnnlLayout(dnnl::memory::desc desc) : desc_(std::move(desc)) {}
  const dnnl::memory::desc& desc() const { return desc_; }
  bool Equals(const LayoutDescription& other) const override;
  size_t bytes() const override { return desc_.get_size(); }
  std::string ToString() const override;

 private:
  const dnnl::memory::desc desc_;
};

// Null when `desc` is just row-major.
Layout LayoutOf(const dnnl::memory::desc& desc, DType dtype, const Shape& shape);
// The inverse. `layout` must be null or a DnnlLayout.
dnnl::memory::desc DescOf(const Layout& layout, DType dtype, const Shape& shape);

// oneDNN throws; kernels return a Status. Unimplemented when oneDNN has no such primitive, which is
// how a kernel declines.
Status CatchDnnl(absl::FunctionRef<void()> body);

// oneDNN cannot be stopped: what would take it long is computed in pieces, between which kernels
// ask whether to go on. How many of `count` rows, or matrices, of a product are a piece; all when
// they are few. Pieces are of one size and overlap where that does not divide `count`.
int64_t PieceOf(int64_t count, double products_each);

// A primitive with its arguments, to be called on pointers. Several threads may call at once: each
// call takes a set of memory objects from a pool, so that a steady step makes none.
class DnnlCall {
 public:
  struct Argument {
    int kind;  // DNNL_ARG_…
    dnnl::memory::desc desc;
  };
  // Throws dnnl::error.
  DnnlCall(dnnl::engine engine, dnnl::primitive primitive, std::vector<Argument> arguments);

  // One pointer for each argument, in their order; oneDNN writes only to its outputs.
  Status Run(std::initializer_list<const void*> data);

 private:
  struct Bound {
    std::vector<dnnl::memory> memory;
    std::vector<dnnl_exec_arg_t> args;
  };
  std::unique_ptr<Bound> Take();

  const dnnl::engine engine_;
  const dnnl::stream stream_;
  const dnnl::primitive primitive_;
  const std::vector<Argument> arguments_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Bound>> free_;  // guarded by mutex_
};

}  // namespace carillon
