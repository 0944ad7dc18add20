// Pictures: [height, width, channels], or batches of them.
#pragma once

#include <string>

#include "carillon/graph.h"

namespace carillon {

// Files, as string scalars, to pictures. `channels`: 1 (grey), 3 (RGB), 4 (RGB and alpha; not for
// JPEG), 0: as many as the file has. Damaged files fail the step with InvalidArgument.
Output DecodePng(const Output& contents, int64_t channels = 0, DType dtype = kUint8);
Output DecodeJpeg(const Output& contents, int64_t channels = 0, int64_t ratio = 1);
Output DecodeBmp(const Output& contents, int64_t channels = 0);
// Whichever of the three it is. float: from 0 to 1.
Output DecodeImage(const Output& contents, int64_t channels = 0, DType dtype = kUint8);

Output EncodePng(const Output& image, int64_t compression = -1);
Output EncodeJpeg(const Output& image, int64_t quality = 95);

// Pictures [n, height, width, channels] in another `size`, two numbers: height and width.
struct ResizeOptions {
  bool align_corners = false;  // the corner pixels lie on each other
  bool half_pixel_centers = false;
};
Output ResizeBilinear(const Output& images, const Input& size, const ResizeOptions& options = {});
Output ResizeNearestNeighbor(const Output& images, const Input& size,
                             const ResizeOptions& options = {});

struct CropAndResizeOptions {
  bool nearest = false;  // instead of bilinear
  float extrapolation_value = 0;
};
// The part `boxes[i]` (y1, x1, y2, x2, from 0 to 1) of picture `box_ind[i]`, each brought to
// `crop_size`.
Output CropAndResize(const Output& images, const Input& boxes, const Input& box_ind,
                     const Input& crop_size, const CropAndResizeOptions& options = {});

Output AdjustContrast(const Output& images, const Input& contrast_factor);
// Turns the colours by `delta`, a part of the whole circle.
Output AdjustHue(const Output& images, const Input& delta);
Output AdjustSaturation(const Output& images, const Input& scale);
Output RGBToHSV(const Output& images);
Output HSVToRGB(const Output& images);

}  // namespace carillon
