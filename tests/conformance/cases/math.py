"""Mathematics: element by element, reductions, products, segments."""

import numpy as np

from harness.notation import *

SIGNED = ALL_FLOATS + INTS + ["int8", "int16"]


def incompatible(dtype="float"):
    return dict(x=zeros(dtype, 2, 3), y=zeros(dtype, 2, 4))


def binary(names, types, domain_x=usual, domain_y=usual, gradient=False, bad=(), **options):
    """Two operands that broadcast."""
    op(names, dict(x=t("T", None, domain_x), y=t("T", broadcast("x"), domain_y)), dict(T=types), gradient=gradient,
       bad=[incompatible(types[0]), *bad], **options)


# Arithmetic.
binary("Add", ALL_FLOATS + INTS + ["int8", "int16", "uint8", "string"], gradient=True,
       bad=[dict(x=zeros("float", 3), y=zeros("int32", 3))])
binary(["AddV2", "Sub", "Mul"], NUMBERS, gradient=True)
binary(["Maximum", "Minimum"], NUMBERS, distinct, gradient=True)
binary("MulNoNan", ALL_FLOATS, usual, one_of(0, 1.5, -2), gradient=True)
binary("DivNoNan", ALL_FLOATS, usual, one_of(0, 1.5, -2), gradient=True)
binary("RealDiv", ALL_FLOATS, usual, nonzero, gradient=True)
by_zero = [dict(x=const("int32", [1, 2]), y=const("int32", [1, 0]), T="int32")]
binary("Div", NUMBERS, usual, nonzero, gradient=True, bad=by_zero)
# TensorFlow rounds a 16-bit quotient before it takes the floor, we do not.
WIDE = FLOATS + ALL_INTS
binary("FloorDiv", WIDE, usual, nonzero, bad=by_zero)
binary("FloorMod", WIDE, usual, nonzero, bad=by_zero, special=0)
binary("Mod", FLOATS + INTS, usual, nonzero, bad=by_zero, special=0)
# TensorFlow calls a zero divisor of these Internal: not in the cases.
binary("TruncateDiv", WIDE, usual, nonzero)
binary("TruncateMod", FLOATS + INTS, usual, nonzero, special=0)
# The gradient of a power of zero is 0 * inf in places.
binary("Pow", ALL_FLOATS, positive, unit, gradient=True, rtol=1e-4)
op("Pow", dict(x=t("T", None, between(-4, 4)), y=t("T", broadcast("x"), between(0, 5))), dict(T=INTS + ["int8", "int16"]),
   bad=[dict(x=const("int32", [2, 3]), y=const("int32", [1, -1]))])
binary("SquaredDifference", ALL_FLOATS + INTS, gradient=True)
op("Atan2", dict(y=t("T"), x=t("T", broadcast("y"))), dict(T=ALL_FLOATS), gradient=True,
   bad=[dict(y=zeros("float", 2, 3), x=zeros("float", 2, 4))])
binary("Xdivy", ALL_FLOATS, one_of(0, 1.5, -2), nonzero, gradient=True)
binary("Xlogy", ALL_FLOATS, one_of(0, 1.5, -2), positive, gradient=True)
binary("Xlog1py", ALL_FLOATS, one_of(0, 1.5, -2), positive, gradient=True)
# Overflow wraps around.
binary(["AddV2", "Sub", "Mul"], ALL_INTS, extreme, extreme, empty=0)

op("AddN", dict(inputs=many((1, 5), t("T", "a b c"))), dict(T=NUMBERS), gradient=True,
   bad=[dict(inputs=[zeros("float", 2), zeros("float", 3)])])
leave_out("AccumulateNV2", "TensorFlow has no kernel for it: graphs that hold it are rewritten first")

# Bits.
binary(["BitwiseAnd", "BitwiseOr", "BitwiseXor"], ALL_INTS, extreme)
binary(["LeftShift", "RightShift"], ALL_INTS, usual, between(0, 7))
binary(["LeftShift", "RightShift"], ["int32", "int64", "int8", "int16"], usual, one_of(-3, 7, 100), empty=0)
op("Invert", dict(x=t("T")), dict(T=ALL_INTS))


def unary(names, types=ALL_FLOATS, domain=usual, gradient=True, **options):
    op(names, dict(x=t("T", None, domain)), dict(T=types), gradient=gradient, **options)


