"""Random numbers: with fixed seeds, TensorFlow's to the last bit."""

from harness.notation import *

SEEDS = dict(seed=lambda c: c.pick(0, 7, -3, 2**40 + 5, c.int(-(2**62), 2**62)), seed2=lambda c: c.int(1, 2**62))


def sizes(c):
    """A shape, now and then one that takes several threads or leaves a group of numbers unfinished."""
    if c.mode != "empty" and c.chance(0.3):
        return [c.int(1, 70000)]
    return list(c.any_shape())


SHAPE = v("T", sizes)
BAD_SHAPES = [const("int32", 3), const("int32", [[2]]), const("int32", [2, -3]), const("int64", [2**40, 2**40])]


def with_bad_shapes(attr, *others):
    return [{"shape": shape, attr: str(shape.dtype)} for shape in BAD_SHAPES] + list(others)


op(["RandomUniform", "RandomStandardNormal", "TruncatedNormal"], dict(shape=SHAPE), dict(SEEDS, dtype=ALL_FLOATS, T=INDEX),
   count=24, special=0, compare="bits", bad=with_bad_shapes("T"))

BOUNDS = dict(minval=lambda c: v("Tout", c.pick(0, -5, -(2**31))), maxval=lambda c: v("Tout", c.pick(1, 10, 2**31 - 1)))
op("RandomUniformInt", dict(shape=SHAPE, **BOUNDS), dict(SEEDS, Tout=INDEX, T=INDEX), special=0, compare="bits",
   bad=with_bad_shapes("T", dict(shape=const("int32", [2]), minval=const("int32", 3), maxval=const("int32", 3)),
                       dict(shape=const("int32", [2]), minval=const("int32", [3]))))

op("RandomShuffle", dict(value=t("T", lambda c: (c.int(2, 3000), *c.any_shape(0, 2)) if c.chance() else c.any_shape())), dict(SEEDS, T=ALL_TYPES),
   compare="bits", count=24)


def logits(c):
    return t("T", (c.int(1, 20), c.int(1, 30))).resolve(c) if c.mode != "empty" else zeros(c["T"], 0, 3)


op("Multinomial", dict(logits=logits, num_samples=lambda c: const("int32", c.int(0, 40))),
   dict(SEEDS, T=ALL_FLOATS, output_dtype=INDEX), compare="bits", count=24,
   bad=[dict(logits=zeros("float", 3)), dict(logits=zeros("float", 2, 0)), dict(num_samples=const("int32", -1)),
        dict(num_samples=const("int32", [2]))])
op("StatelessMultinomial", dict(logits=logits, num_samples=lambda c: const("int32", c.int(0, 40)), seed=t("Tseed", (2,), extreme)),
   dict(T=ALL_FLOATS, output_dtype=INDEX, Tseed=INDEX), compare="bits",
   bad=[dict(seed=const("int32", [1, 2, 3]), Tseed="int32")])


# The bounds decide how the numbers are drawn: inside, beside or far from the mean, on one side or on both.
def bounds(c):
    return c.pick((-1.0, 1.0), (-2.0, 2.0), (0.5, 0.75), (3.0, 3.5), (3.0, 30.0), (-9.0, -4.0), (-3.0, float("inf")), (float("-inf"), 0.3),
                  (2.0, float("inf")), (float("-inf"), -3.0), (-0.1, 0.05), (-5.0, 0.01))


@generate("ParameterizedTruncatedNormal", attrs=dict(dtype=["float", "double", "half"], T=INDEX), count=40, special=0, compare="bits",
          bad=[dict(shape=const("int32", []), T="int32"), dict(shape=const("int32", 2), T="int32"), dict(stdevs=const("float", -1), dtype="float"),
               dict(means=const("float", [[1]]), dtype="float")])
def parameterized_truncated_normal(c):
    dtype, rows = c["dtype"], 0 if c.mode == "empty" else c.int(1, 12)
    shape = [rows] if c.chance() else [rows, c.int(1, 9)]
    low, high = bounds(c)
    mean, deviation = c.pick(0.0, 1.5, -4.0), c.pick(1.0, 0.25, 3.0)
    each = (lambda value: const(dtype, [value] * rows)) if c.chance(0.3) and c.mode != "empty" else (lambda value: const(dtype, value))
    inputs = dict(shape=const(c["T"], shape), means=each(mean), stdevs=each(deviation), minvals=each(mean + low * deviation),
                  maxvals=each(mean + high * deviation))
    return inputs, dict(dtype=dtype, T=c["T"], seed=c.int(1, 99), seed2=c.int(0, 99))


