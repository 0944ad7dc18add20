"""Arrays: values, shapes, slices, joins, gathers, scatters, pads, matrices, blocks."""

import numpy as np

from harness.notation import *

FLOAT_INPUT = zeros("float", 2, 3)


# Values.
op(["Identity", "StopGradient"], dict(input=t("T")), dict(T=ALL_TYPES), gradient=True)
op("PreventGradient", dict(input=t("T")), dict(T=ALL_TYPES))
op("Snapshot", dict(input=t("T")), dict(T=NUMBERS))
op("DeepCopy", dict(x=t("T")), dict(T=PLAIN))
op("IdentityN", dict(input=many((1, 3), t(ALL_TYPES))), dict(), gradient=True)
op("PlaceholderWithDefault", dict(input=t("dtype")), dict(dtype=ALL_TYPES, shape=lambda c: list(c.shape("input"))), gradient=True,
   bad=[dict(input=FLOAT_INPUT, dtype="float", shape=[2, 4])])
op("EnsureShape", dict(input=t("T")), dict(T=ALL_TYPES, shape=lambda c: [None if c.chance(0.4) else n for n in c.shape("input")]), gradient=True,
   bad=[dict(input=FLOAT_INPUT, shape=[2, 4]), dict(input=FLOAT_INPUT, shape=[2])])
op("CheckNumerics", dict(tensor=t("T", special=False)), dict(T=ALL_FLOATS, message="checked"), gradient=True,
   bad=[dict(tensor=const("float", [1, np.nan])), dict(tensor=const("float", [np.inf])), dict(tensor=const("float", [np.nan, -np.inf]))])
op("CheckNumericsV2", dict(tensor=t("T", special=False)), dict(T=ALL_FLOATS, message="checked"), gradient=True,
   bad=[dict(tensor=const("float", [1, np.nan])), dict(tensor=const("float", [-np.inf, np.inf, np.nan]))])


@program(ops=["Const"], count=len(ALL_TYPES))
def constants(c, tf):
    dtype = ALL_TYPES[c.int(0, len(ALL_TYPES) - 1)]
    return [tf.constant(c.array(dtype)), tf.constant(c.array(dtype, (0, 2))), tf.constant(c.array(dtype, (3,)))]


@program(ops=["Placeholder", "PlaceholderV2"], count=1)
def fed_placeholders(c, tf):
    return [tf.identity(c.feed(c.array("float", (2, 3))))]


# Shapes.
op(["Shape", "Size"], dict(input=t("T")), dict(T=ALL_TYPES, out_type=INDEX))
op("ShapeN", dict(input=many((1, 3), t("T"))), dict(T=ALL_TYPES, out_type=INDEX))
op("Rank", dict(input=t("T")), dict(T=ALL_TYPES))


def new_shape(c):
    """Another shape with the same number of elements, one size of which may be left open."""
    left = int(np.prod(c.shape("tensor"), dtype=np.int64))
    if left == 0:
        return [0, c.int(1, 3)] if c.chance() else [c.int(1, 3), -1]
    sizes = []
    while left > 1 or c.chance(0.3):
        if len(sizes) == 5:
            sizes.append(left)
            break
        divisors = [n for n in range(1, left + 1) if left % n == 0]
        sizes.append(c.pick(*divisors))
        left //= sizes[-1]
    if sizes and c.chance():
        sizes[c.int(0, len(sizes) - 1)] = -1
    return sizes


op("Reshape", dict(tensor=t("T"), shape=v("Tshape", new_shape)), dict(T=ALL_TYPES, Tshape=INDEX), gradient=["tensor"],
   bad=[dict(tensor=FLOAT_INPUT, shape=const("int32", [4, -1])), dict(tensor=FLOAT_INPUT, shape=const("int32", [-1, -1])),
        dict(tensor=FLOAT_INPUT, shape=const("int32", [-2, 3])), dict(tensor=FLOAT_INPUT, shape=const("int32", [7])),
        dict(tensor=FLOAT_INPUT, shape=const("int32", [[6]])), dict(tensor=FLOAT_INPUT, shape=const("int32", [0, -1])),
        dict(tensor=FLOAT_INPUT, shape=const("int32", [2**31 - 1] * 3))])
op("Reshape", dict(tensor=t("float", lambda c: c.pick((0, 3), (2, 0, 3), (0, 0), (0,), (4, 0))),
                   shape=v("int32", lambda c: c.pick([0, -1], [0, 2, -1], [-1], [3, -1], [0, 0, 2, -1]))), count=12, empty=0, special=0)
op("ExpandDims", dict(input=t("T"), dim=v("Tdim", lambda c: c.axis("input", 1) if c.chance() else [c.axis("input", 1)])),
   dict(T=ALL_TYPES, Tdim=INDEX), gradient=["input"],
   bad=[dict(input=FLOAT_INPUT, dim=const("int32", 3)), dict(input=FLOAT_INPUT, dim=const("int32", -4)),
        dict(input=FLOAT_INPUT, dim=const("int32", [0, 1]))])


def with_ones(c):
    return tuple(1 if c.chance() else n for n in c.any_shape(0, 4))


def some_ones(c):
    ones = [i for i, n in enumerate(c.shape("input")) if n == 1]
    rank = c.rank("input")
    return [i - rank if c.chance(0.3) else i for i in ones if c.chance(0.6)]


op("Squeeze", dict(input=t("T", with_ones)), dict(T=ALL_TYPES, squeeze_dims=some_ones), gradient=True,
   bad=[dict(input=FLOAT_INPUT, squeeze_dims=[0]), dict(input=FLOAT_INPUT, squeeze_dims=[2]), dict(input=FLOAT_INPUT, squeeze_dims=[-3])])
op(["Transpose", "ConjugateTranspose"],
   dict(x=t("T", lambda c: c.any_shape(0, 6) if c.chance() else with_ones(c)), perm=v("Tperm", lambda c: c.rng.permutation(c.rank("x")))),
   dict(T=ALL_TYPES, Tperm=INDEX), gradient=["x"], count=20,
   bad=[dict(x=FLOAT_INPUT, perm=const("int32", [1, 1])), dict(x=FLOAT_INPUT, perm=const("int32", [2, 0])),
        dict(x=FLOAT_INPUT, perm=const("int32", [0])), dict(x=FLOAT_INPUT, perm=const("int32", [[0, 1]]))])
op("Transpose", dict(x=t("T", lambda c: (c.int(20, 40), c.int(1, 3), c.int(20, 70))), perm=v("int32", lambda c: c.rng.permutation(3))),
   dict(T=["uint8", "half", "float", "double", "string"]), count=10, empty=0, special=0)
op("InvertPermutation", dict(x=v("T", lambda c: c.rng.permutation(c.int(0, 6)))), dict(T=INDEX), empty=0, special=0,
   bad=[dict(x=const("int32", [1, 1])), dict(x=const("int32", [2, 0])), dict(x=const("int32", [-1, 0])), dict(x=const("int32", [[0]]))])
op(["BroadcastArgs", "BroadcastGradientArgs"],
   dict(s0=v("T", lambda c: c.any_shape(0, 4)), s1=v("T", lambda c: c.broadcastable(tuple(c["s0"].tolist())))), dict(T=INDEX), special=0, empty=3,
   bad=[dict(s0=const("int32", [2]), s1=const("int32", [3])), dict(s0=const("int32", 2), s1=const("int32", [3]))])


