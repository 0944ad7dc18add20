// Specs of the ops for pictures.
#include "graph/op_spec.h"
#include "graph/ops/families.h"
#include "graph/shape_context.h"

namespace carillon {
namespace {

// [height, width, channels]; `channels` of 0: as the file has.
Status DecodeShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 0).status());
  const int64_t channels = c.attr<int64_t>("channels");
  if (channels < 0) return InvalidArgument("channels cannot be ", channels);
  c.set_output(0, PartialShape{-1, -1, channels == 0 ? -1 : channels});
  return absl::OkStatus();
}

// Animations have a dimension more.
Status DecodeImageShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(DecodeShape(c));
  if (c.attr<bool>("expand_animations")) c.set_output(0, PartialShape());
  return absl::OkStatus();
}

Status EncodePngShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape image, c.WithRankAtLeast(0, 3));
  c.set_output(
      0, image.has_rank()
             ? PartialShape(std::span(image.dims()).first(static_cast<size_t>(image.rank() - 3)))
             : PartialShape());
  return absl::OkStatus();
}

Status EncodeJpegShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(0, 3).status());
  return ShapeScalar(c);
}

// `first` and `last` dimensions around the two of the size that input `i` gives.
Status SetSized(ShapeContext& c, int64_t first, int i, int64_t last) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape shape, c.WithRank(i, 1));
  if (!MergeDim(shape.dim(0), 2).ok()) {
    return InvalidArgument("a size should have 2 elements, not ", shape.dim(0));
  }
  PartialShape out{first, -1, -1, last};
  const std::optional<PartialShape> size = c.input_as_sizes(i);
  for (int d = 0; size.has_value() && size->rank() == 2 && d < 2; ++d)
    out.set_dim(d + 1, size->dim(d));
  c.set_output(0, out);
  return absl::OkStatus();
}

Status ResizeShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape images, c.WithRank(0, 4));
  return SetSized(c, images.dim(0), 1, images.dim(3));
}

Status ResizeBilinearGradShape(ShapeContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

Status AdjustShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRankAtLeast(0, 3).status());
  return ShapeOfInput(c);
}

Status ColorsShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(PartialShape images, c.WithRankAtLeast(0, 1));
  if (!images.has_rank()) return ShapeUnknown(c);
  CARILLON_ASSIGN_OR_RETURN(const int64_t colors, MergeDim(images.dim(images.rank() - 1), 3));
  images.set_dim(images.rank() - 1, colors);
  c.set_output(0, images);
  return absl::OkStatus();
}

Status CropAndResizeShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape images, c.WithRank(0, 4));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape boxes, c.WithRank(1, 2));
  CARILLON_ASSIGN_OR_RETURN(const PartialShape owners, c.WithRank(2, 1));
  CARILLON_ASSIGN_OR_RETURN(const int64_t count, MergeDim(boxes.dim(0), owners.dim(0)));
  if (!MergeDim(boxes.dim(1), 4).ok()) {
    return InvalidArgument("boxes of shape ", boxes.ToString(), " should have 4 numbers each");
  }
  return SetSized(c, count, 3, images.dim(3));
}

Status CropAndResizeGradImageShape(ShapeContext& c) {
  CARILLON_RETURN_IF_ERROR(c.WithRank(3, 1).status());
  const PartialShape images = c.input_as_sizes(3).value_or(PartialShape{-1, -1, -1, -1});
  if (!images.has_rank() || images.rank() != 4)
    return InvalidArgument("image_size should hold 4 numbers, the shape of the pictures");
  c.set_output(0, images);
  return absl::OkStatus();
}

Status CropAndResizeGradBoxesShape(ShapeContext& c) {
  CARILLON_ASSIGN_OR_RETURN(const PartialShape boxes, c.WithRank(2, 2));
  c.set_output(0, boxes);
  return absl::OkStatus();
}

}  // namespace

void AddImageOps(OpTable& ops) {
  ops.Add("DecodePng(contents: string) -> (image: dtype)",
          "channels: int = 0; dtype: {uint8, uint16} = uint8", DecodeShape);
  ops.Add("DecodeJpeg(contents: string) -> (image: uint8)",
          "channels: int = 0; ratio: int = 1; fancy_upscaling: bool = true; try_recover_truncated: "
          "bool = false; acceptable_fraction: float = 1.0; dct_method: string = ''",
          DecodeShape);
  ops.Add(
      "DecodeImage(contents: string) -> (image: dtype)",
      "channels: int = 0; dtype: {uint8, uint16, float} = uint8; expand_animations: bool = true",
      DecodeImageShape);
  ops.Add("DecodeBmp(contents: string) -> (image: uint8)", "channels: int = 0", DecodeShape);
  ops.Add("EncodePng(image: T) -> (contents: string)",
          "compression: int = -1; T: {uint8, uint16} = uint8", EncodePngShape);
  ops.Add("EncodeJpeg(image: uint8) -> (contents: string)",
          "format: {'', 'grayscale', 'rgb'} = ''; quality: int = 95; progressive: bool = false; "
          "optimize_size: bool = false; chroma_downsampling: bool = true; density_unit: {'in', "
          "'cm'} = 'in'; x_density: int = 300; y_density: int = 300; xmp_metadata: string = ''",
          EncodeJpegShape);
  ops.Add("ResizeBilinear(images: T, size: int32) -> (resized_images: float)",
          "T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double, bfloat16}; "
          "align_corners: bool = false; half_pixel_centers: bool = false",
          ResizeShape);
  ops.Add("ResizeBilinearGrad(grads: float, original_image: T) -> (output: T)",
          "T: {floating}; align_corners: bool = false; half_pixel_centers: bool = false",
          ResizeBilinearGradShape);
  ops.Add("ResizeNearestNeighbor(images: T, size: int32) -> (resized_images: T)",
          "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}; "
          "align_corners: bool = false; half_pixel_centers: bool = false",
          ResizeShape);
  ops.Add("ResizeNearestNeighborGrad(grads: T, size: int32) -> (output: T)",
          "T: {uint8, int8, int32, half, float, double, bfloat16}; align_corners: bool = false; "
          "half_pixel_centers: bool = false",
          ResizeShape);
  ops.Add("AdjustContrastv2(images: T, contrast_factor: float) -> (output: T)",
          "T: {half, float} = float", AdjustShape);
  ops.Add("AdjustHue(images: T, delta: float) -> (output: T)", "T: {half, float} = float",
          AdjustShape);
  ops.Add("AdjustSaturation(images: T, scale: float) -> (output: T)", "T: {half, float} = float",
          AdjustShape);
  ops.Add("RGBToHSV(images: T) -> (output: T)", "T: {floating} = float", ColorsShape);
  ops.Add("HSVToRGB(images: T) -> (output: T)", "T: {floating} = float", ColorsShape);
  ops.Add(
      "CropAndResize(image: T, boxes: float, box_ind: int32, crop_size: int32) -> (crops: float)",
      "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}; method: {'bilinear', "
      "'nearest'} = 'bilinear'; extrapolation_value: float = 0.0",
      CropAndResizeShape);
  ops.Add(
      "CropAndResizeGradImage(grads: float, boxes: float, box_ind: int32, image_size: int32) -> "
      "(output: T)",
      "T: {float, half, double}; method: {'bilinear', 'nearest'} = 'bilinear'",
      CropAndResizeGradImageShape);
  ops.Add(
      "CropAndResizeGradBoxes(grads: float, image: T, boxes: float, box_ind: int32) -> (output: "
      "float)",
      "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}; method: {'bilinear'} = "
      "'bilinear'",
      CropAndResizeGradBoxesShape);
}

}  // namespace carillon
