"""Pictures: files, sizes, colours."""

import functools
import pathlib
import struct
import zlib

import numpy as np

from harness.notation import *

PICTURES = pathlib.Path(__file__).resolve().parents[1] / "pictures"
PIXELS = ["int8", "uint8", "int16", "uint16", "int32", "int64", "bfloat16", "half", "float", "double"]


@functools.cache
def picture(height, width, channels, dtype="uint8"):
    """A picture with soft and hard edges."""
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    values = (np.sin(y / 3 + c) + np.cos(x / 4)) * 60 + 120 + 50 * ((x // 5 + y // 4) % 2)
    top = np.iinfo(dtype).max
    return (np.clip(values, 0, 255) / 255 * top).astype(dtype)


def jpeg(name):
    return (PICTURES / f"{name}.jpg").read_bytes()


def bmp(height, width, channels, flip=False):
    row = (width * channels + 3) // 4 * 4
    rows = b"".join((bytes(range(width * channels)) + b"\0\0\0\0")[:row] for _ in range(height))
    return b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54 + len(rows), 0, 0, 54, 40, width, -height if flip else height, 1, 8 * channels, 0, len(rows), 0, 0, 0, 0) + rows


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def odd_png(bits, color_type, rows, extra=b"", size=(8, 2), interlace=0):
    header = struct.pack(">IIBBBBB", *size, bits, color_type, 0, 0, interlace)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def png(height, width, channels, dtype="uint8"):
    pixels = picture(height, width, channels, dtype)
    rows = b"".join(b"\0" + row.astype(row.dtype.newbyteorder(">")).tobytes() for row in pixels)
    return odd_png(8 * pixels.itemsize, [0, 4, 2, 6][channels - 1], rows, size=(width, height))


PALETTE = chunk(b"PLTE", bytes(range(60, 108)))
ODD_PNGS = [
    odd_png(1, 0, b"\0\xa5\0\x5a"), odd_png(2, 0, b"\0\x1b\xe4\0\xff\x00"), odd_png(4, 0, b"\0" + bytes(range(4)) + b"\0\xf0\xe1\xd2\xc3"),
    odd_png(4, 3, b"\0\x01\x23\x45\x67\0\x89\xab\xcd\xef", PALETTE), odd_png(8, 3, b"\0" + bytes(range(8)) + b"\0" + bytes(range(8, 16)), PALETTE + chunk(b"tRNS", b"\x10\x20\x30")),
    odd_png(8, 0, b"\0" + bytes(range(8)) + b"\0" + bytes(range(8)), chunk(b"tRNS", b"\0\3")),
]


def some_png(c):
    return c.pick(png(7, 9, 1), png(7, 9, 2), png(7, 9, 3), png(5, 6, 4), png(4, 5, 3, "uint16"), png(3, 4, 2, "uint16"), *ODD_PNGS)


op("DecodePng", dict(contents=lambda c: const("string", some_png(c))), dict(channels=[0, 1, 3, 4], dtype=["uint8", "uint16"]), count=60, empty=0, special=0, vague=False,
   bad=[dict(contents=const("string", x)) for x in [b"", b"\x89PNG", png(7, 9, 3)[:40], png(7, 9, 3)[:-20], png(7, 9, 3)[:60] + b"xxxx" + png(7, 9, 3)[64:], odd_png(8, 2, b"", size=(2**31 - 1, 2**31 - 1)),
                                                     odd_png(8, 0, b"\0", size=(100000, 100000)), bmp(2, 2, 3), b"hello"]]
   + [dict(contents=const("string", [png(7, 9, 3)])), dict(channels=2), dict(channels=5), dict(channels=-1)])

op("DecodeJpeg", dict(contents=lambda c: const("string", c.pick(jpeg("grey"), jpeg("color"), jpeg("progressive"), jpeg("full_chroma")))),
   dict(channels=[0, 1, 3], ratio=[1, 2, 4, 8], fancy_upscaling=[True, False], dct_method=["", "INTEGER_ACCURATE", "INTEGER_FAST"]), count=30, empty=0, special=0, vague=False,
   bad=[dict(contents=const("string", x)) for x in [b"\xff\xd8\xff", jpeg("color")[:100], jpeg("color")[:-60], bmp(2, 2, 3)]] + [dict(channels=4), dict(ratio=3), dict(dct_method="FAST"), dict(channels=2)])
op("DecodeJpeg", dict(contents=lambda c: const("string", jpeg("large")[:-100])), dict(try_recover_truncated=True, acceptable_fraction=0.3), count=1, empty=0, special=0, vague=False, compare="shapes")
op("DecodeImage", dict(contents=lambda c: const("string", c.pick(jpeg("color"), png(7, 9, 3), png(4, 5, 3, "uint16"), bmp(3, 5, 3)))),
   dict(channels=[0, 3], dtype=["uint8", "uint16", "float"], expand_animations=[True, False]), count=24, empty=0, special=0, vague=False,
   bad=[dict(contents=const("string", x)) for x in [b"", b"nothing known"]] + [dict(channels=2), dict(contents=const("string", jpeg("color")), channels=4)])
op("DecodeBmp", dict(contents=lambda c: const("string", c.pick(bmp(3, 5, 3), bmp(3, 5, 3, True), bmp(2, 3, 4), bmp(4, 5, 1)))), dict(channels=0), count=8, empty=0, special=0, vague=False,
   bad=[dict(contents=const("string", x)) for x in [b"BM", bmp(3, 5, 3)[:40], bmp(3, 5, 3)[:-20], png(7, 9, 3), bmp(3, 5, 2)]] + [dict(contents=const("string", bmp(3, 5, 3)), channels=1), dict(channels=2)])
op("EncodePng", dict(image=lambda c: picture(c.int(1, 9), c.int(1, 9), c.int(1, 4), c["T"])), dict(compression=[-1, 0, 9], T=["uint8", "uint16"]), count=12, empty=0, special=0,
   bad=[dict(image=zeros("uint8", 2, 2), T="uint8"), dict(image=zeros("uint8", 2, 2, 5), T="uint8"), dict(image=zeros("uint8", 0, 2, 3), T="uint8"), dict(compression=10), dict(compression=-2)])
op("EncodePng", dict(image=lambda c: np.stack([picture(4, 5, 3), picture(4, 5, 3)[::-1]])), dict(T=["uint8"]), count=1, empty=0, special=0)
op("EncodeJpeg", dict(image=lambda c: picture(c.int(1, 40), c.int(1, 40), c.pick(1, 3))),
   dict(quality=[95, 10, 100, 0], progressive=[False, True], optimize_size=[False, True], chroma_downsampling=[True, False], density_unit=["in", "cm"], x_density=[300, 72], xmp_metadata=["", "<x/>"]), count=16, empty=0, special=0,
   bad=[dict(image=zeros("uint8", 2, 2)), dict(image=zeros("uint8", 2, 2, 2)), dict(image=zeros("uint8", 2, 2, 1), format="rgb"), dict(image=zeros("uint8", 2, 2, 3), format="grayscale"), dict(quality=101), dict(quality=-1), dict(format="cmyk")])

SIZE = v("int32", lambda c: [c.int(1, 9), c.int(1, 9)])


def grid(c):
    return c.pick(dict(align_corners=True), dict(half_pixel_centers=True), dict())


def resize(name, types, gradient, **options):
    @generate(name, attrs=dict(T=types), gradient=gradient, atol=1e-5, count=2 * len(types), empty=1, special=2, bad=[
        dict(images=zeros("float", 2, 2, 3), T="float"), dict(size=const("int32", [0, 2])), dict(size=const("int32", [-1, 2])), dict(size=const("int32", [2])), dict(size=const("int32", 2)), dict(images=zeros("float", 1, 0, 2, 3), T="float")], **options)
    def make(c):
        shape = (0 if c.mode == "empty" else c.int(1, 3), c.int(1, 7), c.int(1, 7), c.int(1, 4))
        return dict(images=c.array(c["T"], shape), size=const("int32", [c.int(1, 9), c.int(1, 9)])), dict(T=c["T"], **grid(c))


resize("ResizeBilinear", PIXELS, lambda inputs, attrs: ["images"] if attrs["T"] in ("float", "double") else [])
resize("ResizeNearestNeighbor", PIXELS, lambda inputs, attrs: ["images"] if attrs["T"] in ("float", "double") else [])


@generate("ResizeBilinearGrad", attrs=dict(T=["float", "double", "half", "bfloat16"]), count=12, empty=0, special=0, atol=1e-5, bad=[dict(grads=zeros("float", 2, 3, 3))])
def resize_bilinear_grad(c):
    n, channels = c.int(1, 3), c.int(1, 4)
    return dict(grads=c.array("float", (n, c.int(1, 7), c.int(1, 7), channels)), original_image=c.array(c["T"], (n, c.int(2, 7), c.int(2, 7), channels))), dict(T=c["T"], **grid(c))


@generate("ResizeNearestNeighborGrad", attrs=dict(T=["uint8", "int8", "int32", "half", "float", "double", "bfloat16"]), count=14, empty=0, special=0, bad=[dict(size=const("int32", [0, 1])), dict(grads=zeros("float", 2, 3, 3), T="float")])
def resize_nearest_grad(c):
    return dict(grads=c.array(c["T"], (c.int(1, 3), c.int(1, 7), c.int(1, 7), c.int(1, 4))), size=const("int32", [c.int(1, 7), c.int(1, 7)])), dict(T=c["T"], **grid(c))


COLORS = t("T", lambda c: (*c.any_shape(2, 3), 3), between(0.0, 1.0), special=False)
op(["RGBToHSV", "HSVToRGB"], dict(images=COLORS), dict(T=["float", "double", "half", "bfloat16"]), special=0, bad=[dict(images=zeros("float", 2, 2), T="float"), dict(images=zeros("float"), T="float")])
op("AdjustHue", dict(images=COLORS, delta=t("float", "", between(-1, 1))), dict(T=["float"]), special=0, bad=[dict(images=zeros("float", 2, 3), T="float"), dict(images=zeros("float", 2, 2, 4), T="float"), dict(delta=const("float", [1]))])
op("AdjustSaturation", dict(images=COLORS, scale=t("float", "", between(0, 3))), dict(T=["float"]), special=0, bad=[dict(images=zeros("float", 2, 3), T="float"), dict(images=zeros("float", 2, 2, 4), T="float"), dict(scale=const("float", [1]))])
op("AdjustContrastv2", dict(images=t("T", rank(3, 4), unit, special=False), contrast_factor=t("float", "", between(0, 3))), dict(T=["float"]), special=0,
   bad=[dict(images=zeros("float", 2, 3), T="float"), dict(contrast_factor=const("float", [1]))])
op("CropAndResize", dict(image=t("T", "b h w c"), boxes=t("float", "n 4", between(-0.3, 1.3)), box_ind=v("int32", lambda c: c.rng.integers(0, c.dim("b"), c.dim("n")) if c.dim("b") else np.zeros(0)), crop_size=SIZE),
   dict(T=["uint8", "uint16", "int8", "int16", "int32", "int64", "half", "float", "double"], method=["bilinear", "nearest"], extrapolation_value=[0.0, -2.5]), count=18, empty=0, special=0, atol=1e-5,
   gradient=lambda inputs, attrs: ["image", "boxes"] if attrs["T"] in ("float", "double", "half") else ["boxes"],
   bad=[dict(image=zeros("float", 2, 4, 4, 1), boxes=zeros("float", 1, 4), box_ind=const("int32", [2]), T="float"), dict(image=zeros("float", 2, 4, 4, 1), boxes=zeros("float", 1, 4), box_ind=const("int32", [-1]), T="float"),
        dict(boxes=zeros("float", 1, 3)), dict(image=zeros("float", 2, 4, 4, 1), boxes=const("float", [[0, 0, np.inf, 1]]), box_ind=const("int32", [0]), T="float"), dict(crop_size=const("int32", [0, 1])), dict(crop_size=const("int32", [1, 1, 1])), dict(image=zeros("float", 4, 4, 1), T="float")])

CROPS = dict(grads=t("float", "n y x c"), boxes=t("float", "n 4", between(-0.3, 1.3)), box_ind=lambda c: const("int32", c.rng.integers(0, 2, c.dim("n"))))
ONE_CROP = dict(grads=zeros("float", 1, 2, 2, 3), boxes=zeros("float", 1, 4), box_ind=const("int32", [0]))
FOUR = const("int32", [2, 4, 4, 3])
op("CropAndResizeGradImage", dict(**CROPS, image_size=lambda c: const("int32", [2, c.int(1, 6), c.int(1, 6), c.dim("c")])),
   dict(T=["float", "half", "double"], method=["bilinear", "nearest"]), empty=0, special=0, rtol=1e-3,
   bad=[dict(ONE_CROP, image_size=FOUR, box_ind=const("int32", [2])), dict(ONE_CROP, image_size=FOUR, boxes=zeros("float", 2, 4)), dict(ONE_CROP, image_size=FOUR, boxes=zeros("float", 1, 3)),
        dict(ONE_CROP, image_size=const("int32", [2, 4, 4, 1])), dict(ONE_CROP, image_size=const("int32", [2, 4, 4])), dict(ONE_CROP, image_size=const("int32", [2, 0, 4, 3])),
        dict(ONE_CROP, image_size=FOUR, grads=zeros("float", 1, 2, 2)), dict(ONE_CROP, image_size=FOUR, grads=zeros("float", 1, 0, 2, 3))])
IMAGE = zeros("float", 2, 4, 4, 3)
op("CropAndResizeGradBoxes", dict(**CROPS, image=t("T", lambda c: (2, c.int(1, 6), c.int(1, 6), c.dim("c")))),
   dict(T=["float", "uint8", "int16", "int32", "int64", "half", "double", "uint16", "int8"]), count=18, empty=0, special=0, rtol=1e-4, atol=1e-4,
   bad=[dict(ONE_CROP, image=IMAGE, T="float", box_ind=const("int32", [-1])), dict(ONE_CROP, image=IMAGE, T="float", boxes=zeros("float", 2, 4)), dict(ONE_CROP, image=zeros("float", 2, 4, 4, 1), T="float"),
        dict(ONE_CROP, image=zeros("float", 4, 4, 3), T="float"), dict(ONE_CROP, image=zeros("float", 2, 0, 4, 3), T="float"), dict(ONE_CROP, image=IMAGE, T="float", grads=zeros("float", 1, 2, 2))])
