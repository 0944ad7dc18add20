"""Neural networks: convolutions, pools, activations, normalisations, losses."""

import numpy as np

from harness.notation import *

BOTH_FORMATS = ["NHWC", "NCHW"]


def in_format(data_format, n, h, w, channels):
    return (n, h, w, channels) if data_format == "NHWC" else (n, channels, h, w)


def four(data_format, h, w):
    """Strides, dilations or a window over height and width, for all four dimensions."""
    return [1, h, w, 1] if data_format == "NHWC" else [1, 1, h, w]


def explicit(c, most):
    """explicit_paddings, or none where the padding is another."""
    if c["padding"] != "EXPLICIT":
        return []
    pads = [c.int(0, most) for _ in range(4)]
    return [0, 0, *pads, 0, 0] if c["data_format"] == "NHWC" else [0, 0, 0, 0, *pads]


# Convolutions. TensorFlow's plain kernels on the CPU know NHWC alone and have no gradients of dilated ones; our unit tests hold the rest to
# our own plain kernels.


def image_shape(c):
    return in_format(c["data_format"], c.dim("n"), c.dim("h") + 4, c.dim("w") + 4, c.dim("in") + (0 if c.mode != "empty" else 1))


def filter_shape(c):
    depth = c.dim("in") + (0 if c.mode != "empty" else 1)
    return (c.pick(1, 2, 3), c.pick(1, 2, 3), depth, c.dim("out"))