# Functions of one operand.
unary(["Neg", "Abs"], SIGNED)
unary("Sign", SIGNED, one_of(-2, 0, 3))
unary("Square", NUMBERS)
unary(["Neg", "Abs"], INTS + ["int8", "int16"], extreme, gradient=False, empty=0)
unary(["Exp", "Expm1", "Sin", "Cos", "Atan", "Asinh"])
unary(["Tanh", "Sigmoid", "Erfc"], atol=2e-6)
unary("Erf", ["float", "half", "bfloat16"], atol=2e-6)
unary("Erf", ["double"], special=0)  # TensorFlow has NaN at the infinities
unary(["Sinh", "Cosh"])
unary("Tan", domain=between(-1.4, 1.4))
unary(["Asin", "Acos", "Atanh"], domain=unit)
unary("Acosh", domain=between(1.1, 5))
unary(["Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Inv"], domain=positive)
unary("Lgamma", ["float", "double", "half"], positive, special=0, rtol=1e-4, atol=1e-5)
unary("Digamma", ["float", "double", "half"], positive, special=0, gradient=False, rtol=1e-4, atol=1e-5)
unary("Digamma", ["float", "double"], one_of(-0.5, -3.25, 12.5), special=0, gradient=False, rtol=1e-4, atol=1e-5)
unary("Erfinv", FLOATS, unit, rtol=1e-4)
unary("Ndtri", FLOATS, between(0.02, 0.98), rtol=1e-4)
unary(["Floor", "Ceil"], gradient=False)
# TensorFlow 2.21 rounds every integer to zero.
unary("Round", ALL_FLOATS, one_of(-2.5, -1.5, -0.5, 0.5, 1.5, 2.4, 2.6), gradient=False)
unary("Rint", FLOATS, one_of(-2.5, -1.5, -0.5, 0.5, 1.5, 2.4, 2.6), gradient=False)
unary(["IsNan", "IsInf", "IsFinite"], gradient=False)
leave_out("Conj", "of real numbers TensorFlow's Python makes none, and we have no others")

# Large and small arguments.
unary(["Exp", "Sigmoid", "Tanh", "Expm1", "Erf"], FLOATS, between(-30, 30), empty=0, special=0, atol=2e-6)
unary(["Log", "Sqrt", "Rsqrt", "Log1p"], FLOATS, between(1e-6, 1e6), empty=0, special=0)

# TensorFlow's kernels want as many elements; ours want the same shape.
for name in ["SqrtGrad", "RsqrtGrad", "TanhGrad", "SigmoidGrad", "ReciprocalGrad", "InvGrad"]:
    op(name, dict(y=t("T", None, positive), dy=t("T", like("y"))), dict(T=ALL_FLOATS), gradient=True,
       bad=[dict(y=zeros("float", 2), dy=zeros("float", 3))])

# Comparisons.
few = one_of(1, 2, 3)
binary(["Less", "LessEqual", "Greater", "GreaterEqual"], NUMBERS, few, few)
binary(["Equal", "NotEqual"], NUMBERS, few, few)
binary(["Equal", "NotEqual"], ["bool", "string"])


# A program, because TensorFlow's static shapes are wrong here: what is broadcast or not is known only in the step.
@program(ops=["Equal", "NotEqual"], count=6)
def equality_of_any_shapes(c, tf):
    x = c.feed(c.array("float", None, few))
    y = c.feed(c.array("float", c.pick((7,), x.shape), few))
    return [tf.raw_ops.Equal(x=x, y=y, incompatible_shape_error=False), tf.raw_ops.NotEqual(x=x, y=y, incompatible_shape_error=False)]


op("ApproximateEqual", dict(x=t("T", None, few), y=t("T", like("x"), few)), dict(T=FLOATS, tolerance=[1e-5, 1.5, -1.0]),
   bad=[dict(x=zeros("float", 2), y=zeros("float", 3))])
op(["LogicalAnd", "LogicalOr"], dict(x=t("bool"), y=t("bool", broadcast("x"))), bad=[incompatible("bool")])
op("LogicalNot", dict(x=t("bool")))