# Joining and taking apart.
def join(c):
    """Parts that agree in all dimensions but one."""
    shape = c.any_shape(1, 4)
    axis = c.int(-len(shape), len(shape) - 1)
    parts = []
    for _ in range(c.int(2, 4)):
        part = list(shape)
        part[axis] = c.size()
        parts.append(c.array(c["T"], part))
    return parts, axis


BAD_JOINS = [([zeros("float", 2, 3), zeros("float", 3, 3)], 1), ([zeros("float", 2, 3), zeros("float", 2, 3)], 2),
             ([zeros("float"), zeros("float")], 0), ([zeros("float", 2), zeros("float", 2, 1)], 0)]


# TensorFlow's own gradient fails for an int64 axis.
@generate("ConcatV2", attrs=dict(T=ALL_TYPES, Tidx=INDEX), gradient=lambda inputs, attrs: attrs["Tidx"] == "int32" and ["values"],
          bad=[dict(values=values, axis=const("int32", axis)) for values, axis in BAD_JOINS])
def concat_v2(c):
    values, axis = join(c)
    return dict(values=values, axis=const(c["Tidx"], axis)), dict(T=c["T"], Tidx=c["Tidx"])


@generate("Concat", attrs=dict(T=ALL_TYPES), gradient=["values"],
          bad=[dict(values=values, concat_dim=const("int32", axis)) for values, axis in BAD_JOINS])
def concat(c):
    values, axis = join(c)
    return dict(values=values, concat_dim=const("int32", axis)), dict(T=c["T"])


@generate("ConcatOffset", attrs=dict(shape_type=INDEX), special=0,
          bad=[dict(concat_dim=const("int32", 1), shape=[const("int32", [2, 2]), const("int32", [3, 3])], shape_type="int32"),
               dict(concat_dim=const("int32", 2), shape=[const("int32", [2, 2]), const("int32", [2, 3])], shape_type="int32"),
               dict(concat_dim=const("int32", 0), shape=[const("int32", [2]), const("int32", [2, 3])], shape_type="int32")])
def concat_offset(c):
    dtype, values, axis = c["shape_type"], *join_shapes(c)
    return dict(concat_dim=const("int32", axis), shape=[const(dtype, value) for value in values]), dict(shape_type=dtype)


def join_shapes(c):
    shape = c.any_shape(1, 4)
    axis = c.int(-len(shape), len(shape) - 1)
    shapes = []
    for _ in range(c.int(2, 4)):
        shapes.append(list(shape))
        shapes[-1][axis] = c.size()
    return shapes, axis


@generate("Split", attrs=dict(T=ALL_TYPES), gradient=["value"],
          bad=[dict(split_dim=const("int32", 1), value=zeros("float", 2, 3), num_split=2, T="float"),
               dict(split_dim=const("int32", 2), value=zeros("float", 2, 3), num_split=2, T="float"),
               dict(split_dim=const("int32", [0]), value=zeros("float", 2, 3), num_split=2, T="float"),
               dict(split_dim=const("int32", 0), value=zeros("float"), num_split=1, T="float")])
def split(c):
    parts = c.int(1, 3)
    shape = list(c.any_shape(1, 4))
    axis = c.int(-len(shape), len(shape) - 1)
    shape[axis] *= parts
    return dict(split_dim=const("int32", axis), value=c.array(c["T"], shape)), dict(T=c["T"], num_split=parts)


# TensorFlow takes an unknown axis for the last one.
@generate("SplitV", attrs=dict(T=ALL_TYPES, Tlen=INDEX), gradient=["value"], vague=False,
          bad=[dict(value=zeros("float", 2, 3), size_splits=const("int64", [1, 1]), split_dim=const("int32", 1), num_split=2, T="float", Tlen="int64"),
               dict(value=zeros("float", 2, 3), size_splits=const("int64", [-1, -1]), split_dim=const("int32", 1), num_split=2, T="float", Tlen="int64"),
               dict(value=zeros("float", 2, 3), size_splits=const("int64", [-2, 5]), split_dim=const("int32", 1), num_split=2, T="float", Tlen="int64"),
               dict(value=zeros("float", 2, 3), size_splits=const("int64", [4, -1]), split_dim=const("int32", 1), num_split=2, T="float", Tlen="int64"),
               dict(value=zeros("float", 2, 3), size_splits=const("int64", [3]), split_dim=const("int32", 1), num_split=2, T="float", Tlen="int64"),
               dict(value=zeros("float", 2, 3), size_splits=const("int64", [1, 2]), split_dim=const("int32", 3), num_split=2, T="float", Tlen="int64")])
def split_v(c):
    sizes = [c.int(0, 4) for _ in range(c.int(1, 4))]
    shape = list(c.any_shape(1, 4))
    axis = c.int(-len(shape), len(shape) - 1)
    shape[axis] = sum(sizes)
    if len(sizes) > 1 and c.chance(0.4):
        sizes[c.int(0, len(sizes) - 1)] = -1
    inputs = dict(value=c.array(c["T"], shape), size_splits=const(c["Tlen"], sizes), split_dim=const("int32", axis))
    return inputs, dict(T=c["T"], Tlen=c["Tlen"], num_split=len(sizes))


@generate("Pack", attrs=dict(T=ALL_TYPES), gradient=True,
          bad=[dict(values=[zeros("float", 2), zeros("float", 3)], axis=0), dict(values=[zeros("float", 2), zeros("float", 2)], axis=2),
               dict(values=[zeros("float"), zeros("float", 1)], axis=0)])
def pack(c):
    shape = c.any_shape(0, 4)
    values = [c.array(c["T"], shape) for _ in range(c.int(1, 4))]
    return dict(values=values), dict(axis=c.int(-len(shape) - 1, len(shape)))


op("Unpack", dict(value=t("T", lambda c: c.any_shape(1, 4))),
   dict(T=ALL_TYPES, axis=lambda c: c.axis("value"), num=lambda c: c.shape("value")[c["axis"]]), gradient=True, empty=0,
   bad=[dict(value=FLOAT_INPUT, axis=0, num=3), dict(value=FLOAT_INPUT, axis=2, num=3), dict(value=zeros("float"), axis=0, num=1)])


@generate("DynamicPartition", attrs=dict(T=ALL_TYPES), gradient=["data"],
          bad=[dict(data=zeros("float", 2), partitions=const("int32", [0, 3]), num_partitions=3, T="float"),
               dict(data=zeros("float", 2), partitions=const("int32", [0, -1]), num_partitions=3, T="float"),
               dict(data=zeros("float", 2), partitions=const("int32", [0, 1, 1]), num_partitions=3, T="float")])
def dynamic_partition(c):
    shape = c.any_shape(0, 3)
    partitions = c.rng.integers(0, 3, shape)
    return dict(data=c.array(c["T"], shape + c.any_shape(0, 2)), partitions=const("int32", partitions)), dict(num_partitions=3, T=c["T"])


BAD_STITCHES = [dict(indices=[const("int32", [0, -1])], data=[zeros("float", 2)]),
                dict(indices=[const("int32", [0, 1, 2])], data=[zeros("float", 2)]),
                dict(indices=[const("int32", [0]), const("int32", [1])], data=[zeros("float", 1), zeros("float", 1, 1)])]