def output_side(size, taps, stride, dilation, padding, before, after):
    reach = (taps - 1) * dilation + 1
    if padding == "SAME":
        return -(-size // stride)
    return (size + before + after - reach) // stride + 1


def conv_output_shape(c, image, filters, channels):
    f = c["data_format"]
    h, w = (1, 2) if f == "NHWC" else (2, 3)
    pads = c["explicit_paddings"] or [0] * 8
    sides = [output_side(image[i], taps, c["strides"][i], c["dilations"][i], c["padding"], pads[2 * i], pads[2 * i + 1]) for i, taps in zip((h, w), filters)]
    return in_format(f, image[0], *sides, channels)


CONV_ATTRS = dict(
    T=["float", "float", "double", "half", "bfloat16"], data_format="NHWC", padding=["SAME", "VALID", "EXPLICIT"],
    strides=lambda c: four(c["data_format"], *c.pick((1, 1), (1, 1), (2, 2), (2, 1))),
    dilations=lambda c: four(c["data_format"], *c.pick((1, 1), (1, 1), (2, 1), (2, 2))),
    explicit_paddings=lambda c: explicit(c, 2))
CONV_BAD = [
    dict(input=zeros("float", 1, 4, 4, 3), filter=zeros("float", 2, 2, 2, 5)),
    dict(input=zeros("float", 4, 4, 3), filter=zeros("float", 2, 2, 3, 5)),
    dict(input=zeros("float", 1, 4, 4, 3), filter=zeros("float", 2, 2, 3)),
    dict(input=zeros("float", 1, 4, 4, 3), filter=zeros("float", 2, 2, 3, 5), strides=[1, 1]),
    dict(input=zeros("float", 1, 4, 4, 3), filter=zeros("float", 2, 2, 3, 5), strides=[1, 0, 1, 1]),
    dict(input=zeros("float", 1, 4, 4, 3), filter=zeros("float", 2, 2, 3, 5), strides=[2, 1, 1, 1]),
    dict(input=zeros("float", 1, 4, 4, 3), filter=zeros("float", 2, 2, 3, 5), dilations=[1, 0, 1, 1]),
    dict(input=zeros("float", 1, 4, 4, 3), filter=zeros("float", 2, 2, 3, 5), padding="EXPLICIT", explicit_paddings=[0, 0, -1, 0, 0, 0, 0, 0]),
    dict(input=zeros("float", 1, 4, 4, 3), filter=zeros("float", 2, 2, 3, 5), padding="EXPLICIT", explicit_paddings=[1, 0, 0, 0, 0, 0, 0, 0]),
    dict(input=zeros("float", 1, 4, 4, 3), filter=zeros("float", 2, 2, 3, 5), padding="SAME", explicit_paddings=[0] * 8),
    dict(input=zeros("float", 1, 2, 2, 3), filter=zeros("float", 3, 3, 3, 5), padding="VALID", dilations=[1, 1, 1, 1])]

op("Conv2D", dict(input=t("T", image_shape), filter=t("T", filter_shape, special=False)), dict(CONV_ATTRS, T=["float", "float", "double", "half", "bfloat16", "int32"]),
   gradient=lambda inputs, attrs: attrs["T"] in ("float", "double") and attrs["dilations"] == [1, 1, 1, 1], count=24, rtol=1e-4, atol=1e-4, bad=CONV_BAD)

op("Conv2DBackpropInput",
   dict(input_sizes=lambda c: const("int32", image_shape(c)), filter=t("T", filter_shape),
        out_backprop=t("T", lambda c: conv_output_shape(c, image_shape(c), c.shape("filter")[:2], c.shape("filter")[3]))),
   dict(CONV_ATTRS, T=["float", "double", "int32"], dilations=[[1, 1, 1, 1]]), gradient=lambda inputs, attrs: ["filter", "out_backprop"] if attrs["T"] != "int32" else False,
   special=0, empty=0, rtol=1e-4, atol=1e-4,
   bad=[dict(input_sizes=const("int32", [1, 4, 4, 3]), filter=zeros("float", 2, 2, 3, 5), out_backprop=zeros("float", 1, 4, 4, 4)),
        dict(input_sizes=const("int32", [1, 4, 4]), filter=zeros("float", 2, 2, 3, 5), out_backprop=zeros("float", 1, 4, 4, 5)),
        dict(input_sizes=const("int32", [1, 4, -4, 3]), filter=zeros("float", 2, 2, 3, 5), out_backprop=zeros("float", 1, 4, 4, 5)),
        dict(input_sizes=const("int32", [2, 4, 4, 3]), filter=zeros("float", 2, 2, 3, 5), out_backprop=zeros("float", 1, 4, 4, 5))])

op("Conv2DBackpropFilter",
   dict(input=t("T", image_shape), filter_sizes=lambda c: const("int32", filter_shape(c)),
        out_backprop=t("T", lambda c: conv_output_shape(c, c.shape("input"), c["filter_sizes"][:2], c["filter_sizes"][3]))),
   dict(CONV_ATTRS, T=["float", "double"], dilations=[[1, 1, 1, 1]]), gradient=["input", "out_backprop"], special=0, empty=0, rtol=1e-4, atol=1e-4,
   bad=[dict(input=zeros("float", 1, 4, 4, 3), filter_sizes=const("int32", [2, 2, 3]), out_backprop=zeros("float", 1, 4, 4, 5)),
        dict(input=zeros("float", 1, 4, 4, 3), filter_sizes=const("int32", [2, -2, 3, 5]), out_backprop=zeros("float", 1, 4, 4, 5))])




@program(ops=["Conv2D"], count=4, rtol=1e-4, atol=1e-4)
def grouped_convolution(c, tf):
    groups = c.pick(2, 4)
    x, w = c.feed(c.array("float", (2, 5, 6, 4))), c.feed(c.array("float", (3, 3, 4 // groups, 8)))
    return [tf.nn.conv2d(x, w, 1, "SAME")]


# TensorFlow sums the 16-bit floats in their own type here, which is no example to follow.
DEPTHWISE_ATTRS = dict(CONV_ATTRS, T=["float", "double"], strides=lambda c: four("NHWC", *[c.pick(1, 2)] * 2),
                       dilations=[[1, 1, 1, 1]])


def depthwise_filter(c):
    return (c.pick(1, 2, 3), c.pick(1, 2, 3), c.dim("in") + (0 if c.mode != "empty" else 1), c.pick(1, 2))


def depthwise_output(c, image, filters):
    return conv_output_shape(c, image, filters[:2], filters[2] * filters[3])


op("DepthwiseConv2dNative", dict(input=t("T", image_shape), filter=t("T", depthwise_filter, special=False)), DEPTHWISE_ATTRS,
   gradient=lambda inputs, attrs: attrs["T"] in ("float", "double"), empty=0, rtol=1e-4, atol=1e-4,
   bad=[dict(input=zeros("float", 1, 4, 4, 3), filter=zeros("float", 2, 2, 2, 1)),
        dict(input=zeros("float", 1, 4, 4), filter=zeros("float", 2, 2, 3, 1)),
        dict(input=zeros("float", 1, 4, 4, 3), filter=zeros("float", 2, 2, 3, 1), strides=[1, 1])])
op("DepthwiseConv2dNativeBackpropInput",
   dict(input_sizes=lambda c: const("int32", image_shape(c)), filter=t("T", depthwise_filter),
        out_backprop=t("T", lambda c: depthwise_output(c, image_shape(c), c.shape("filter")))),
   DEPTHWISE_ATTRS, gradient=["filter", "out_backprop"], special=0, empty=0, rtol=1e-4, atol=1e-4)
op("DepthwiseConv2dNativeBackpropFilter",
   dict(input=t("T", image_shape), filter_sizes=lambda c: const("int32", depthwise_filter(c)),
        out_backprop=t("T", lambda c: depthwise_output(c, c.shape("input"), c["filter_sizes"]))),
   DEPTHWISE_ATTRS, gradient=["input", "out_backprop"], special=0, empty=0, rtol=1e-4, atol=1e-4)


# Pools.


def pool_image(c):
    """Never without channels: TensorFlow takes them for a side of the window."""
    return (c.dim("n"), c.dim("h") + 3, c.dim("w") + 3, c.dim("in") + 1)


def pool_output(c, image):
    sides = [output_side(image[i], c["ksize"][i], c["strides"][i], 1, c["padding"], 0, 0) for i in (1, 2)]
    return (image[0], *sides, image[3])


POOL_ATTRS = dict(ksize=[[1, 2, 2, 1], [1, 3, 2, 1], [1, 1, 3, 1]], strides=[[1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 2, 1], [1, 3, 3, 1]], padding=["SAME", "VALID"])
POOL_BAD = [
    dict(strides=[1, 0, 1, 1]), dict(ksize=[1, 0, 2, 1]), dict(ksize=[1, 2, 2]), dict(ksize=[2, 1, 1, 1], strides=[1, 1, 1, 1]),
    dict(ksize=[1, 2, 2, 1], strides=[2, 1, 1, 1])]


def bad_pools(name, *others):
    image = zeros("float", 1, 4, 4, 4)
    return [{name: image, **bad} for bad in POOL_BAD] + [{name: zeros("float", 4, 4, 3)}, {name: zeros("float", 1, 1, 4, 2), "padding": "VALID"}, *others]


op("MaxPool", dict(input=t("T", pool_image)), dict(POOL_ATTRS, T=ALL_FLOATS + INTS + SMALL_INTS), gradient=lambda i, a: a["T"] in ("float", "double"), count=20,
   bad=bad_pools("input", dict(input=zeros("float", 1, 4, 4, 4), ksize=[1, 2, 2, 2], strides=[1, 2, 2, 2]),
                 dict(input=zeros("float", 1, 4, 4, 4), ksize=[1, 1, 1, 3], strides=[1, 1, 1, 3]),
                 dict(input=zeros("float", 1, 4, 4, 4), padding="EXPLICIT", explicit_paddings=[0, 0, 2, 1, 0, 1, 0, 0])))


@program(ops=["MaxPool"], count=4)
def max_pool_with_explicit_padding(c, tf):
    x = c.feed(c.array("float", (2, 6, 7, 3), distinct))
    y = tf.raw_ops.MaxPool(input=x, ksize=[1, 3, 2, 1], strides=[1, c.pick(1, 2), 2, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 2, 1, 0, 0, 0])
    c.gradient([y], [x])
    return [y]


@program(ops=["MaxPool"], count=3)
def max_pool_over_channels(c, tf):
    x = c.feed(c.array("float", (2, 3, 2, 12)))
    window = c.pick(2, 3, 4)
    return [tf.raw_ops.MaxPool(input=x, ksize=[1, 1, 1, window], strides=[1, 1, 1, window], padding="SAME")]


op("MaxPoolV2", dict(input=t("T", pool_image), ksize=lambda c: const("int32", c.pick([1, 2, 2, 1], [1, 3, 2, 1])), strides=lambda c: const("int32", c.pick([1, 2, 2, 1], [1, 1, 1, 1]))),
   dict(T=["float", "double", "int32"], padding=["SAME", "VALID"]), gradient=lambda i, a: ["input"] if a["T"] in ("float", "double") else False,
   bad=[dict(input=zeros("float", 1, 4, 4, 3), ksize=const("int32", [1, 2, 2])),
        dict(input=zeros("float", 1, 4, 4, 3), ksize=const("int32", [1, 0, 2, 1]))])



def max_pooled(c):
    """The pool's real output: some of TensorFlow's gradients look for it in the input."""
    x = c["orig_input"]
    out = np.zeros(pool_output(c, x.shape), x.dtype)
    before = [0, 0]
    if c["padding"] == "SAME":
        before = [max(0, (out.shape[i] - 1) * c["strides"][i] + c["ksize"][i] - x.shape[i]) // 2 for i in (1, 2)]
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            y0, x0 = i * c["strides"][1] - before[0], j * c["strides"][2] - before[1]
            window = x[:, max(0, y0) : y0 + c["ksize"][1], max(0, x0) : x0 + c["ksize"][2]]
            out[:, i, j] = window.max(axis=(1, 2))
    return out


pooled = t("T", lambda c: pool_output(c, c.shape("orig_input")))
op("MaxPoolGrad", dict(orig_input=t("T", pool_image, distinct), orig_output=max_pooled, grad=pooled), dict(POOL_ATTRS, T=FLOATS + HALVES + ALL_INTS),
   gradient=lambda i, a: ["grad"] if a["T"] in ("float", "double") else False, count=16, special=0,
   bad=[dict(orig_input=zeros("float", 1, 4, 4, 3), orig_output=zeros("float", 1, 2, 2, 3), grad=zeros("float", 1, 2, 3, 3)),
        dict(orig_input=zeros("float", 1, 4, 4, 3), orig_output=zeros("float", 1, 2, 3, 3), grad=zeros("float", 1, 2, 2, 3))])
op("MaxPoolGradGrad", dict(orig_input=t("T", pool_image, distinct), orig_output=max_pooled, grad=t("T", like("orig_input"))), dict(POOL_ATTRS, T=FLOATS + HALVES + INTS),
   gradient=lambda i, a: ["grad"] if a["T"] in ("float", "double") else False, special=0,
   bad=[dict(orig_input=zeros("float", 1, 4, 4, 3), orig_output=zeros("float", 1, 2, 2, 3), grad=zeros("float", 1, 2, 2, 3))])


@generate("MaxPoolGradV2", gradient=False, special=0)
def max_pool_grad_v2(c):
    ksize, strides, padding = c.pick([1, 2, 2, 1], [1, 3, 2, 1]), c.pick([1, 2, 2, 1], [1, 1, 1, 1]), c.pick("SAME", "VALID")
    image = pool_image(c)
    sides = [output_side(image[i], ksize[i], strides[i], 1, padding, 0, 0) for i in (1, 2)]
    out = (image[0], *sides, image[3])
    return dict(orig_input=c.array("float", image, distinct), orig_output=c.array("float", out), grad=c.array("float", out),
                ksize=const("int32", ksize), strides=const("int32", strides)), dict(padding=padding, T="float")


op("MaxPoolWithArgmax", dict(input=t("T", pool_image)), dict(POOL_ATTRS, T=FLOATS + HALVES + ALL_INTS, Targmax=INDEX, include_batch_in_index=BOOLS),
   gradient=lambda i, a: a["T"] in ("float", "double"), gradient_outputs=[0], count=16, empty=0, bad=bad_pools("input"))


@generate("MaxPoolGradWithArgmax", gradient=["grad"], checks=(), special=0)
def max_pool_grad_with_argmax(c):
    n, channels, with_batch = c.dim("n"), c.dim("in") + 1, c.chance()
    image, out = (n, 4, 6, channels), (n, 2, 3, channels)
    argmax = c.rng.integers(0, max(1, 24 * channels), out)
    if with_batch:
        argmax = argmax + np.arange(n).reshape(n, 1, 1, 1) * 24 * channels
    return (dict(input=c.array("float", image), grad=c.array("float", out), argmax=const("int64", argmax)),
            dict(ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME", include_batch_in_index=with_batch, T="float", Targmax="int64"))


op("AvgPool", dict(value=t("T", pool_image)), dict(POOL_ATTRS, T=ALL_FLOATS), gradient=lambda i, a: a["T"] in ("float", "double"), bad=bad_pools("value"))
op("AvgPoolGrad", dict(orig_input_shape=lambda c: const("int32", pool_image(c)), grad=t("T", lambda c: pool_output(c, pool_image(c)))), dict(POOL_ATTRS, T=ALL_FLOATS),
   gradient=lambda i, a: ["grad"] if a["T"] in ("float", "double") else False,
   bad=[dict(orig_input_shape=const("int32", [1, 4, 4]), grad=zeros("float", 1, 2, 2, 3)),
        dict(orig_input_shape=const("int32", [1, 4, -4, 3]), grad=zeros("float", 1, 2, 2, 3))])


# Biases and activations.


def biased(c):
    return c.any_shape(2, 4) if c["data_format"] == "NHWC" else c.any_shape(3, 4)


def channels_of(name):
    return lambda c: (c.shape(name)[-1 if c["data_format"] == "NHWC" else 1],)


op("BiasAdd", dict(value=t("T", biased), bias=t("T", channels_of("value"))), dict(T=NUMBERS, data_format=BOTH_FORMATS), gradient=lambda i, a: a["T"] in ("float", "double"),
   bad=[dict(value=zeros("float", 2, 3), bias=zeros("float", 2)), dict(value=zeros("float", 3), bias=zeros("float", 3)),
        dict(value=zeros("float", 2, 3), bias=zeros("float", 1, 3)), dict(value=zeros("float", 2, 3), bias=zeros("float", 3), data_format="NCHW")])
op("BiasAddV1", dict(value=t("T", rank(2, 4)), bias=t("T", lambda c: c.shape("value")[-1:])), dict(T=NUMBERS), gradient=lambda i, a: a["T"] in ("float", "double"),
   bad=[dict(value=zeros("float", 2, 3), bias=zeros("float", 2))])
op("BiasAddGrad", dict(out_backprop=t("T", biased)), dict(T=NUMBERS, data_format=BOTH_FORMATS), gradient=lambda i, a: a["T"] in ("float", "double"),
   rtol=3e-2, atol=3e-2, bad=[dict(out_backprop=zeros("float", 3)), dict(out_backprop=zeros("float", 2, 3), data_format="NCHW")])

IS_PRECISE = lambda inputs, attrs: attrs["T"] in ("float", "double")
for name, types in [("Relu", NUMBERS), ("Relu6", NUMBERS), ("Elu", ALL_FLOATS), ("Selu", ALL_FLOATS), ("Softplus", ALL_FLOATS), ("Softsign", ALL_FLOATS)]:
    op(name, dict(features=t("T")), dict(T=types), gradient=IS_PRECISE)
op("LeakyRelu", dict(features=t("T")), dict(T=ALL_FLOATS, alpha=[0.2, 0.0, 1.5]), gradient=IS_PRECISE)

DIFFERENT = [dict(gradients=zeros("float", 2, 3), features=zeros("float", 3, 2))]
for name, types in [("ReluGrad", NUMBERS), ("Relu6Grad", NUMBERS), ("SoftplusGrad", ALL_FLOATS)]:
    op(name, dict(gradients=t("T"), features=t("T", like("gradients"))), dict(T=types), gradient=IS_PRECISE, bad=DIFFERENT)
op("SoftsignGrad", dict(gradients=t("T"), features=t("T", like("gradients"))), dict(T=ALL_FLOATS), bad=DIFFERENT)
op("LeakyReluGrad", dict(gradients=t("T"), features=t("T", like("gradients"))), dict(T=ALL_FLOATS, alpha=[0.2, 0.0, 1.5]), gradient=IS_PRECISE, bad=DIFFERENT)
op(["EluGrad", "SeluGrad"], dict(gradients=t("T"), outputs=t("T", like("gradients"))), dict(T=ALL_FLOATS), gradient=IS_PRECISE,
   bad=[dict(gradients=zeros("float", 2, 3), outputs=zeros("float", 3, 2))])


# Softmax and losses.

op(["Softmax", "LogSoftmax"], dict(logits=t("T", rank(1, 4))), dict(T=ALL_FLOATS), gradient=IS_PRECISE, bad=[dict(logits=zeros("float"))])
op("SoftmaxCrossEntropyWithLogits", dict(features=t("T", lambda c: (2 if c.dim("n") == 1 else c.dim("n"), 2 if c.dim("k") == 1 else c.dim("k"))), labels=t("T", like("features"), between(0, 1))), dict(T=ALL_FLOATS), gradient=IS_PRECISE, gradient_outputs=[0],
   bad=[dict(features=zeros("float", 2, 3), labels=zeros("float", 4)), dict(features=zeros("float", 3), labels=zeros("float", 3)),
        dict(features=zeros("float", 2, 3, 2), labels=zeros("float", 2, 3, 2))])


@program(ops=["SoftmaxCrossEntropyWithLogits"], count=4)
def broadcast_cross_entropy(c, tf):
    shapes = c.pick(((4, 3), (1, 3)), ((1, 3), (4, 3)), ((4, 3), (3,)), ((4, 3), ()))
    return list(tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=c.feed(c.array("float", shapes[0])), labels=c.feed(c.array("float", shapes[1]))))


@program(ops=["SoftmaxCrossEntropyWithLogits"], count=2, rtol=1e-4, atol=1e-4)
def second_derivative_of_cross_entropy(c, tf):
    x, y = c.feed(c.array("float", (4, 3))), c.feed(c.array("float", (4, 3), between(0, 1)))
    loss, backprop = tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=x, labels=y)
    c.gradient([loss, backprop], [x])
    return [loss, backprop]


op("SparseSoftmaxCrossEntropyWithLogits", dict(features=t("T", lambda c: (c.dim("n"), c.dim("k") + 1)), labels=t("Tlabels", "n", lambda rng, dtype, shape: np.zeros(shape))),
   dict(T=ALL_FLOATS, Tlabels=INDEX), gradient=IS_PRECISE, gradient_outputs=[0],
   bad=[dict(features=zeros("float", 2, 3), labels=const("int64", [0, 3])), dict(features=zeros("float", 2, 3), labels=const("int64", [0, -1])),
        dict(features=zeros("float", 2, 3), labels=const("int64", [0])), dict(features=zeros("float", 2, 3, 1), labels=const("int64", [0, 0]))])


@program(ops=["SparseSoftmaxCrossEntropyWithLogits"], count=4, rtol=1e-4)
def sparse_cross_entropy(c, tf):
    x, y = c.feed(c.array("float", (7, 5))), c.feed(const(c.pick("int32", "int64"), c.rng.integers(0, 5, 7)))
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x)
    c.gradient([loss], [x])
    return [loss]


op("L2Loss", dict(t=t("T")), dict(T=ALL_FLOATS), gradient=IS_PRECISE, rtol=1e-2, atol=1e-2)


# Normalisation.

op("LRN", dict(input=t("T", "n h w c")), dict(T=["float", "half"], depth_radius=[5, 1, 0], bias=[1.0, 2.0], alpha=[1.0, 0.1], beta=[0.5, 0.75]),
   gradient=lambda i, a: a["T"] == "float", special=0, rtol=1e-3, atol=1e-3, bad=[dict(input=zeros("float", 2, 2, 4)), dict(input=zeros("float", 1, 2, 2, 4), depth_radius=-1)])
op("LRNGrad", dict(input_grads=t("T", "n h w c"), input_image=t("T", "n h w c"), output_image=t("T", "n h w c")),
   dict(T=["float"], depth_radius=[5, 1, 0], bias=[1.0, 2.0], alpha=[1.0, 0.1], beta=[0.5, 0.75]), special=0, rtol=1e-3, atol=1e-3,
   bad=[dict(input_grads=zeros("float", 1, 2, 2, 4), input_image=zeros("float", 1, 2, 2, 4), output_image=zeros("float", 1, 2, 3, 4))])


def normed(c):
    n, h, w, d, channels = c.dim("n") + 1, c.dim("h"), c.dim("w"), c.dim("d"), c.dim("c")
    return {"NHWC": (n, h, w, channels), "NCHW": (n, channels, h, w), "NDHWC": (n, d, h, w, channels), "NCDHW": (n, channels, d, h, w)}[c["data_format"]]


def per_channel(c):
    shape = normed(c)
    return (shape[1 if c["data_format"][1] == "C" else -1],)


def statistics(c):
    """Mean or variance: read in inference and for a running average, else empty."""
    used = not c["is_training"] or c["exponential_avg_factor"] != 1.0
    return per_channel(c) if used else (0,)


def batch_norm_inputs(u):
    return dict(x=t("T", normed), scale=t(u, per_channel, positive), offset=t(u, per_channel), mean=t(u, statistics), variance=t(u, statistics, positive))


NORM_ATTRS = dict(T=["float"], epsilon=[1e-3, 0.1], is_training=[True, False, True], exponential_avg_factor=[1.0, 0.5, 1.0], data_format=BOTH_FORMATS)
BAD_NORMS = [
    dict(x=zeros("float", 2, 3, 4), scale=zeros("float", 4), offset=zeros("float", 4), mean=zeros("float", 0), variance=zeros("float", 0)),
    dict(x=zeros("float", 2, 3, 4, 5), scale=zeros("float", 4), offset=zeros("float", 5), mean=zeros("float", 0), variance=zeros("float", 0)),
    dict(x=zeros("float", 2, 3, 4, 5), scale=zeros("float", 5), offset=zeros("float", 5), mean=zeros("float", 4), variance=zeros("float", 5), is_training=False)]
# Where the batch is empty or nothing is trained the reserved tensors hold whatever the kernel left there.
norm_options = dict(special=0, empty=0, rtol=1e-3, atol=1e-3, gradient_outputs=[0], ignore_outputs=(3, 4, 5), bad=BAD_NORMS)
by_inputs = lambda i, a: ["x", "scale", "offset"] if a["T"] == "float" else False
op("FusedBatchNorm", batch_norm_inputs("T"), NORM_ATTRS, gradient=by_inputs, **norm_options)
op("FusedBatchNormV2", batch_norm_inputs("float"), dict(NORM_ATTRS, T=["float", "float", "half", "bfloat16"]), gradient=by_inputs, **dict(norm_options, rtol=1e-2, atol=2e-2))
op("FusedBatchNormV3", batch_norm_inputs("float"), dict(NORM_ATTRS, T=["float", "float", "half", "bfloat16"], data_format=BOTH_FORMATS + ["NDHWC", "NCDHW"]), gradient=by_inputs,
   **dict(norm_options, rtol=1e-2, atol=2e-2))

GRAD_ATTRS = dict(T=["float"], epsilon=[1e-3, 0.1], is_training=[True, False], data_format=lambda c: c.pick(*BOTH_FORMATS) if c["is_training"] else "NHWC")


def batch_norm_grad_inputs(u, third=False):
    vector = t(u, per_channel, positive)
    inputs = dict(y_backprop=t("T", normed), x=t("T", normed), scale=t("float", per_channel), reserve_space_1=vector, reserve_space_2=vector)
    return dict(inputs, reserve_space_3=zeros("float", 0)) if third else inputs


grad_options = dict(special=0, empty=0, rtol=1e-3, atol=1e-3, ignore_outputs=(3, 4))
op("FusedBatchNormGrad", batch_norm_grad_inputs("T"), GRAD_ATTRS, **grad_options)
op("FusedBatchNormGradV2", batch_norm_grad_inputs("float"), dict(GRAD_ATTRS, T=["float", "half", "bfloat16"]), **dict(grad_options, rtol=2e-2, atol=5e-2))
op("FusedBatchNormGradV3", batch_norm_grad_inputs("float", True), dict(GRAD_ATTRS, T=["float", "half", "bfloat16"]), **dict(grad_options, rtol=2e-2, atol=5e-2))


@program(ops=["FusedBatchNormV3"], count=3, rtol=1e-3, atol=1e-3)
def second_derivative_of_batch_norm(c, tf):
    x, scale, offset = c.feed(c.array("float", (3, 2, 2, 4))), c.feed(c.array("float", (4,), positive)), c.feed(c.array("float", (4,)))
    y = tf.compat.v1.nn.fused_batch_norm(x, scale, offset, is_training=True)[0]
    first = tf.gradients([y * y], [x, scale])
    c.gradient(first, [x, scale])
    return first


@program(ops=["FusedBatchNormV3"], count=1)
def batch_norm_of_nothing(c, tf):
    x, v = c.feed(np.zeros((0, 3, 3, 2), np.float32)), c.feed(c.array("float", (2,), positive))
    return list(tf.raw_ops.FusedBatchNormV3(x=x, scale=v, offset=v, mean=tf.zeros([0]), variance=tf.zeros([0]))[:3])


@program(ops=["Conv2D", "BiasAdd", "Relu", "MaxPool", "FusedBatchNormV3"], count=4, rtol=2e-3, atol=2e-3)
def small_network(c, tf):
    """Enough channels for blocked layouts, and every chain of ops that is fused."""
    weight = lambda *shape: c.feed((c.array("float", shape) * 0.1).astype(np.float32))
    batch, side = c.pick(2, 5), c.pick(8, 12)
    x, labels = c.feed(c.array("float", (batch, side, side, 3))), c.feed(np.eye(10, dtype=np.float32)[c.rng.integers(0, 10, batch)])
    w1, b1, w2, s2, o2, w3, s3, o3, w4 = weights = [
        weight(5, 5, 3, 16), weight(16), weight(3, 3, 16, 32), weight(32), weight(32), weight(3, 3, 32, 32), weight(32), weight(32), weight(32, 10)]
    norm = lambda x, scale, offset: tf.compat.v1.nn.fused_batch_norm(x, scale, offset, is_training=True)[0]
    h1 = tf.nn.max_pool(tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w1, 1, "SAME"), b1)), 2, 2, "SAME")
    h2 = tf.nn.relu(norm(tf.nn.conv2d(h1, w2, 1, "SAME"), s2, o2))
    h3 = tf.nn.relu(norm(tf.nn.conv2d(h2, w3, 1, "SAME"), s3, o3) + h2)
    logits = tf.matmul(tf.reduce_mean(h3, [1, 2]), w4)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))
    c.gradient([loss], weights)
    return [loss]