# Reductions.
def some_axes(name):
    """Some of the axes of an input, each once, counted from either end; now and then one scalar axis."""

    def choose(c):
        rank = c.rank(name)
        axes = [int(axis) for axis in c.rng.permutation(rank)[: c.int(0, rank)]]
        axes = [axis - rank if c.chance() else axis for axis in axes]
        return axes[0] if len(axes) == 1 and c.chance() else axes

    return choose


def reduction(names, types, domain=usual, gradient=True, **options):
    op(names, dict(input=t("T", None, domain), reduction_indices=v("Tidx", some_axes("input"))),
       dict(T=types, Tidx=INDEX, keep_dims=BOOLS), gradient=gradient and ["input"],
       bad=[dict(input=zeros(types[0], 2, 3), reduction_indices=const("int32", [2])),
            dict(input=zeros(types[0], 2, 3), reduction_indices=const("int32", [0, -2])),
            dict(input=zeros(types[0]), reduction_indices=const("int32", [0]))], **options)


reduction(["Sum", "Mean"], NUMBERS, atol=1e-5)
# The backward graph of TensorFlow divides by the number of maxima of an empty slice.
reduction(["Max", "Min"], NUMBERS, distinct)
reduction("Prod", NUMBERS, between(-2, 3), special=0, rtol=1e-4, atol=1e-5)
reduction("EuclideanNorm", ALL_FLOATS + INTS, nonzero, special=0)
op(["All", "Any"], dict(input=t("bool"), reduction_indices=v("Tidx", some_axes("input"))), dict(Tidx=INDEX, keep_dims=BOOLS),
   bad=[dict(input=zeros("bool", 2, 3), reduction_indices=const("int32", [-3]))])
# Long ones, which several threads share.
op(["Sum", "Mean", "Max"], dict(input=t("T", (60, 50, 40)), reduction_indices=v("int32", lambda c: c.pick([0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2]))),
   dict(T=FLOATS), count=8, empty=0, special=0, atol=2e-4)
# Rows as long as vector registers, and a little longer.
for length in (4, 5, 8, 9, 12, 16, 17, 24, 25, 31, 32, 33):
    op(["Sum", "Mean", "Prod", "EuclideanNorm"], dict(input=t("T", (3, length), between(1, 3)), reduction_indices=v("int32", lambda c: [1])),
       dict(T=["int32", "int64"]), count=2, empty=0, special=0)

ARG_BAD = [dict(input=zeros("float", 2, 3), dimension=const("int32", 2)), dict(input=zeros("float", 2, 3), dimension=const("int32", [1])),
           dict(input=zeros("float", 0, 3), dimension=const("int32", 0)), dict(input=zeros("float"), dimension=const("int32", 0))]
# TensorFlow's shape inference misreads an int16 dimension, and its result for NaN depends on where in a vector register it stands.
op("ArgMax", dict(input=t("T", lambda c: tuple(c.int(1, 5) for _ in range(c.int(1, 4))), few), dimension=v("Tidx", lambda c: c.axis("input"))),
   dict(T=PLAIN, Tidx=INDEX, output_type=["int64", "int32", "int16", "uint16"]), empty=0, special=0, bad=ARG_BAD)
op("ArgMin", dict(input=t("T", lambda c: tuple(c.int(1, 5) for _ in range(c.int(1, 4))), few), dimension=v("Tidx", lambda c: c.axis("input"))),
   dict(T=PLAIN, Tidx=INDEX, output_type=["int64", "int32"]), empty=0, special=0, bad=ARG_BAD)

# Long chains of 16-bit roundings lead apart: no gradients of these types here and below.
op(["Cumsum", "Cumprod"], dict(x=t("T", rank(1, 4), nonzero), axis=v("Tidx", lambda c: c.axis("x"))),
   dict(T=NUMBERS, Tidx=INDEX, exclusive=BOOLS, reverse=BOOLS), gradient=lambda inputs, attrs: attrs["T"] in FLOATS and ["x"], special=0, rtol=1e-4, atol=1e-5,
   bad=[dict(x=zeros("float", 2, 3), axis=const("int32", 2)), dict(x=zeros("float", 2, 3), axis=const("int32", [0])),
        dict(x=zeros("float"), axis=const("int32", 0))])


# Products. TensorFlow's own bfloat16 products do not run on every machine.
def maybe_turned(rows, columns, flag):
    def shape(c):
        sizes = (c.dim(rows), c.dim(columns))
        return sizes[::-1] if c[flag] else sizes

    return shape