@generate(["DynamicStitch", "ParallelDynamicStitch"], attrs=dict(T=ALL_TYPES), gradient=["data"], bad=BAD_STITCHES)
def dynamic_stitch(c):
    slice_shape = c.any_shape(0, 2)
    shapes = [c.any_shape(0, 2) for _ in range(c.int(1, 3))]
    places = c.rng.permutation(sum(int(np.prod(shape)) for shape in shapes))
    indices, data = [], []
    for shape in shapes:
        n = int(np.prod(shape))
        indices.append(const("int32", places[:n].reshape(shape)))
        places = places[n:]
        data.append(c.array(c["T"], shape + slice_shape))
    return dict(indices=indices, data=data), {}


op("DynamicStitch", dict(indices=[const("int32", [0, 1, 0]), const("int32", 1)], data=[const("float", [1, 2, 3]), const("float", 4)]), count=1, empty=0, special=0)


# Parts.
def begin_of(c):
    return [c.int(0, n) for n in c.shape("input")]


def size_of(c):
    return [-1 if c.chance(0.3) else c.int(0, n - b) for n, b in zip(c.shape("input"), c["begin"].tolist())]


op("Slice", dict(input=t("T"), begin=v("Index", begin_of), size=v("Index", size_of)), dict(T=ALL_TYPES, Index=INDEX), gradient=["input"],
   bad=[dict(input=FLOAT_INPUT, begin=const("int32", begin), size=const("int32", size))
        for begin, size in [([3, 1], [-1, 1]), ([0, 1], [-1, 3]), ([0, -1], [1, 1]), ([0, 1], [-2, 1]), ([0], [1]), ([[0, 0]], [[1, 1]])]])


def few(rng, dtype, shape):
    """Few values, so that some come up often."""
    return (one_of(b"", b"a", b"b") if dtype == "string" else one_of(0, 1, 2))(rng, dtype, shape)


def python_slice(c, shape, index_type, assigning=False):
    """begin, end, strides and masks for a tensor of that shape, every feature of Python's slices included."""
    begin, end, strides = [], [], []
    masks = dict(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)
    dims = list(shape)
    ellipsis_at = c.int(0, len(dims)) if c.chance(0.3) else None
    i = 0
    while i < len(dims) and (i < 6):
        bit = 1 << len(begin)
        if i == ellipsis_at:
            skipped = c.int(0, len(dims) - i)
            masks["ellipsis_mask"] |= bit
            begin.append(c.int(-2, 2)), end.append(c.int(-2, 2)), strides.append(1)
            i += skipped
            ellipsis_at = None
            # What follows an ellipsis counts from the end: the rest has to be named.
            continue
        if not assigning and c.chance(0.12):
            masks["new_axis_mask"] |= bit
            begin.append(0), end.append(0), strides.append(1)
            continue
        n = dims[i]
        if n > 0 and c.chance(0.25):
            masks["shrink_axis_mask"] |= bit
            begin.append(c.int(-n, n - 1)), end.append(c.int(-3, 3)), strides.append(1)
        else:
            stride = c.pick(1, 1, 1, 2, 3, -1, -2, 100, -100)
            begin.append(c.int(-n - 2, n + 2)), end.append(c.int(-n - 2, n + 2)), strides.append(stride)
            if c.chance(0.3):
                masks["begin_mask"] |= bit
            if c.chance(0.3):
                masks["end_mask"] |= bit
        i += 1
        if masks["ellipsis_mask"] == 0 and c.chance(0.15):
            break
    return [const(index_type, x) for x in (begin, end, strides)], masks


# An index into x, of shape [2,3]: begin, end, strides, attributes.
BAD_SLICES = [([0], [1], [0], {}), ([5], [6], [1], dict(shrink_axis_mask=1)), ([-3], [0], [1], dict(shrink_axis_mask=1)),
              ([1], [0], [-1], dict(shrink_axis_mask=1)), ([0, 0, 0], [1, 1, 1], [1, 1, 1], {}), ([0, 0], [1, 1], [1, 1], dict(ellipsis_mask=3)),
              ([0, 0], [1], [1, 1], {}), ([[0]], [[1]], [[1]], {})]


def bad_slices(**more):
    return [dict(begin=const("int32", b), end=const("int32", e), strides=const("int32", s),
                 **{**dict(begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0), **masks, **more}) for b, e, s, masks in BAD_SLICES]


@generate("StridedSlice", attrs=dict(T=ALL_TYPES, Index=INDEX + ["int16"]), count=60, empty=8,
          gradient=lambda inputs, attrs: attrs["Index"] != "int16" and ["input"], bad=bad_slices(input=FLOAT_INPUT, T="float", Index="int32"))
def strided_slice(c):
    x = c.array(c["T"], c.any_shape(0, 5))
    (begin, end, strides), masks = python_slice(c, x.shape, c["Index"])
    return dict(input=x, begin=begin, end=end, strides=strides), dict(T=c["T"], Index=c["Index"], **masks)


def sliced(x, begin, end, strides, masks):
    """What numpy makes of it, for the shape."""
    index = []
    for i, (b, e, s) in enumerate(zip(begin.tolist(), end.tolist(), strides.tolist())):
        bit = 1 << i
        if masks["ellipsis_mask"] & bit:
            index.append(Ellipsis)
        elif masks["new_axis_mask"] & bit:
            index.append(None)
        elif masks["shrink_axis_mask"] & bit:
            index.append(b)
        else:
            index.append(slice(None if masks["begin_mask"] & bit else b, None if masks["end_mask"] & bit else e, s))
    return np.asarray(x[tuple(index)])


@generate("StridedSliceGrad", attrs=dict(T=ALL_TYPES, Index=INDEX), count=30, gradient=["dy"],
          bad=bad_slices(shape=const("int32", [2, 3]), dy=zeros("float", 1, 1), T="float", Index="int32")
          + [dict(shape=const("int32", [4]), begin=const("int32", [0]), end=const("int32", [2]), strides=const("int32", [1]), dy=zeros("float", 1), T="float", Index="int32",
                  begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)])
def strided_slice_grad(c):
    shape = c.any_shape(0, 5)
    (begin, end, strides), masks = python_slice(c, shape, c["Index"])
    dy = c.array(c["T"], sliced(np.zeros(shape), begin, end, strides, masks).shape)
    return dict(shape=const(c["Index"], shape), begin=begin, end=end, strides=strides, dy=dy), dict(T=c["T"], Index=c["Index"], **masks)


def assignment(c, kind):
    x = c.array(c["T"], c.any_shape(1, 4))
    (begin, end, strides), masks = python_slice(c, x.shape, c["Index"], assigning=True)
    shape = sliced(x, begin, end, strides, masks).shape
    if c.chance(0.3) and 0 not in shape:
        shape = tuple(1 if c.chance() else n for n in shape)
    return kind(x), dict(begin=begin, end=end, strides=strides, value=c.array(c["T"], shape)), dict(T=c["T"], Index=c["Index"], **masks)


@generate("TensorStridedSliceUpdate", attrs=dict(T=ALL_TYPES, Index=INDEX), count=30, gradient=["input", "value"],
          bad=bad_slices(input=FLOAT_INPUT, value=zeros("float"), T="float", Index="int32"))
def tensor_strided_slice_update(c):
    x, inputs, attrs = assignment(c, lambda x: x)
    return dict(input=x, **inputs), attrs


class Given:
    """A variable with a given value."""

    def __init__(self, value):
        self.value = value

    def resolve(self, c):
        return self.value