SEED = t("Tseed", (2,), extreme)
op(["StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"], dict(shape=SHAPE, seed=SEED),
   dict(dtype=ALL_FLOATS, T=INDEX, Tseed=INDEX), count=24, special=0, compare="bits",
   bad=with_bad_shapes("T", dict(seed=const("int64", [1]), Tseed="int64")))
op("StatelessRandomUniformInt", dict(shape=SHAPE, seed=SEED, minval=v("dtype", -5), maxval=v("dtype", lambda c: c.pick(1, 10, 2**31 - 1))),
   dict(dtype=INDEX, T=INDEX, Tseed=INDEX), special=0, compare="bits",
   bad=[dict(shape=const("int32", [2]), T="int32", maxval=const("int32", -5), dtype="int32")])
op("StatelessRandomUniformFullInt", dict(shape=SHAPE, seed=SEED), dict(dtype=INTS + UNSIGNED, T=INDEX, Tseed=INDEX), special=0)

KEY = dict(key=t("uint64", (1,), extreme), counter=t("uint64", (2,), extreme), alg=lambda c: const("int32", c.pick(1, 3)))
BAD_KEYS = [dict(key=zeros("uint64")), dict(key=zeros("uint64", 2)), dict(counter=zeros("uint64")), dict(alg=const("int32", 2)),
            dict(alg=const("int32", 0)), dict(alg=const("int32", [1]))]
op(["StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"], dict(shape=v("Tshape", sizes), **KEY),
   dict(dtype=ALL_FLOATS, Tshape=INDEX), count=24, special=0, compare="bits", bad=with_bad_shapes("Tshape", *BAD_KEYS))
op("StatelessRandomUniformIntV2", dict(shape=v("Tshape", sizes), **KEY, minval=v("dtype", -5), maxval=v("dtype", lambda c: c.pick(1, 10))),
   dict(dtype=INDEX, Tshape=INDEX), special=0, compare="bits", bad=BAD_KEYS)
op("StatelessRandomUniformFullIntV2", dict(shape=v("Tshape", sizes), **KEY), dict(dtype=INTS + UNSIGNED, Tshape=INDEX), special=0, bad=BAD_KEYS)
op(["StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg"], dict(seed=SEED), dict(Tseed=INDEX), special=0,
   bad=[dict(seed=const("int64", [1]), Tseed="int64"), dict(seed=const("int64", 1), Tseed="int64")])
op("StatelessRandomGetAlg", count=1, empty=0, special=0)


@program(count=6, compare="bits")
def random_goes_on_from_run_to_run(c, tf):
    """Each node has its own sequence, which later runs continue, whatever else they fetch."""
    raw, seeds = tf.raw_ops, dict(seed=c.int(1, 9), seed2=c.int(0, 9))
    shape = c.feed(const("int32", c.any_shape()))
    nodes = [raw.RandomUniform(shape=shape, dtype=tf.as_dtype(c.pick("float32", "float64", "half")), **seeds),
             raw.RandomStandardNormal(shape=shape, dtype=tf.float32, **seeds),
             raw.TruncatedNormal(shape=shape, dtype=tf.float32, **seeds),
             raw.RandomUniformInt(shape=shape, minval=3, maxval=1000, **seeds),
             raw.RandomShuffle(value=tf.constant(list(range(c.int(1, 50)))), **seeds),
             raw.Multinomial(logits=[[0.1, 0.2, 0.3], [1.0, -1.0, 0.0]], num_samples=c.int(1, 9), **seeds),
             raw.ParameterizedTruncatedNormal(shape=[c.int(1, 150)], means=0.0, stdevs=1.0, minvals=-1.0, maxvals=2.0, **seeds)]
    for _ in range(3):
        c.run([node for node in nodes if c.chance(0.7)] or nodes)
    return nodes