op("MatMul", dict(a=t("T", maybe_turned("m", "k", "transpose_a")), b=t("T", maybe_turned("k", "n", "transpose_b"))),
   dict(T=["float", "double", "half", "int32", "int64"], transpose_a=BOOLS, transpose_b=BOOLS), gradient=True, special=0, rtol=1e-4, atol=1e-4,
   bad=[dict(a=zeros("float", 2, 3), b=zeros("float", 2, 3)), dict(a=zeros("float", 3), b=zeros("float", 3, 2)),
        dict(a=zeros("float", 1, 2, 3), b=zeros("float", 3, 2))])
op("MatMul", dict(a=t("T", lambda c: (70, 130) if c["transpose_a"] else (130, 70)), b=t("T", lambda c: (150, 70) if c["transpose_b"] else (70, 150))),
   dict(T=["float", "double", "int32"], transpose_a=BOOLS, transpose_b=BOOLS), count=6, empty=0, special=0, rtol=1e-4, atol=1e-4)


def batch_operand(rows, columns, flag, batch):
    def shape(c):
        sizes = (c.dim(rows), c.dim(columns))
        return tuple(batch(c)) + (sizes[::-1] if c[flag] else sizes)

    return shape


def batch_matmul(name, types, batch_y, **options):
    op(name, dict(x=t("T", batch_operand("m", "k", "adj_x", same_batch)), y=t("T", batch_operand("k", "n", "adj_y", batch_y))),
       dict(T=types, adj_x=BOOLS, adj_y=BOOLS), gradient=lambda inputs, attrs: attrs["T"] in FLOATS, special=0, rtol=1e-4, atol=1e-4, **options)


BATCH_BAD = [dict(x=zeros("float", 2, 2, 3), y=zeros("float", 2, 2, 3)), dict(x=zeros("float", 2, 2, 3), y=zeros("float", 3, 3, 2)),
             dict(x=zeros("float", 3), y=zeros("float", 3, 2))]
PRODUCT_TYPES = ["float", "double", "half", "int32", "int64"]
same_batch = lambda c: (c.dim("b1"), c.dim("b2"))
other_batch = lambda c: c.broadcastable(c.shape("x")[:-2])
batch_matmul("BatchMatMul", PRODUCT_TYPES, same_batch, bad=BATCH_BAD)
batch_matmul("BatchMatMulV2", PRODUCT_TYPES + ["int16"], other_batch, bad=BATCH_BAD)
op("BatchMatMulV3", dict(x=t("Ta", batch_operand("m", "k", "adj_x", same_batch)), y=t("Ta", batch_operand("k", "n", "adj_y", other_batch))),
   dict(Ta=["float", "double", "int32", "int64", "int16"], Tb=lambda c: c["Ta"], Tout=lambda c: c["Ta"], adj_x=BOOLS, adj_y=BOOLS),
   gradient=True, special=0, rtol=1e-4, atol=1e-4)
op("BatchMatMulV3", dict(x=t("Ta", "b m k"), y=t("Tb", "b k n")), dict(Ta=["int8", "uint8"], Tb=["uint8", "int8", "int8"], Tout="int32"), special=0)

op("Cross", dict(a=t("T", lambda c: c.any_shape(0, 3) + (3,)), b=t("T", like("a"))), dict(T=NUMBERS), gradient=lambda inputs, attrs: attrs["T"] in FLOATS,
   bad=[dict(a=zeros("float", 2, 3), b=zeros("float", 3, 3)), dict(a=zeros("float", 2, 2), b=zeros("float", 2, 2))])

CLIP_TYPES = ALL_FLOATS + INTS + SMALL_INTS
bound = lambda c: c.pick((), c.shape("t"))
op("ClipByValue", dict(t=t("T"), clip_value_min=t("T", bound, between(0, 1)), clip_value_max=t("T", bound, between(2, 4))), dict(T=CLIP_TYPES), gradient=True,
   bad=[dict(t=zeros("float", 2), clip_value_min=zeros("float", 3), clip_value_max=zeros("float"))])