@generate("StridedSliceAssign", attrs=dict(T=ALL_TYPES, Index=INDEX), count=20, special=0)
def strided_slice_assign(c):
    x, inputs, attrs = assignment(c, lambda x: ref(Given(x)))
    return dict(ref=x, **inputs), attrs


@generate("ResourceStridedSliceAssign", attrs=dict(T=ALL_TYPES, Index=INDEX), count=20, special=0)
def resource_strided_slice_assign(c):
    x, inputs, attrs = assignment(c, lambda x: resource(Given(x)))
    return dict(ref=x, **inputs), attrs


# Gathers and scatters.
def indices_into(c, dtype, n, shape):
    return const(dtype, c.rng.integers(0, n, shape)) if n > 0 else const(dtype, np.zeros((0,) + tuple(shape[1:]), int))


@generate("Gather", attrs=dict(Tparams=ALL_TYPES, Tindices=INDEX), gradient=["params"],
          bad=[dict(params=FLOAT_INPUT, indices=const("int32", [0, 2]), Tparams="float", Tindices="int32"),
               dict(params=FLOAT_INPUT, indices=const("int32", -1), Tparams="float", Tindices="int32"),
               dict(params=zeros("float"), indices=const("int32", 0), Tparams="float", Tindices="int32")])
def gather(c):
    params = c.array(c["Tparams"], c.any_shape(1, 4))
    return dict(params=params, indices=indices_into(c, c["Tindices"], params.shape[0], c.any_shape(0, 3))), {}


BAD_GATHERS = [dict(indices=const("int32", [[0, 5]])), dict(indices=const("int32", [-1])), dict(axis=const("int32", 2)), dict(axis=const("int32", -3)),
               dict(axis=const("int32", [1])), dict(params=zeros("float"), axis=const("int32", 0)), dict(batch_dims=1),
               dict(indices=const("int32", [[0], [1]]), axis=const("int32", 1), batch_dims=3),
               dict(indices=const("int32", [[0], [1], [1]]), axis=const("int32", 1), batch_dims=1),
               dict(params=zeros("float", 0, 2), indices=const("int32", [0]))]


@generate("GatherV2", attrs=dict(Tparams=ALL_TYPES, Tindices=INDEX + ["int16"], Taxis=INDEX), count=40, empty=6,
          gradient=lambda inputs, attrs: inputs["indices"].dtype != np.int16 and inputs["params"].size > 0 and ["params"],
          bad=[{**dict(params=FLOAT_INPUT, indices=const("int32", [0]), axis=const("int32", 0), batch_dims=0, Tparams="float", Tindices="int32", Taxis="int32"), **bad}
               for bad in BAD_GATHERS])
def gather_v2(c):
    params = c.array(c["Tparams"], c.any_shape(1, 4))
    axis = c.int(0, params.ndim - 1)
    batch = c.int(0, axis) if c.chance() else 0
    indices = indices_into(c, c["Tindices"], params.shape[axis], params.shape[:batch] + c.any_shape(0, 2))
    if indices.shape[:batch] != params.shape[:batch]:
        batch = 0
    given_axis = axis - params.ndim if c.chance(0.3) else axis
    return dict(params=params, indices=indices, axis=const(c["Taxis"], given_axis)), dict(batch_dims=batch)


def nd_indices(c, dtype, shape, depth, rows):
    """Rows of indices into the first `depth` dimensions of `shape`."""
    columns = [c.rng.integers(0, max(n, 1), rows) for n in shape[:depth]]
    return const(dtype, np.stack(columns, -1) if columns else np.zeros(tuple(rows) + (0,), int))


@generate("GatherNd", attrs=dict(Tparams=ALL_TYPES, Tindices=INDEX + ["int16"], bad_indices_policy=["", "ERROR", "DEFAULT"]), count=24,
          gradient=lambda inputs, attrs: inputs["indices"].dtype != np.int16 and inputs["indices"].shape[-1] > 0 and ["params"],
          bad=[dict(params=FLOAT_INPUT, indices=const("int32", [[0, 3]])), dict(params=FLOAT_INPUT, indices=const("int32", [[-1]])),
               dict(params=FLOAT_INPUT, indices=const("int32", [[0, 0, 0]])), dict(params=FLOAT_INPUT, indices=const("int32", 0)),
               dict(params=zeros("float", 0, 2), indices=const("int32", [[0]]))])
def gather_nd(c):
    params = c.array(c["Tparams"], c.any_shape(1, 4))
    rows = (0,) if 0 in params.shape else c.any_shape(0, 3)
    return dict(params=params, indices=nd_indices(c, c["Tindices"], params.shape, c.int(0, params.ndim), rows)), dict(bad_indices_policy=c["bad_indices_policy"])


op("GatherNd", dict(params=t("Tparams", (2, 3)), indices=v("int32", lambda c: c.rng.integers(-2, 4, (5, c.int(1, 2))))),
   dict(Tparams=["float", "int64", "string", "uint8"], bad_indices_policy="IGNORE"), count=4, empty=0, special=0)

BAD_SCATTERS = [(const("int32", [[3]]), zeros("float", 1), [3]), (const("int32", [[-1]]), zeros("float", 1), [3]), (const("int32", [[1]]), zeros("float", 2), [3]),
                (const("int32", [[1]]), zeros("float", 1, 2), [3]), (const("int32", [[1, 1]]), zeros("float", 1), [3]), (const("int32", [[0]]), zeros("float", 1), [0]),
                (const("int32", 1), zeros("float", 1), [3])]


def scatter_parts(c, dtype, index_type):
    shape = c.any_shape(1, 4)
    depth = c.int(1, len(shape))
    rows = (0,) if 0 in shape else c.any_shape(1, 2)
    return shape, nd_indices(c, index_type, shape, depth, rows), c.array(dtype, tuple(rows) + shape[depth:], special=False)


@generate("ScatterNd", attrs=dict(T=ALL_TYPES, Tindices=INDEX), gradient=["updates"],
          bad=[dict(indices=i, updates=u, shape=const("int32", s), T="float", Tindices="int32") for i, u, s in BAD_SCATTERS + [(const("int32", [[1]]), zeros("float", 1), [-3])]])
def scatter_nd(c):
    shape, indices, updates = scatter_parts(c, c["T"], c["Tindices"])
    return dict(indices=indices, updates=updates, shape=const(c["Tindices"], shape)), {}


def tensor_scatter(name, types, index_types, unique):
    @generate(name, attrs=dict(T=types, Tindices=index_types), gradient=lambda inputs, attrs: (not unique or len(inputs["indices"]) < 2) and ["tensor", "updates"],
              bad=[dict(tensor=zeros("float", *s), indices=i, updates=u, T="float", Tindices="int32") for i, u, s in BAD_SCATTERS])
    def make(c):
        shape, indices, updates = scatter_parts(c, c["T"], c["Tindices"])
        return dict(tensor=c.array(c["T"], shape), indices=indices, updates=updates), {}


tensor_scatter("TensorScatterUpdate", ALL_TYPES, INDEX, True)
tensor_scatter("TensorScatterAdd", NUMBERS, INDEX, False)
tensor_scatter("TensorScatterSub", NUMBERS, INDEX, False)
op("TensorScatterUpdate", dict(tensor=t("T", (4,)), indices=v("int32", lambda c: c.rng.integers(-2, 6, (5, 1))), updates=t("T", (5,))),
   dict(T=["float", "string"], bad_indices_policy="IGNORE"), count=3, empty=0, special=0)


