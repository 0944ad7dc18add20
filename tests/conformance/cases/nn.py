"""Neural networks: convolutions, pools, activations, normalisations, losses."""

from harness.notation import *


def image_shape(c):
    """Batch, height, width and channels in the order of data_format."""
    n, h, w, channels = c.dim("n"), c.dim("h") + 3, c.dim("w") + 3, c.dim("in")
    return (n, h, w, channels) if c["data_format"] == "NHWC" else (n, channels, h, w)


op("Conv2D",
   dict(input=t("T", image_shape), filter=t("T", lambda c: (c.pick(1, 2, 3), c.pick(1, 2, 3), c.dim("in"), c.dim("out")))),
   dict(T=["float", "double"], data_format=["NHWC"], padding=["SAME", "VALID"], strides=[[1, 1, 1, 1], [1, 2, 2, 1]]),
   gradient=True, rtol=1e-4, atol=1e-4,
   bad=[dict(input=zeros("float", 1, 4, 4, 3), filter=zeros("float", 2, 2, 2, 5)),
        dict(input=zeros("float", 4, 4, 3), filter=zeros("float", 2, 2, 3, 5)),
        dict(input=zeros("float", 1, 4, 4, 3), filter=zeros("float", 2, 2, 3, 5), strides=[1, 1]),
        dict(input=zeros("float", 1, 2, 2, 3), filter=zeros("float", 3, 3, 3, 5), padding="VALID")])