# The largest ones. The order of what is not sorted, and of NaN, is TensorFlow's own business.
op("TopKV2", dict(input=t("T", lambda c: c.any_shape(0, 3) + (c.int(1, 6),), distinct), k=v("Tk", lambda c: c.int(0, c.shape("input")[-1]))),
   dict(T=NUMBERS, Tk=INDEX + ["int16"], index_type=["int32", "int64", "int16"], sorted=True), special=0,
   gradient=lambda inputs, attrs: attrs["index_type"] == "int32" and ["input"], gradient_outputs=[0],
   bad=[dict(input=zeros("float", 2, 3), k=const("int32", 4)), dict(input=zeros("float", 2, 3), k=const("int32", -1)),
        dict(input=zeros("float"), k=const("int32", 1)), dict(input=zeros("float", 2, 3), k=const("int32", [1]))])
op("TopKV2", dict(input=t("T", (3, 6), few), k=v("int32", 4)), dict(T=INTS), empty=0)
leave_out("TopK", "TensorFlow 2 finds no kernel for it")

TARGETS = v("T", lambda c: c.rng.integers(-1, 4, c.dim("n")))
IN_TOP_BAD = [dict(predictions=zeros("float", 2, 3), targets=zeros("int32", 3)), dict(predictions=zeros("float", 3), targets=zeros("int32", 3)),
              dict(predictions=zeros("float", 2, 3), targets=zeros("int32", 2, 1))]
op("InTopK", dict(predictions=t("float", "n 4"), targets=TARGETS), dict(T=INDEX, k=[-1, 0, 1, 2, 9]), bad=IN_TOP_BAD)
op("InTopKV2", dict(predictions=t("float", "n 4"), targets=TARGETS, k=v("T", lambda c: c.int(-1, 5))), dict(T=INDEX), bad=IN_TOP_BAD)


# Segments. With NaN the extremes depend on the order in which TensorFlow meets them.
def sorted_ids(c):
    """Ids that never fall, with gaps."""
    return np.cumsum(c.rng.integers(0, 3, c.shape("data")[0]))


def rows(c):
    return (c.dim("rows"),) + c.any_shape(0, 2)


ids_bad = [dict(data=zeros("float", 3, 2), segment_ids=const("int32", [0, 1])), dict(data=zeros("float", 3, 2), segment_ids=const("int32", [0, 2, 1])),
           dict(data=zeros("float", 3, 2), segment_ids=const("int32", [-1, 0, 1])), dict(data=zeros("float", 3, 2), segment_ids=const("int32", [[0, 0, 0]])),
           dict(data=zeros("float"), segment_ids=const("int32", [0]))]
op(["SegmentSum", "SegmentMean"], dict(data=t("T", rows), segment_ids=v("Tindices", sorted_ids)), dict(T=NUMBERS, Tindices=INDEX), gradient=["data"], bad=ids_bad)
op(["SegmentMax", "SegmentMin"], dict(data=t("T", rows, distinct), segment_ids=v("Tindices", sorted_ids)), dict(T=NUMBERS, Tindices=INDEX), gradient=["data"], special=0, bad=ids_bad)
op("SegmentProd", dict(data=t("T", rows, one_of(0, 1, 2, 3)), segment_ids=v("Tindices", sorted_ids)), dict(T=NUMBERS, Tindices=INDEX), gradient=["data"], special=0, bad=ids_bad)


def loose_ids(c):
    """Ids in any order for some leading dimensions, a few of them negative."""
    shape = c.shape("data")
    return c.rng.integers(-1, 4, shape[: c.int(1, len(shape))])


def unsorted(names, domain, **options):
    op(names, dict(data=t("T", rank(1, 3), domain), segment_ids=v("Tindices", loose_ids), num_segments=v("Tnumsegments", lambda c: c.int(4, 6))),
       dict(T=NUMBERS, Tindices=INDEX, Tnumsegments=INDEX), gradient=["data"],
       bad=[dict(data=zeros("float", 3, 2), segment_ids=const("int32", [0, 1]), num_segments=const("int32", 2)),
            dict(data=zeros("float", 3, 2), segment_ids=const("int32", [0, 1, 5]), num_segments=const("int32", 2)),
            dict(data=zeros("float", 3, 2), segment_ids=const("int32", [0, 1, 1]), num_segments=const("int32", -1)),
            dict(data=zeros("float", 3, 2), segment_ids=const("int32", [0, 1, 1]), num_segments=const("int32", [2]))], **options)