@generate("SparseToDense", attrs=dict(T=ALL_TYPES, Tindices=INDEX), gradient=lambda inputs, attrs: inputs["sparse_indices"].ndim == 2 and inputs["sparse_values"].ndim == 1 and ["sparse_values", "default_value"],
          bad=[dict(sparse_indices=const("int32", i), output_shape=const("int32", s), sparse_values=const("float", x), default_value=const("float", 9), T="float", Tindices="int32")
               for i, s, x in [([3, 1], [5], [1, 2]), ([3, 3], [5], [1, 2]), ([3, 5], [5], [1, 2]), ([1, 3], [5], [1, 2, 3]), ([[1, 3]], [5], [1]), ([1], 5, [1]), ([1], [-5], [1])]])
def sparse_to_dense(c):
    shape = c.any_shape(1, 3)
    total = int(np.prod(shape))
    chosen = np.sort(c.rng.permutation(total)[: c.int(0, total)])
    indices = np.stack(np.unravel_index(chosen, shape), -1) if total else np.zeros((0, len(shape)), int)
    if len(shape) == 1 and c.chance():
        indices = indices[:, 0]
    values = c.array(c["T"], () if c.chance(0.3) else (len(indices),))
    return dict(sparse_indices=const(c["Tindices"], indices), output_shape=const(c["Tindices"], shape), sparse_values=values, default_value=c.array(c["T"], ())), \
        dict(validate_indices=c.mode == "bad" or c.chance())


# Making tensors.
op("Fill", dict(dims=v("index_type", lambda c: c.any_shape(0, 4)), value=t("T", "")), dict(T=ALL_TYPES, index_type=INDEX), gradient=["value"], special=0,
   bad=[dict(dims=const("int32", [-3])), dict(dims=const("int32", [2**31 - 1] * 3)), dict(value=zeros("float", 2), T="float"), dict(dims=const("int32", [[2]]))])
op("ZerosLike", dict(x=t("T")), dict(T=ALL_TYPES))
op("OnesLike", dict(x=t("T")), dict(T=PLAIN))
op("Empty", dict(shape=v("int32", lambda c: c.any_shape(0, 3))), dict(dtype=ALL_TYPES, init=True), special=0,
   bad=[dict(shape=const("int32", [-2]), dtype="float"), dict(shape=const("int32", 2), dtype="float")])


@generate("Range", attrs=dict(Tidx=ALL_FLOATS + INTS), count=32, empty=0, special=0,
          bad=[dict(start=const("int32", a), limit=const("int32", b), delta=const("int32", d), Tidx="int32") for a, b, d in [(0, 5, 0), (0, 5, -1), (5, 0, 1), ([0, 1], 5, 1)]]
          + [dict(start=const("float", 0), limit=const("float", b), delta=const("float", 1), Tidx="float") for b in (np.nan, np.inf)])
def number_range(c):
    dtype = c["Tidx"]
    ends = sorted([c.int(-20, 20), c.int(-20, 20)])
    delta = c.pick(1, 2, 3, 7)
    if dtype in ALL_FLOATS:
        ends = [end + round(c.rng.random(), 3) for end in ends]
        delta = c.pick(0.1, 0.25, 1.5, 3)
    start, limit = ends if c.chance() else ends[::-1]
    return dict(start=const(dtype, start), limit=const(dtype, limit), delta=const(dtype, delta if start <= limit else -delta)), dict(Tidx=dtype)


op("LinSpace", dict(start=t("T", ""), stop=t("T", ""), num=v("Tidx", lambda c: c.int(1, 40))), dict(T=FLOATS, Tidx=INDEX), special=0, empty=0, compare="bits",
   bad=[dict(num=const("int32", 0), Tidx="int32"), dict(start=zeros("float", 1), T="float")])


@generate("OneHot", attrs=dict(T=ALL_TYPES, TI=["int32", "int64", "uint8", "int8"]), count=20,
          bad=[dict(indices=const("int32", [0]), depth=const("int32", d), axis=a, T="float", TI="int32", on_value=const("float", 1), off_value=const("float", 0))
               for d, a in [(3, 2), (3, -2), (-3, -1), ([3], -1)]])
def one_hot(c):
    dtype = c["TI"]
    indices = c.array(dtype, c.any_shape(0, 3), between(0 if dtype[0] == "u" else -2, 6))
    return dict(indices=indices, depth=const("int32", c.int(0, 5)), on_value=c.array(c["T"], ()), off_value=c.array(c["T"], ())), \
        dict(axis=c.int(-1, indices.ndim), T=c["T"], TI=dtype)


# Repeating and reordering.
op("Tile", dict(input=t("T"), multiples=v("Tmultiples", lambda c: [c.int(0 if c.chance(0.2) else 1, 3) for _ in c.shape("input")])),
   dict(T=ALL_TYPES, Tmultiples=INDEX), gradient=["input"],
   bad=[dict(input=FLOAT_INPUT, multiples=const("int32", m)) for m in ([1], [1, -1], [[1, 0]], [2**31 - 1] * 2)][:3])
op("Tile", dict(input=t("T", lambda c: c.any_shape(5, 6)), multiples=v("int32", lambda c: [c.int(1, 2) for _ in c.shape("input")])), dict(T=["float", "double"]),
   gradient=["input"], checks=("own_gradients",), count=3, special=0)
op("BroadcastTo", dict(input=t("T", lambda c: tuple(1 if c.chance(0.4) else n for n in c.any_shape(0, 4))),
                       shape=v("Tidx", lambda c: (list(c.any_shape(0, 1)) if c.mode != "empty" else []) + [c.size() if n == 1 else n for n in c.shape("input")])),
   dict(T=ALL_TYPES, Tidx=INDEX), gradient=["input"], count=20,
   bad=[dict(input=FLOAT_INPUT, shape=const("int32", s)) for s in ([3], [2, 4], [-1, 3], 3, [[2, 3]])])


def paddings_of(c):
    return [[c.int(0, 3), c.int(0, 3)] for _ in c.shape("input")] if c.rank("input") else np.zeros((0, 2))


BAD_PADDINGS = ([[0, 0], [-1, 1]], [[0, 0]], [0, 0], [[0, 0, 0], [0, 0, 0]])
op("Pad", dict(input=t("T"), paddings=v("Tpaddings", paddings_of)), dict(T=PLAIN, Tpaddings=INDEX), gradient=["input"],
   bad=[dict(input=FLOAT_INPUT, paddings=const("int32", p)) for p in BAD_PADDINGS])
op("PadV2", dict(input=t("T"), paddings=v("Tpaddings", paddings_of), constant_values=t("T", "")), dict(T=ALL_TYPES, Tpaddings=INDEX), gradient=["input"],
   bad=[dict(input=FLOAT_INPUT, paddings=const("int32", p)) for p in BAD_PADDINGS] + [dict(input=FLOAT_INPUT, paddings=const("int32", [[0, 0], [0, 0]]), constant_values=zeros("float", 1))])


def mirrors_of(c):
    """At most what can be mirrored."""
    skipped = 1 if c["mode"] == "REFLECT" else 0
    return [[c.int(0, max(n - skipped, 0)), c.int(0, max(n - skipped, 0))] for n in c.shape("input")] if c.rank("input") else np.zeros((0, 2))


