// Serialized Examples, through the kernel and through the reader of data sets; and other text that
// kernels parse.
#include "fuzz_target.h"
#include "kernel_runner.h"

namespace carillon {
namespace {

class Parsers : public KernelRunner {
 public:
  Parsers() {
    const Output batch = Reshape(text_, {1});
    const ParsedExamples parsed = ParseExample(
        batch,
        {{.key = "label", .dtype = kInt64, .shape = Shape{}},
         {.key = "image",
          .dtype = kString,
          .shape = Shape{},
          .default_value = Tensor::Scalar<std::string>("")},
         {.key = "floats", .dtype = kFloat, .shape = {-1}, .default_value = Tensor::Scalar(0.0f)}},
        {{.key = "words", .dtype = kString}, {.key = "numbers", .dtype = kInt64}});
    fetches_.push_back(parsed.dense);
    fetches_.push_back({parsed.sparse_values[0], parsed.sparse_indices[1]});
    fetches_.push_back({ParseTensor(text_, kFloat)});
    fetches_.push_back({ParseTensor(text_, kString)});
    fetches_.push_back({DecodeRaw(text_, kInt32)});
    fetches_.push_back(DecodeCSV(batch, {Tensor::Scalar(1.0f), Tensor::Scalar<std::string>("a")}));
  }
};

}  // namespace
}  // namespace carillon

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carillon;
  static Parsers* const parsers = new Parsers;
  parsers->Run(ViewOf(data, size));
  return 0;
}
