// Pictures: PNG, JPEG and BMP files.
#include "fuzz_target.h"
#include "kernel_runner.h"

namespace carillon {
namespace {

class Decoders : public KernelRunner {
 public:
  Decoders() {
    fetches_ = {{DecodePng(text_)},  {DecodePng(text_, 4, DType::kUint16)},
                {DecodeJpeg(text_)}, {DecodeJpeg(text_, 3, 4)},
                {DecodeBmp(text_)},  {DecodeImage(text_)}};
  }
};

}  // namespace
}  // namespace carillon

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carillon;
  static Decoders* const decoders = new Decoders;
  decoders->Run(ViewOf(data, size));
  return 0;
}