MODES = ["REFLECT", "SYMMETRIC"]
op("MirrorPad", dict(input=t("T"), paddings=v("Tpaddings", mirrors_of)), dict(T=ALL_TYPES, Tpaddings=INDEX, mode=MODES), gradient=["input"], count=20, may_fail=True,
   bad=[dict(input=FLOAT_INPUT, paddings=const("int32", [[2, 0], [0, 0]])), dict(input=FLOAT_INPUT, paddings=const("int32", [[3, 0], [0, 0]]), mode="SYMMETRIC"),
        dict(input=FLOAT_INPUT, paddings=const("int32", [[-1, 0], [0, 0]])), dict(input=FLOAT_INPUT, paddings=const("int32", [[0, 0]]))])


@generate("MirrorPadGrad", attrs=dict(T=ALL_FLOATS + INTS, Tpaddings=INDEX, mode=MODES), gradient=["input"], count=20, empty=0,
          bad=[dict(input=zeros("float", 5), paddings=const("int32", p), T="float", mode="REFLECT") for p in ([[2, 2]], [[3, 3]], [[-1, 1]])])
def mirror_pad_grad(c):
    inner = tuple(c.int(1, 5) for _ in range(c.int(1, 4)))
    skipped = 1 if c["mode"] == "REFLECT" else 0
    paddings = [[c.int(0, n - skipped), c.int(0, n - skipped)] for n in inner]
    shape = [n + sum(pair) for n, pair in zip(inner, paddings)]
    return dict(input=c.array(c["T"], shape, special=False), paddings=const(c["Tpaddings"], paddings)), dict(mode=c["mode"])


op("ReverseV2", dict(tensor=t("T"), axis=v("Tidx", lambda c: [i - c.rank("tensor") if c.chance(0.3) else i for i in c.rng.permutation(c.rank("tensor")) if c.chance()])),
   dict(T=ALL_TYPES, Tidx=INDEX), gradient=["tensor"],
   bad=[dict(tensor=FLOAT_INPUT, axis=const("int32", a)) for a in ([0, 0], [2], 0, [-3])])


@generate("ReverseSequence", attrs=dict(T=ALL_TYPES, Tlen=INDEX), gradient=["input"], count=20,
          bad=[dict(input=FLOAT_INPUT, seq_lengths=const("int64", l), seq_dim=s, batch_dim=b, T="float", Tlen="int64")
               for l, s, b in [([2, 3], 0, 0), ([2, 4], 1, 0), ([2, -1], 1, 0), ([2], 1, 0), ([2, 3], 2, 0), ([[2, 3]], 1, 0), ([2, 3], 1, 3)]])
def reverse_sequence(c):
    x = c.array(c["T"], c.any_shape(2, 4))
    batch_dim, seq_dim = (int(i) for i in c.rng.permutation(x.ndim)[:2])
    lengths = c.rng.integers(0, x.shape[seq_dim], x.shape[batch_dim], endpoint=True)
    return dict(input=x, seq_lengths=const(c["Tlen"], lengths)), dict(seq_dim=seq_dim, batch_dim=batch_dim)


@generate("Roll", attrs=dict(T=ALL_TYPES, Tshift=INDEX, Taxis=INDEX), gradient=["input"], count=20,
          bad=[dict(input=x, shift=const("int32", s), axis=const("int32", a), T="float", Tshift="int32", Taxis="int32")
               for x, s, a in [(FLOAT_INPUT, 1, 2), (FLOAT_INPUT, [1, 1], [0]), (zeros("float"), 1, 0), (FLOAT_INPUT, [[1]], [[0]])]])
def roll(c):
    x = c.array(c["T"], c.any_shape(1, 4))
    n = c.int(1, 3)
    shift, axis = [c.int(-7, 7) for _ in range(n)], [c.int(-x.ndim, x.ndim - 1) for _ in range(n)]
    if c.chance(0.3):
        shift, axis = shift[0], axis[0]
    return dict(input=x, shift=const(c["Tshift"], shift), axis=const(c["Taxis"], axis)), {}


# Choosing and comparing.
WHERE_TYPES = [dtype for dtype in PLAIN if dtype != "half"]  # TensorFlow has no kernel for half on the CPU
op("Where", dict(input=t("T", lambda c: c.any_shape(1, 5), one_of(0, 0, 1))), dict(T=WHERE_TYPES), bad=[dict(input=zeros("float"), T="float")])


def condition_of(c):
    shape = c.shape("t")
    return c.pick(shape, shape, (), shape[:1] if shape else ())


op("Select", dict(condition=t("bool", condition_of), t=t("T"), e=t("T", like("t"))), dict(T=ALL_TYPES), gradient=["t", "e"], count=20,
   bad=[dict(condition=const("bool", [True, False, True]), t=FLOAT_INPUT, e=FLOAT_INPUT), dict(condition=const("bool", [[True, False]]), t=FLOAT_INPUT, e=FLOAT_INPUT),
        dict(condition=const("bool", True), t=FLOAT_INPUT, e=zeros("float", 3, 2)), dict(condition=const("bool", [True]), t=zeros("float"), e=zeros("float"))])
op("SelectV2", dict(condition=t("bool"), t=t("T", broadcast("condition")), e=t("T", lambda c: c.broadcastable(np.broadcast_shapes(c.shape("condition"), c.shape("t"))))),
   dict(T=ALL_TYPES), gradient=["t", "e"], count=30,
   bad=[dict(condition=const("bool", [True, False]), t=zeros("float", 3), e=zeros("float"))])
# TensorFlow tells the zeros of 16-bit floats apart by their sign, or not, as its hash table happens to fall.
COMPARED = FLOATS + ALL_INTS + ["string"]
op("ListDiff", dict(x=t("T", rank(1), few), y=t("T", rank(1), few)), dict(T=COMPARED, out_idx=INDEX),
   bad=[dict(x=zeros("float", 1, 1), T="float"), dict(y=zeros("float"), T="float")])
op(["Unique", "UniqueWithCounts"], dict(x=t("T", rank(1), few)), dict(T=COMPARED + ["bool"], out_idx=INDEX), bad=[dict(x=zeros("float", 1, 1), T="float")])
op(["UniqueV2", "UniqueWithCountsV2"], dict(x=t("T", lambda c: c.any_shape(1, 3), few), axis=v("Taxis", lambda c: [c.axis("x")])),
   dict(T=COMPARED + ["bool"], Taxis=INDEX, out_idx=INDEX), count=24,
   bad=[dict(x=zeros("float", 2, 2), axis=const("int32", a), T="float", Taxis="int32") for a in ([], 0, [0, 0], [2], [-3])])
op("UniqueV2", dict(x=t("T", rank(1), few), axis=v("int64", [])), dict(T=["float", "int32"]), count=2)
op("Unique", dict(x=t("T", rank(1), few)), dict(T=HALVES), count=4, special=0)
op(["LowerBound", "UpperBound"], dict(sorted_inputs=lambda c: np.sort(c.array(c["T"], "n k", special=False), -1), values=t("T", "n m", special=False)),
   dict(T=["float", "double", "int32", "int64", "uint8", "int8", "int16"], out_type=INDEX),
   bad=[dict(sorted_inputs=zeros("float", 3), values=zeros("float", 3), T="float"), dict(sorted_inputs=zeros("float", 2, 3), values=zeros("float", 1, 3), T="float")])


@generate("DenseToDenseSetOperation", attrs=dict(T=INTS + SMALL_INTS + ["string"], set_operation=["a-b", "b-a", "intersection", "union"]), count=28, special=0,
          bad=[dict(set1=zeros("int32", *a), set2=zeros("int32", *b), set_operation=o, T="int32")
               for a, b, o in [((2,), (2,), "union"), ((1, 2), (2, 2), "union"), ((1, 2), (1, 2), "xor"), ((2, 2, 1), (2, 1), "a-b")]])
