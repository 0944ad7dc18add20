// MatMul with the bias and the Relu that follow it, in float, by oneDNN.
#include <dnnl.hpp>

#include "base/parallel.h"
#include "kernels/cpu/dnnl_support.h"
#include "kernels/cpu/nn.h"
#include "kernels/work.h"

namespace carillon {
namespace {

using dnnl::memory;

class FusedMatMulKernel final : public Kernel {
 public:
  FusedMatMulKernel(const Shape& a, const Shape& b, bool transpose_a, bool transpose_b, bool relu)
      : a_(a),
        b_(b),
        output_({a.dim(transpose_a ? 1 : 0), b.dim(transpose_b ? 0 : 1)}),
        row_stride_(transpose_a ? 1 : a.dim(1)),
        rows_(PieceOf(output_.dim(0),
                      static_cast<double>(b.dim(0)) * static_cast<double>(b.dim(1)))) {
    // The first `rows`; -1: all.
    const auto matrix = [](const Shape& shape, bool transposed, int64_t rows) {
      memory::dims dims = {shape.dim(0), shape.dim(1)}, strides = {shape.dim(1), 1};
      if (transposed) {
        std::swap(dims[0], dims[1]);
        std::swap(strides[0], strides[1]);
      }
      if (rows >= 0) dims[0] = rows;
      return memory::desc(dims, memory::data_type::f32, strides);
    };
    const memory::desc left = matrix(a, transpose_a, rows_), right = matrix(b, transpose_b, -1);
    const memory::desc product = matrix(output_, false, rows_);
    const memory::desc bias({1, output_.dim(1)}, memory::data_type::f32,
                            memory::dims{output_.dim(1), 1});
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (relu) {
      dnnl::post_ops ops;
      ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
      attr.set_post_ops(ops);
    }
    const dnnl::engine engine = MakeDnnlEngine();
    const dnnl::matmul::primitive_desc made(dnnl::matmul::desc(left, right, bias, product), attr,
                                            engine);
    traits_.scratch_bytes = made.scratchpad_desc().get_size();
    call_ = std::make_unique<DnnlCall>(
        engine, dnnl::matmul(made),
        std::vector<DnnlCall::Argument>{{DNNL_ARG_SRC, left},
                                        {DNNL_ARG_WEIGHTS, right},
                                        {DNNL_ARG_BIAS, bias},
                                        {DNNL_ARG_DST, product},
                                        {DNNL_ARG_SCRATCHPAD, made.scratchpad_desc()}});
  }

  static KernelResult Make(const KernelRequest& request) {
    if (request.output_dtype(0) != DType::kFloat) return Unimplemented("only float");
    Shape a, b, product;
    if (!request.InputShape(0, &a) || !request.InputShape(1, &b) ||
        !request.OutputShape(0, &product)) {
      return Unimplemented("the shapes are not known");
    }
    if (a.num_elements() == 0 || b.num_elements() == 0)
      return Unimplemented("there are no elements");
    std::unique_ptr<Kernel> kernel;
    CARILLON_RETURN_IF_ERROR(CatchDnnl([&] {
      const WithKernelThreads with_threads(request.options.threads);
      kernel = std::make_unique<FusedMatMulKernel>(a, b, request.attr<bool>("transpose_a"),
                                                   request.attr<bool>("transpose_b"),
                                                   request.attr<bool>("relu"));
    }));
    return kernel;
  }

  Status Run(KernelContext& context) override {
    CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, 0, a_));
    CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, 1, b_));
    CARILLON_RETURN_IF_ERROR(CheckMadeFor(context, 2, Shape{output_.dim(1)}));
    CARILLON_ASSIGN_OR_RETURN(Tensor * product, context.AllocateOutput(0, output_));
    CARILLON_ASSIGN_OR_RETURN(const KernelScratch scratch,
                              KernelScratch::Get(context, traits_.scratch_bytes));
    const int64_t m = output_.dim(0);
    for (int64_t i = 0; i < m; i += rows_) {
      const int64_t row = std::min(i, m - rows_);
      if (rows_ < m) CARILLON_RETURN_IF_ERROR(CheckWanted());
      CARILLON_RETURN_IF_ERROR(
          call_->Run({context.input(0).data<float>() + row * row_stride_,
                      context.input(1).raw_data(), context.input(2).raw_data(),
                      product->data<float>() + row * output_.dim(1), scratch.data()}));
    }
    return absl::OkStatus();
  }

 private:
  const Shape a_, b_, output_;
  const int64_t row_stride_, rows_;  // of the left operand; of a piece
  std::unique_ptr<DnnlCall> call_;
};

}  // namespace

void AddFusedMatMulCpuKernels(KernelTable& table) {
  table.Add({"_FusedMatMul", "onednn", FromClass<FusedMatMulKernel>});
}

}  // namespace carillon
