#include "carillon/ops/image.h"

#include "carillon/op_builder.h"

namespace carillon {

Output DecodePng(const Output& contents, int64_t channels, DType dtype) {
  return OpBuilder("DecodePng").Arg(contents).Attr("channels", channels).Attr("dtype", dtype);
}

Output DecodeJpeg(const Output& contents, int64_t channels, int64_t ratio) {
  return OpBuilder("DecodeJpeg").Arg(contents).Attr("channels", channels).Attr("ratio", ratio);
}

Output DecodeBmp(const Output& contents, int64_t channels) {
  return OpBuilder("DecodeBmp").Arg(contents).Attr("channels", channels);
}

Output DecodeImage(const Output& contents, int64_t channels, DType dtype) {
  return OpBuilder("DecodeImage")
      .Arg(contents)
      .Attr("channels", channels)
      .Attr("dtype", dtype)
      .Attr("expand_animations", false);
}

Output EncodePng(const Output& image, int64_t compression) {
  return OpBuilder("EncodePng").Arg(image).Attr("compression", compression);
}

Output EncodeJpeg(const Output& image, int64_t quality) {
  return OpBuilder("EncodeJpeg").Arg(image).Attr("quality", quality);
}

Output ResizeBilinear(const Output& images, const Input& size, const ResizeOptions& options) {
  return OpBuilder("ResizeBilinear")
      .Arg(images)
      .Arg(size)
      .Attr("align_corners", options.align_corners)
      .Attr("half_pixel_centers", options.half_pixel_centers);
}

Output ResizeNearestNeighbor(const Output& images, const Input& size,
                             const ResizeOptions& options) {
  return OpBuilder("ResizeNearestNeighbor")
      .Arg(images)
      .Arg(size)
      .Attr("align_corners", options.align_corners)
      .Attr("half_pixel_centers", options.half_pixel_centers);
}

Output CropAndResize(const Output& images, const Input& boxes, const Input& box_ind,
                     const Input& crop_size, const CropAndResizeOptions& options) {
  return OpBuilder("CropAndResize")
      .Arg(images)
      .Arg(boxes)
      .Arg(box_ind)
      .Arg(crop_size)
      .Attr("method", options.nearest ? "nearest" : "bilinear")
      .Attr("extrapolation_value", options.extrapolation_value);
}

Output AdjustContrast(const Output& images, const Input& contrast_factor) {
  return OpBuilder("AdjustContrastv2").Arg(images).Arg(contrast_factor);
}

Output AdjustHue(const Output& images, const Input& delta) {
  return OpBuilder("AdjustHue").Arg(images).Arg(delta);
}

Output AdjustSaturation(const Output& images, const Input& scale) {
  return OpBuilder("AdjustSaturation").Arg(images).Arg(scale);
}

Output RGBToHSV(const Output& images) { return OpBuilder("RGBToHSV").Arg(images); }
Output HSVToRGB(const Output& images) { return OpBuilder("HSVToRGB").Arg(images); }

}  // namespace carillon