def set_operation(c):
    groups = c.any_shape(1, 2)
    domain = usual if c["T"] == "string" else between(0, 6)
    sets = [c.array(c["T"], groups + (c.size(),), domain) for _ in range(2)]
    return dict(set1=sets[0], set2=sets[1]), dict(set_operation=c["set_operation"])


# Types.
SIGNED_OR_WIDE = ALL_FLOATS + ALL_INTS + ["bool"]
op("Cast", dict(x=t("SrcT", domain=between(0, 100))), dict(SrcT=SIGNED_OR_WIDE, DstT=SIGNED_OR_WIDE), count=180, special=0, gradient=True)
op("Cast", dict(x=t("SrcT")), dict(SrcT=SIGNED_OR_WIDE, DstT=ALL_FLOATS + ["bool", "int8", "int16", "int32", "int64"]), count=100)
op("Cast", dict(x=t("SrcT")), dict(SrcT=ALL_FLOATS, DstT=ALL_FLOATS, Truncate=True), count=20, compare="bits")
op("Cast", dict(x=t("SrcT", domain=extreme)), dict(SrcT=ALL_INTS, DstT=ALL_INTS), count=64, special=0, empty=0)
op("Cast", dict(x=v("SrcT", [300.0, -129.0, 3e9, -3e9, 1e20, np.nan, np.inf, -np.inf])), dict(SrcT=["float", "double"], DstT=["int8", "uint8", "int16", "uint16", "int32", "int64"]),
   count=12, special=0, empty=0)
op("Cast", dict(x=t("string", (2,))), dict(SrcT="string", DstT="int32"), count=0, empty=0, special=0, bad=[dict()])


@generate("Bitcast", attrs=dict(T=["float", "double", "half", "bfloat16", "int32", "int64", "uint8", "int8", "int16", "uint16", "uint32", "uint64"],
                                type=["uint8", "uint16", "uint32", "uint64", "int8", "int16"]), count=36, special=0,
          bad=[dict(input=zeros("int32", 1, 3), type="int64", T="int32"), dict(input=zeros("int32"), type="int64", T="int32")])