unsorted("UnsortedSegmentSum", usual)
unsorted(["UnsortedSegmentMax", "UnsortedSegmentMin"], distinct, special=0)
unsorted("UnsortedSegmentProd", one_of(0, 1, 2, 3), special=0)

table_rows = lambda c: (5,) + c.any_shape(0, 2)
picks = v("Tidx", lambda c: c.rng.integers(0, 5, c.dim("n")))
pick_ids = v("Tsegmentids", lambda c: np.cumsum(c.rng.integers(0, 3, c.dim("n"))))
sparse_bad = [dict(data=zeros("float", 3, 2), indices=const("int32", [0, 3]), segment_ids=const("int32", [0, 1])),
              dict(data=zeros("float", 3, 2), indices=const("int32", [0, 1]), segment_ids=const("int32", [1, 0])),
              dict(data=zeros("float", 3, 2), indices=const("int32", [0, 1]), segment_ids=const("int32", [0, 1, 1])),
              dict(data=zeros("float", 3, 2), indices=const("int32", [0, 1]), segment_ids=const("int32", [-1, 1]))]
sparse_types = dict(Tidx=INDEX, Tsegmentids=INDEX)
# Without indices TensorFlow's gradient is whatever its memory held before.
some_indices = lambda inputs, attrs: inputs["indices"].size > 0 and ["data"]
for name, types in [("Sum", NUMBERS), ("Mean", ALL_FLOATS), ("SqrtN", ALL_FLOATS)]:
    op(f"SparseSegment{name}", dict(data=t("T", table_rows), indices=picks, segment_ids=pick_ids),
       dict(sparse_types, T=types, sparse_gradient=[False, True]),
       gradient=some_indices, bad=sparse_bad)
    op(f"SparseSegment{name}WithNumSegments",
       dict(data=t("T", table_rows), indices=picks, segment_ids=pick_ids, num_segments=v("Tnumsegments", lambda c: c.int(12, 14))),
       dict(sparse_types, T=types, Tnumsegments=INDEX, sparse_gradient=[False, True]), gradient=some_indices,
       bad=[dict(case, num_segments=const("int32", 9)) for case in sparse_bad] +
           [dict(data=zeros("float", 3, 2), indices=const("int32", [0, 1]), segment_ids=const("int32", [0, 4]), num_segments=const("int32", 2))])
    # TensorFlow leaves the output of no indices at all unset.
    op(f"SparseSegment{name}Grad",
       dict(grad=t("T", lambda c: (4,) + c.any_shape(0, 2)), indices=picks, segment_ids=v("Tsegmentids", lambda c: np.sort(c.rng.integers(0, 4, c.dim("n")))),
            output_dim0=v("int32", 6)),
       dict(sparse_types, T=ALL_FLOATS), empty=0,
       bad=[dict(grad=zeros("float", 3, 2), indices=const("int32", [0, 6]), segment_ids=const("int32", [0, 1]), output_dim0=const("int32", 5)),
            dict(grad=zeros("float", 3, 2), indices=const("int32", [0, 1]), segment_ids=const("int32", [0, 3]), output_dim0=const("int32", 5)),
            dict(grad=zeros("float", 3, 2), indices=const("int32", [0, 1]), segment_ids=const("int32", [0, 1]), output_dim0=const("int32", -1))])
    op(f"SparseSegment{name}GradV2",
       dict(grad=t("T", lambda c: (4,) + c.any_shape(0, 2)), indices=picks, segment_ids=v("Tsegmentids", lambda c: c.rng.integers(0, 4, c.dim("n"))),
            dense_output_dim0=v("int32", lambda c: c.pick(5, 6, 0, 2**31 - 1))),
       dict(sparse_types, T=ALL_FLOATS),
       bad=[dict(grad=zeros("float", 3, 2), indices=const("int32", [0, 6]), segment_ids=const("int32", [0, 1]), dense_output_dim0=const("int32", 5)),
            dict(grad=zeros("float", 3, 2), indices=const("int32", [0, -1]), segment_ids=const("int32", [0, 1]), dense_output_dim0=const("int32", 5)),
            dict(grad=zeros("float", 3, 2), indices=const("int32", [0, 1]), segment_ids=const("int32", [0, 3]), dense_output_dim0=const("int32", 5)),
            dict(grad=zeros("float", 3, 2), indices=const("int32", [0, 1]), segment_ids=const("int32", [-1, 1]), dense_output_dim0=const("int32", 5)),
            dict(grad=zeros("float", 3, 2), indices=const("int32", [0, 1]), segment_ids=const("int32", [0]), dense_output_dim0=const("int32", 5)),
            dict(grad=zeros("float", 3, 2), indices=const("int32", [0, 1]), segment_ids=const("int32", [0, 1]), dense_output_dim0=const("int32", -1)),
            dict(grad=zeros("float", 3, 2), indices=const("int32", [0, 1]), segment_ids=const("int32", [0, 1]), dense_output_dim0=const("int32", [5]))])

