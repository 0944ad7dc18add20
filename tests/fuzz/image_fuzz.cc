// Pictures: PNG, JPEG, BMP and GIF files.
#include "fuzz_target.h"
#include "kernel_runner.h"

namespace carillon {
namespace {

class Decoders : public KernelRunner {
 public:
  Decoders() {
    fetches_ = {{DecodePng(text_)},
                {DecodePng(text_, 4, kUint16)},
                {DecodeJpeg(text_)},
                {DecodeJpeg(text_, 3, 4)},
                {DecodeBmp(text_)},
                {DecodeImage(text_)},
                {OpBuilder("DecodeGif").Arg(text_).Build().output(0)}};
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