def bitcast(c):
    from harness import dtypes
    shape = c.any_shape(0, 3)
    sizes = [dtypes.as_numpy(c[name]).itemsize for name in ("T", "type")]
    if sizes[0] < sizes[1]:
        shape = shape + (sizes[1] // sizes[0],)
    return dict(input=c.array(c["T"], shape, special=False)), dict(type=c["type"])


# Matrices.
DIAG_TYPES = FLOATS + ["half"] + INTS
op("Diag", dict(diagonal=t("T", lambda c: c.any_shape(1, 3))), dict(T=DIAG_TYPES), gradient=True, bad=[dict(diagonal=zeros("float"), T="float")])
op("DiagPart", dict(input=t("T", lambda c: 2 * c.any_shape(1, 3))), dict(T=DIAG_TYPES), gradient=True,
   bad=[dict(input=zeros("float", *s), T="float") for s in ((2, 3), (2,), (), (2, 2, 2))])
op("MatrixDiag", dict(diagonal=t("T", lambda c: c.any_shape(1, 3))), dict(T=PLAIN), gradient=True, bad=[dict(diagonal=zeros("float"), T="float")])
op("MatrixDiagPart", dict(input=t("T", lambda c: c.any_shape(2, 4))), dict(T=PLAIN), gradient=True, bad=[dict(input=zeros("float", 3), T="float")])
op("MatrixSetDiag", dict(input=t("T", lambda c: c.any_shape(2, 4)), diagonal=t("T", lambda c: c.shape("input")[:-2] + (min(c.shape("input")[-2:]),))), dict(T=PLAIN), gradient=True,
   bad=[dict(input=FLOAT_INPUT, diagonal=zeros("float", 3), T="float"), dict(input=FLOAT_INPUT, diagonal=zeros("float"), T="float")])
op("MatrixBandPart", dict(input=t("T", lambda c: c.any_shape(2, 4)), num_lower=v("Tindex", lambda c: c.int(-1, c.shape("input")[-2])),
                          num_upper=v("Tindex", lambda c: c.int(-1, c.shape("input")[-1]))), dict(T=PLAIN, Tindex=INDEX), gradient=["input"],
   bad=[dict(input=FLOAT_INPUT, num_lower=const("int32", l), num_upper=const("int32", u), T="float", Tindex="int32") for l, u in [(3, 0), (0, 4), ([0], 0)]]
   + [dict(input=zeros("float", 3), num_lower=const("int32", 0), num_upper=const("int32", 0), T="float", Tindex="int32")])




def band_of(c, rows, columns):
    """k, and the shape of the rows that hold its diagonals."""
    lower, upper = sorted((c.int(-rows + 1, columns - 1), c.int(-rows + 1, columns - 1))) if rows and columns else (0, 0)
    if c.chance(0.3):
        lower = upper
    longest = min(rows + min(upper, 0), columns - max(lower, 0))
    k = lower if lower == upper and c.chance() else [lower, upper]
    return const("int32", k), ((upper - lower + 1,) if lower < upper else ()) + (longest,)


ALIGNMENTS = ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"]


def bands(name, make, gradient, **options):
    def attrs_of(c, version):
        return dict(align=c["align"]) if version == "V3" else {}

    # TensorFlow's gradients of V2 align as V3 does, and its static shapes are wrong where it takes what is unknown for -1.
    for version in ("V2", "V3"):
        wanted = gradient if version == "V3" else False
        generate(name + version, attrs=dict(T=PLAIN, align=ALIGNMENTS), count=20, vague=False, gradient=wanted, **options)(
            lambda c, version=version: (make(c), attrs_of(c, version)))


def matrix_diag_band(c):
    rows, columns = c.size(), c.size()
    k, shape = band_of(c, rows, columns)
    sizes = c.pick((-1, -1), (rows, columns), (rows, -1), (-1, columns))
    # What is left open follows from the diagonals: take sizes that fit it.
    lower, upper = np.ravel(k)[0], np.ravel(k)[-1]
    least = (shape[-1] - min(upper, 0), shape[-1] + max(lower, 0))
    if sizes == (rows, -1) and rows != least[0]:
        sizes = (least[0], -1)
    if sizes == (-1, columns) and columns != least[1]:
        sizes = (-1, least[1])
    return dict(diagonal=c.array(c["T"], c.any_shape(0, 2) + shape), k=k, num_rows=const("int32", sizes[0]), num_cols=const("int32", sizes[1]), padding_value=c.array(c["T"], ()))


def matrix_diag_part_band(c):
    x = c.array(c["T"], c.any_shape(2, 4))
    return dict(input=x, k=band_of(c, *x.shape[-2:])[0], padding_value=c.array(c["T"], ()))


def matrix_set_diag_band(c):
    x = c.array(c["T"], c.any_shape(2, 4))
    k, shape = band_of(c, *x.shape[-2:])
    return dict(input=x, diagonal=c.array(c["T"], x.shape[:-2] + shape), k=k)


BAD_BANDS = ([1, 0], [0, 3], [-2, 0], [0, 0, 0], [[0]])
# A band may reach out of a matrix whose sizes follow from it; TensorFlow's gradient then fails.
bands("MatrixDiag", matrix_diag_band, gradient=lambda inputs, attrs: inputs["num_rows"] > 0 and inputs["num_cols"] > 0 and ["diagonal"],
      bad=[dict(diagonal=zeros("float", *s), k=const("int32", k), num_rows=const("int32", r), num_cols=const("int32", n), padding_value=zeros("float"))
           for s, k, r, n in [((2,), [1, 0], -1, -1), ((2, 2), [0, 2], -1, -1), ((2,), 0, 1, -1), ((2,), 0, 3, 3), ((2,), 0, -1, 1), ((), 0, -1, -1)]])
bands("MatrixDiagPart", matrix_diag_part_band, gradient=["input"],
      bad=[dict(input=FLOAT_INPUT, k=const("int32", k), padding_value=zeros("float")) for k in BAD_BANDS]
      + [dict(input=FLOAT_INPUT, k=const("int32", 0), padding_value=zeros("float", 1)), dict(input=zeros("float", 2), k=const("int32", 0), padding_value=zeros("float"))])
bands("MatrixSetDiag", matrix_set_diag_band, gradient=["input", "diagonal"],
      bad=[dict(input=FLOAT_INPUT, k=const("int32", k), diagonal=zeros("float", 2, 2)) for k in BAD_BANDS] + [dict(input=FLOAT_INPUT, k=const("int32", 0), diagonal=zeros("float", 3))])


# Blocks of space.
def blocks_of(c, dims):
    blocks = [c.int(1, 3) for _ in range(dims)]
    borders = [[c.int(0, 3), c.int(0, 3)] for _ in range(dims)]
    return blocks, borders


@generate("SpaceToBatchND", attrs=dict(T=NUMBERS, Tblock_shape=INDEX, Tpaddings=INDEX), gradient=["input"], count=20, may_fail=True,
          bad=[dict(input=x, block_shape=const("int32", b), paddings=const("int32", p), T="float", Tblock_shape="int32", Tpaddings="int32")
               for x, b, p in [(FLOAT_INPUT, [-1], [[0, 0]]), (FLOAT_INPUT, [0], [[0, 0]]), (FLOAT_INPUT, [2], [[0, 0]]), (zeros("float", 2), [2], [[0, 0]]),
                               (FLOAT_INPUT, [[1]], [[0, 0]]), (FLOAT_INPUT, [1], [0, 0]), (FLOAT_INPUT, [3], [[-1, 1]])]])
def space_to_batch_nd(c):
    m = c.int(1, 3)
    blocks, borders = blocks_of(c, m)
    shape = [c.size()]
    for block, border in zip(blocks, borders):
        size = c.size()
        border[1] += -(size + sum(border)) % block
        shape.append(size)
    x = c.array(c["T"], tuple(shape) + c.any_shape(0, 1))
    return dict(input=x, block_shape=const(c["Tblock_shape"], blocks), paddings=const(c["Tpaddings"], borders)), {}


@generate("BatchToSpaceND", attrs=dict(T=NUMBERS, Tblock_shape=INDEX, Tcrops=INDEX), gradient=["input"], count=20, may_fail=True,
          bad=[dict(input=FLOAT_INPUT, block_shape=const("int32", b), crops=const("int32", p), T="float", Tblock_shape="int32", Tcrops="int32")
               for b, p in [([2], [[4, 3]]), ([2], [[-1, 3]]), ([3], [[0, 0]]), ([0], [[0, 0]]), ([2], [0, 0])]])
def batch_to_space_nd(c):
    m = c.int(1, 3)
    blocks, borders = blocks_of(c, m)
    shape = [c.size() * int(np.prod(blocks))]
    for i, block in enumerate(blocks):
        size = c.size()
        borders[i] = [c.int(0, size * block // 2), c.int(0, size * block // 2)]
        shape.append(size)
    x = c.array(c["T"], tuple(shape) + c.any_shape(0, 1))
    return dict(input=x, block_shape=const(c["Tblock_shape"], blocks), crops=const(c["Tcrops"], borders)), {}


@generate("SpaceToBatch", attrs=dict(T=NUMBERS, Tpaddings=INDEX), gradient=["input"],
          bad=[dict(input=zeros("float", *s), paddings=const("int32", p), block_size=2, T="float", Tpaddings="int32")
               for s, p in [((1, 2, 2, 1), [[1, 0], [0, 0]]), ((1, 2, 2), [[0, 0], [0, 0]]), ((1, 2, 2, 1), [[-1, 1], [0, 0]])]])
def space_to_batch(c):
    block = c.int(2, 3)
    borders = [[c.int(0, 3), c.int(0, 3)] for _ in range(2)]
    sizes = [c.size(), c.size()]
    for size, border in zip(sizes, borders):
        border[1] += -(size + sum(border)) % block
    return dict(input=c.array(c["T"], (c.size(), *sizes, c.size())), paddings=const(c["Tpaddings"], borders)), dict(block_size=block)


@generate("BatchToSpace", attrs=dict(T=NUMBERS, Tidx=INDEX), gradient=["input"],
          bad=[dict(input=zeros("float", *s), crops=const("int32", p), block_size=2, T="float", Tidx="int32")
               for s, p in [((3, 2, 2, 1), [[0, 0], [0, 0]]), ((4, 2, 2), [[0, 0], [0, 0]]), ((4, 2, 2, 1), [[-1, 1], [0, 0]]), ((4, 2, 2, 1), [[3, 3], [0, 0]])]])
def batch_to_space(c):
    block = c.int(2, 3)
    sizes = [c.size(), c.size()]
    crops = [[c.int(0, n * block // 2), c.int(0, n * block // 2)] for n in sizes]
    return dict(input=c.array(c["T"], (c.size() * block * block, *sizes, c.size())), crops=const(c["Tidx"], crops)), dict(block_size=block)


op("SpaceToDepth", dict(input=t("T", lambda c: (c.size(), c.size() * c["block_size"], c.size() * c["block_size"], c.size()))), dict(T=PLAIN, block_size=[2, 3]), gradient=True,
   bad=[dict(input=zeros("float", *s), block_size=2, T="float") for s in ((1, 1, 2, 1), (1, 2, 3, 1), (2, 2))])
op("DepthToSpace", dict(input=t("T", lambda c: (c.size(), c.size(), c.size(), c.size() * c["block_size"] ** 2))), dict(T=PLAIN, block_size=[2, 3]), gradient=True,
   bad=[dict(input=zeros("float", *s), block_size=2, T="float") for s in ((1, 1, 1, 3), (2, 4))])


# Sizes computed from shapes, which must be known before a step.
@program(count=6)
def shapes_from_shapes(c, tf):
    x = c.feed(c.array("float", (4, 6, 5)))
    n = tf.shape(x)
    rows = tf.reshape(x, tf.stack([n[0], -1]))
    padded = tf.zeros(tf.concat([n[:1] + 1, [n[1] * n[2]]], 0))
    tiled = tf.tile(x, tf.stack([1, n[0] // 2, tf.minimum(n[1], n[2])]))
    flat = tf.reshape(x, [tf.reduce_prod(n)])
    spread = tf.broadcast_to(x, tf.broadcast_dynamic_shape(tf.stack([3, 1, 1, 1]), n))
    part = tf.slice(x, [0, 0, 0], n - 1)
    return [rows, padded, tiled, flat, spread, part, tf.gather(n, [2, 0]), tf.size(x), tf.rank(x), tf.unstack(n)[1]]
