// Specs of the ops for pictures.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {

void AddImageOps(OpTable& ops) {
  ops.Add("DecodePng(contents: string) -> (image: dtype)",
          "channels: int = 0; dtype: {uint8, uint16} = uint8");
  ops.Add("DecodeJpeg(contents: string) -> (image: uint8)",
          "channels: int = 0; ratio: int = 1; fancy_upscaling: bool = true; try_recover_truncated: "
          "bool = false; acceptable_fraction: float = 1.0; dct_method: string = ''");
  ops.Add(
      "DecodeImage(contents: string) -> (image: dtype)",
      "channels: int = 0; dtype: {uint8, uint16, float} = uint8; expand_animations: bool = true");
  ops.Add("DecodeBmp(contents: string) -> (image: uint8)", "channels: int = 0");
  ops.Add("EncodePng(image: T) -> (contents: string)",
          "compression: int = -1; T: {uint8, uint16} = uint8");
  ops.Add("EncodeJpeg(image: uint8) -> (contents: string)",
          "format: {'', 'grayscale', 'rgb'} = ''; quality: int = 95; progressive: bool = false; "
          "optimize_size: bool = false; chroma_downsampling: bool = true; density_unit: {'in', "
          "'cm'} = 'in'; x_density: int = 300; y_density: int = 300; xmp_metadata: string = ''");
  ops.Add("ResizeBilinear(images: T, size: int32) -> (resized_images: float)",
          "T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double, bfloat16}; "
          "align_corners: bool = false; half_pixel_centers: bool = false");
  ops.Add("ResizeBilinearGrad(grads: float, original_image: T) -> (output: T)",
          "T: {floating}; align_corners: bool = false; half_pixel_centers: bool = false");
  ops.Add("ResizeNearestNeighbor(images: T, size: int32) -> (resized_images: T)",
          "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}; "
          "align_corners: bool = false; half_pixel_centers: bool = false");
  ops.Add("ResizeNearestNeighborGrad(grads: T, size: int32) -> (output: T)",
          "T: {uint8, int8, int32, half, float, double, bfloat16}; align_corners: bool = false; "
          "half_pixel_centers: bool = false");
  ops.Add("AdjustContrastv2(images: T, contrast_factor: float) -> (output: T)",
          "T: {half, float} = float");
  ops.Add("AdjustHue(images: T, delta: float) -> (output: T)", "T: {half, float} = float");
  ops.Add("AdjustSaturation(images: T, scale: float) -> (output: T)", "T: {half, float} = float");
  ops.Add("RGBToHSV(images: T) -> (output: T)", "T: {floating} = float");
  ops.Add("HSVToRGB(images: T) -> (output: T)", "T: {floating} = float");
  ops.Add(
      "CropAndResize(image: T, boxes: float, box_ind: int32, crop_size: int32) -> (crops: float)",
      "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}; method: {'bilinear', "
      "'nearest'} = 'bilinear'; extrapolation_value: float = 0.0");
}

}  // namespace carillon