# Counting.
op("Bincount", dict(arr=v("int32", lambda c: c.rng.integers(0, 7, c.any_shape(0, 3))), size=v("int32", lambda c: c.int(0, 9)),
                    weights=lambda c: c.array(c["T"], c.shape("arr") if c.chance() else (0,), special=False)),
   dict(T=["float", "double", "int32", "int64"]),
   bad=[dict(arr=const("int32", [1, -1]), size=const("int32", 3), weights=zeros("float", 0)),
        dict(arr=const("int32", [1, 1]), size=const("int32", -3), weights=zeros("float", 0)),
        dict(arr=const("int32", [1, 1]), size=const("int32", 3), weights=zeros("float", 3))])
# TensorFlow infers a scalar from a scalar input and a size that is not known, but gives a vector; the program has one.
op("DenseBincount", dict(input=v("Tidx", lambda c: c.rng.integers(0, 7, c.any_shape(1, 2))), size=v("Tidx", lambda c: c.int(0, 9)),
                         weights=lambda c: c.array(c["T"], c.shape("input") if c.chance() else (0,), special=False)),
   dict(Tidx=INDEX, T=["float", "double", "int32", "int64"], binary_output=[False, True]),
   bad=[dict(input=const("int32", [1, -1]), size=const("int32", 3), weights=zeros("float", 0)),
        dict(input=const("int32", [[1, -1]]), size=const("int32", 0), weights=zeros("float", 0)),
        dict(input=const("int32", [[[1]]]), size=const("int32", 3), weights=zeros("float", 0)),
        dict(input=const("int32", [1, 1]), size=const("int32", -3), weights=zeros("float", 0)),
        dict(input=const("int32", [1, 1]), size=const("int32", [3]), weights=zeros("float", 0)),
        dict(input=const("int64", [1, 1]), size=const("int64", 2**62), weights=zeros("float", 0)),
        dict(input=const("int32", [1, 1]), size=const("int32", 3), weights=zeros("float", 3)),
        dict(input=const("int32", [[1, 1]]), size=const("int32", 3), weights=zeros("float", 2))])


@program(ops=["DenseBincount"], count=2)
def counts_of_values(c, tf):
    rows = c.feed(c.rng.integers(0, 7, (3, 4)).astype(np.int32))
    weights = c.feed(c.array("float", (3, 4), special=False))
    count = tf.math.bincount
    scalar = tf.raw_ops.DenseBincount(input=rows[0, 0], size=5, weights=weights[0, 0], binary_output=c.chance())
    return [scalar, count(rows[0]), count(rows, minlength=9), count(rows, weights, maxlength=4)]


op("HistogramFixedWidth", dict(values=t("T", None, usual, special=False), value_range=v("T", [-2, 3]), nbins=v("int32", lambda c: c.int(1, 6))),
   dict(T=["float", "double", "int32", "int64"], dtype=INDEX), special=0,
   bad=[dict(values=zeros("float", 2), value_range=const("float", [1, 1]), nbins=const("int32", 2)),
        dict(values=zeros("float", 2), value_range=const("float", [0, 1, 2]), nbins=const("int32", 2)),
        dict(values=zeros("float", 2), value_range=const("float", [0, 1]), nbins=const("int32", 0)),
        dict(values=const("float", [np.nan]), value_range=const("float", [0, 1]), nbins=const("int32", 2))])
op("Bucketize", dict(input=t("T")), dict(T=["float", "double", "int32", "int64"], boundaries=[[-1.5, 0.0, 2.0], [], [1.0, 1.0]]),
   bad=[dict(boundaries=[2.0, 1.0])])
