"""Arrays and lists of tensors."""

import numpy as np

from harness.notation import *

TYPES = {"float": "float32", "double": "float64", "int32": "int32", "string": "string"}


# Tensor arrays, through tf.TensorArray where it builds the graph that programs have.
def array(tf, size, dtype="float32", **attrs):
    return tf.raw_ops.TensorArrayV3(size=size, dtype=tf.as_dtype(dtype), **attrs)


@program(ops=["TensorArrayV3", "TensorArrayWriteV3", "TensorArrayReadV3", "TensorArraySizeV3", "TensorArrayCloseV3"], count=8)
def written_and_read(c, tf):
    raw, name = tf.raw_ops, c.pick(*TYPES)
    n, shape = c.int(1, 4), c.any_shape(0, 3)
    handle, flow = array(tf, c.feed(const("int32", n)), TYPES[name], clear_after_read=c.chance(), identical_element_shapes=c.chance(),
                         element_shape=c.pick(None, shape))
    for i in c.rng.permutation(n):
        flow = raw.TensorArrayWriteV3(handle=handle, index=c.feed(const("int32", i)), value=c.feed(c.array(name, shape)), flow_in=flow)
    values = [raw.TensorArrayReadV3(handle=handle, index=i, flow_in=flow, dtype=tf.as_dtype(TYPES[name])) for i in range(n)]
    size = raw.TensorArraySizeV3(handle=handle, flow_in=flow)
    with tf.control_dependencies([*values, size]):
        close = raw.TensorArrayCloseV3(handle=handle)
    c.run([*values, size], [close])
    return [flow]


@program(ops=["TensorArrayGatherV3", "TensorArrayScatterV3"], count=10)
def gathered_and_scattered(c, tf):
    n, shape = c.int(1, 5), c.any_shape(0, 3)
    x = c.feed(c.array("double", (n, *shape)))
    a = tf.TensorArray(tf.float64, size=c.pick(n, n + 2), clear_after_read=False, infer_shape=c.chance(), element_shape=c.pick(None, shape))
    a = a.scatter(c.feed(const("int32", c.rng.permutation(n))), x)
    y = a.gather(c.feed(const("int32", c.rng.integers(0, n, c.int(1, 4)))))
    c.gradient([y], [x])
    return [y]


@program(count=4)
def stacked_and_unstacked(c, tf):
    n, shape = c.int(1, 5), c.any_shape(0, 2)
    x = c.feed(c.array("double", (n, *shape)))
    y = tf.TensorArray(tf.float64, size=n).unstack(x).stack()
    c.gradient([y], [x])
    return [y]


@program(ops=["TensorArraySplitV3", "TensorArrayConcatV3"], count=8)
def split_and_concatenated(c, tf):
    lengths = c.rng.integers(0, 4, c.int(1, 4))
    x = c.feed(c.array("double", (int(lengths.sum()), *c.any_shape(0, 2))))
    a = tf.TensorArray(tf.float64, size=c.pick(len(lengths), 0), dynamic_size=True, infer_shape=False)
    y = a.split(x, c.feed(lengths.astype(np.int32))).concat()
    c.gradient([y], [x])
    return [y]


@program(count=3)
def lengths_of_a_concatenation(c, tf):
    handle, flow = array(tf, 3)
    flow = tf.raw_ops.TensorArraySplitV3(handle=handle, value=c.feed(c.array("float", (6, 2))), lengths=tf.constant([1, 0, 5], tf.int64), flow_in=flow)
    return list(tf.raw_ops.TensorArrayConcatV3(handle=handle, flow_in=flow, dtype=tf.float32, element_shape_except0=c.pick(None, [2], [None])))


@program(count=6)
def written_in_any_order(c, tf):
    """Elements that are read twice have a gradient that is a sum."""
    n, shape = c.int(2, 4), c.any_shape(0, 2)
    xs = [c.feed(c.array("double", shape)) for _ in range(n)]
    a = tf.TensorArray(tf.float64, size=n, clear_after_read=False, element_shape=shape)
    for i in c.rng.permutation(n):
        a = a.write(int(i), xs[i])
    y = a.read(0) * a.read(1) + a.read(0)
    c.gradient([y], xs[:2])
    return [y, a.stack()]


@program(count=3)
def grows(c, tf):
    a = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[2])
    x = c.feed(c.array("float", (2,)))
    a = a.write(c.int(0, 3), x).write(c.int(4, 6), x)
    return [a.size(), a.stack()]


@program(ops=["TensorArrayGradV3"], count=4)
def arrays_of_gradients_add_up(c, tf):
    raw = tf.raw_ops
    handle, flow = array(tf, 3)
    flow = raw.TensorArrayWriteV3(handle=handle, index=1, value=c.feed(c.array("float", (2, 3))), flow_in=flow)
    flow = raw.TensorArrayWriteV3(handle=handle, index=2, value=c.feed(c.array("float", (4,))), flow_in=flow)
    gradient, flow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="here")
    same, flow = raw.TensorArrayGradV3(handle=handle, flow_in=flow, source="here")
    for where in (gradient, same, gradient):
        flow = raw.TensorArrayWriteV3(handle=where, index=1, value=c.feed(c.array("float", (2, 3))), flow_in=flow)
    read = lambda i: raw.TensorArrayReadV3(handle=gradient, index=i, flow_in=flow, dtype=tf.float32)
    return [read(1), read(2), raw.TensorArraySizeV3(handle=same, flow_in=flow)]


@program(ops=["TensorArrayGradWithShape"], count=2)
def gradients_of_another_shape(c, tf):
    raw = tf.raw_ops
    handle, flow = array(tf, 2)
    flow = raw.TensorArrayWriteV3(handle=handle, index=1, value=c.feed(c.array("float", (2,))), flow_in=flow)
    gradient, flow = raw.TensorArrayGradWithShape(handle=handle, flow_in=flow, shape_to_prepend=c.feed(const("int32", [3])), source="here")
    return [raw.TensorArrayReadV3(handle=gradient, index=1, flow_in=flow, dtype=tf.float32)]


@program(count=6)
def loop_over_rows(c, tf):
    """As dynamic_rnn does: one array in, one out, differentiated."""
    n, width = c.int(1, 4), c.int(1, 3)
    x, w = c.feed(c.array("double", (n, width))), c.feed(c.array("double", (width,)))
    rows = tf.TensorArray(tf.float64, size=n, element_shape=[width]).unstack(x)
    out = tf.TensorArray(tf.float64, size=n)

    def body(i, state, out):
        state = tf.tanh(state * w + rows.read(i))
        return i + 1, state, out.write(i, state)

    _, state, out = tf.while_loop(lambda i, *_: i < n, body, [tf.constant(0), tf.zeros([width], tf.float64), out])
    y = out.stack()
    c.gradient([y, state], [x, w])
    return [y, state]


def fails(function):
    return program(count=1, may_fail=True)(function)


def write(tf, handle, flow, index, value):
    return tf.raw_ops.TensorArrayWriteV3(handle=handle, index=index, value=value, flow_in=flow)


def read(tf, handle, flow, index, dtype="float32"):
    return tf.raw_ops.TensorArrayReadV3(handle=handle, index=index, flow_in=flow, dtype=tf.as_dtype(dtype))


def bad_array(name, function, **attrs):
    def run(c, tf):
        unknown = lambda value, dtype=None: tf.placeholder_with_default(tf.constant(value, dtype), None)
        handle, flow = array(tf, unknown(attrs.pop("size", 3)), **attrs)
        return [function(tf, handle, flow, unknown)]

    run.__name__ = name
    fails(run)


def twice(tf, h, f, first, second):
    """`second` once `first` has run."""
    with tf.control_dependencies([first(tf, h, f)]):
        return second(tf, h, tf.identity(f))


bad_array("write_past_the_end", lambda tf, h, f, u: write(tf, h, f, 3, 1.0))
bad_array("write_before_the_start", lambda tf, h, f, u: write(tf, h, f, u(-1), 1.0))
bad_array("write_before_the_start_of_a_growing_one", lambda tf, h, f, u: write(tf, h, f, u(-1), 1.0), dynamic_size=True)
bad_array("write_twice", lambda tf, h, f, u: write(tf, h, write(tf, h, f, 0, 1.0), 0, 1.0))
bad_array("read_what_was_not_written", lambda tf, h, f, u: read(tf, h, f, 0))
bad_array("read_what_was_not_written_partly_known", lambda tf, h, f, u: read(tf, h, f, 0), element_shape=[None])
bad_array("read_past_the_end", lambda tf, h, f, u: read(tf, h, f, 5))
bad_array("read_another_type", lambda tf, h, f, u: read(tf, h, write(tf, h, f, 0, 1.0), 0, "int32"))
bad_array("write_another_type", lambda tf, h, f, u: write(tf, h, f, 0, 1))
bad_array("write_another_shape", lambda tf, h, f, u: write(tf, h, f, 0, u(1.0)), element_shape=[2])
bad_array("shapes_that_differ", lambda tf, h, f, u: write(tf, h, write(tf, h, f, 0, u(1.0)), 1, u([1.0])), identical_element_shapes=True)
bad_array("read_twice", lambda tf, h, f, u: twice(tf, h, write(tf, h, f, 0, 1.0), lambda tf, h, f: read(tf, h, f, 0), lambda tf, h, f: read(tf, h, f, 0)))
bad_array("write_after_read", lambda tf, h, f, u: twice(tf, h, write(tf, h, f, 0, 1.0), lambda tf, h, f: read(tf, h, f, 0),
                                                         lambda tf, h, f: write(tf, h, f, 0, 1.0)), clear_after_read=False)
bad_array("negative_size", lambda tf, h, f, u: f, size=-1)
bad_array("size_is_a_vector", lambda tf, h, f, u: f, size=[1])


def gather(tf, h, f, indices, **attrs):
    return tf.raw_ops.TensorArrayGatherV3(handle=h, indices=indices, flow_in=f, dtype=tf.float32, **attrs)


def scatter(tf, h, f, indices, value):
    return tf.raw_ops.TensorArrayScatterV3(handle=h, indices=indices, value=value, flow_in=f)


bad_array("gather_shapes_that_differ", lambda tf, h, f, u: gather(tf, h, write(tf, h, write(tf, h, f, 0, 1.0), 1, [1.0]), [0, 1]))
bad_array("gather_what_was_not_written", lambda tf, h, f, u: gather(tf, h, write(tf, h, f, 0, 1.0), [0, 1]))
bad_array("gather_by_a_matrix", lambda tf, h, f, u: gather(tf, h, write(tf, h, f, 0, 1.0), u([[0]])))
bad_array("gather_nothing_of_unknown_shape", lambda tf, h, f, u: gather(tf, h, f, u([], tf.int32)))
bad_array("gather_past_the_end", lambda tf, h, f, u: gather(tf, h, f, u([7])), element_shape=[2])
bad_array("gather_another_shape", lambda tf, h, f, u: gather(tf, h, write(tf, h, f, 0, u([1.0, 2.0])), [0], element_shape=[3]), element_shape=[2])
bad_array("scatter_too_many", lambda tf, h, f, u: scatter(tf, h, f, u([0, 1]), u([1.0, 2.0, 3.0])))
bad_array("scatter_past_the_end", lambda tf, h, f, u: scatter(tf, h, f, u([0, 5]), u([1.0, 2.0])))
bad_array("scatter_a_scalar", lambda tf, h, f, u: scatter(tf, h, f, u([0]), u(1.0)))


def split(tf, h, f, value, lengths):
    return tf.raw_ops.TensorArraySplitV3(handle=h, value=value, lengths=lengths, flow_in=f)


def concat(tf, h, f, **attrs):
    return tf.raw_ops.TensorArrayConcatV3(handle=h, flow_in=f, dtype=tf.float32, **attrs)[0]


bad_array("split_into_too_few", lambda tf, h, f, u: split(tf, h, f, u([1.0, 2.0, 3.0]), u([1, 2], tf.int64)))
bad_array("split_more_than_there_is", lambda tf, h, f, u: split(tf, h, f, u([1.0, 2.0, 3.0]), u([1, 2, 3], tf.int64)))
bad_array("split_a_scalar", lambda tf, h, f, u: split(tf, h, f, u(1.0), u([1, 2, 3], tf.int64)))
bad_array("concat_scalars", lambda tf, h, f, u: concat(tf, h, write(tf, h, f, 0, 1.0)), size=1)
bad_array("concat_ranks_that_differ", lambda tf, h, f, u: concat(tf, h, write(tf, h, write(tf, h, f, 0, [1.0]), 1, [[1.0]])), size=2)
bad_array("concat_nothing_of_unknown_shape", lambda tf, h, f, u: concat(tf, h, f), size=0)
bad_array("concat_what_was_not_written", lambda tf, h, f, u: concat(tf, h, f))


def close_first(tf, h, f, u):
    with tf.control_dependencies([tf.raw_ops.TensorArrayCloseV3(handle=h)]):
        return write(tf, h, tf.identity(f), 0, 1.0)


def gradient_of_gradient(tf, h, f, u):
    g, f = tf.raw_ops.TensorArrayGradV3(handle=h, flow_in=f, source="one")
    return tf.raw_ops.TensorArrayGradV3(handle=g, flow_in=f, source="two")[1]


def write_after_gradient(tf, h, f, u):
    _, f = tf.raw_ops.TensorArrayGradV3(handle=h, flow_in=f, source="one")
    return write(tf, h, f, 7, 1.0)


bad_array("write_when_closed", close_first)
bad_array("gradients_have_no_gradients", gradient_of_gradient)
bad_array("no_growth_after_the_gradient", write_after_gradient, dynamic_size=True)


# Tensor lists.
class Lists:
    """The ops on lists of one dtype, fed so that nothing is known before the step."""

    def __init__(self, c, tf, name="float"):
        self.c, self.tf, self.raw, self.name, self.dtype = c, tf, tf.raw_ops, name, tf.as_dtype(TYPES[name])

    def fed(self, value, dtype="int32"):
        return self.c.feed(const(dtype, value), None) if self.c.chance() else self.tf.constant(const(dtype, value))

    def value(self, shape):
        return self.c.feed(self.c.array(self.name, shape))

    def empty(self, shape=-1, most=-1):
        return self.raw.EmptyTensorList(element_shape=self.fed(shape), max_num_elements=most, element_dtype=self.dtype)

    def reserve(self, n, shape=-1):
        return self.raw.TensorListReserve(element_shape=self.fed(shape), num_elements=self.fed(n), element_dtype=self.dtype)

    def push(self, list_, tensor):
        return self.raw.TensorListPushBack(input_handle=list_, tensor=tensor)

    def pop(self, list_, shape=-1):
        return self.raw.TensorListPopBack(input_handle=list_, element_shape=self.fed(shape), element_dtype=self.dtype)

    def get(self, list_, index, shape=-1):
        return self.raw.TensorListGetItem(input_handle=list_, index=self.fed(index), element_shape=self.fed(shape), element_dtype=self.dtype)

    def set(self, list_, index, item, **attrs):
        return self.raw.TensorListSetItem(input_handle=list_, index=self.fed(index), item=item, **attrs)

    def length(self, list_):
        return self.raw.TensorListLength(input_handle=list_)

    def stack(self, list_, shape=-1, n=-1):
        return self.raw.TensorListStack(input_handle=list_, element_shape=self.fed(shape), element_dtype=self.dtype, num_elements=n)

    def rows(self, tensor, shape=-1):
        return self.raw.TensorListFromTensor(tensor=tensor, element_shape=self.fed(shape))

    def gather(self, list_, indices, shape=-1):
        return self.raw.TensorListGather(input_handle=list_, indices=self.fed(indices), element_shape=self.fed(shape), element_dtype=self.dtype)

    def concat(self, list_, shape, leading=()):
        return self.raw.TensorListConcatV2(input_handle=list_, element_shape=self.fed(shape), leading_dims=self.fed(list(leading), "int64"),
                                           element_dtype=self.dtype)


LIST_OPS = "EmptyTensorList TensorListReserve TensorListPushBack TensorListPopBack TensorListGetItem TensorListSetItem TensorListStack TensorListLength"


@program(ops=LIST_OPS.split(), count=12)
def lists(c, tf):
    l = Lists(c, tf, c.pick(*TYPES))
    shape = c.any_shape(0, 3)
    known = c.pick(-1, list(shape), [-1] * len(shape))
    a = l.empty(known)
    for _ in range(3):
        a = l.push(a, l.value(shape))
    b = l.push(a, l.value(shape))  # a is as it was
    popped, last = l.pop(b, known)
    r = l.set(l.reserve(3, list(shape)), 1, l.value(shape))
    grown = l.set(r, 5, l.value(shape), resize_if_index_out_of_bounds=True)
    return [l.length(a), l.length(b), l.stack(a, known), l.stack(b, -1, 4), l.stack(popped), last, l.get(a, 1, known), l.stack(r), l.get(r, 0),
            l.length(grown), l.stack(grown)]


@program(ops="TensorListFromTensor TensorListGather TensorListScatter TensorListScatterV2 TensorListScatterIntoExistingList".split(), count=10)
def lists_and_rows(c, tf):
    l = Lists(c, tf, c.pick(*TYPES))
    n, shape = c.int(1, 4), c.any_shape(0, 2)
    a = l.rows(l.value((n, *shape)), c.pick(-1, list(shape), [-1] * len(shape)))
    places = c.rng.permutation(5)[:n]
    b = l.raw.TensorListScatter(tensor=l.value((n, *shape)), indices=l.fed(places), element_shape=l.fed(-1))
    d = l.raw.TensorListScatterV2(tensor=l.value((n, *shape)), indices=l.fed(places), element_shape=l.fed(list(shape)), num_elements=l.fed(c.pick(-1, 7)))
    into = lambda list_, *indices: l.raw.TensorListScatterIntoExistingList(input_handle=list_, tensor=l.value((len(indices), *shape)), indices=l.fed(indices))
    return [l.stack(a), l.gather(a, c.rng.integers(0, n, c.int(1, 3))), l.gather(a, [], list(shape)), l.stack(b), l.stack(d), l.stack(into(b, 0, 0)), l.length(into(b, 6, 0)), l.stack(a, -1, n)]


@program(ops="TensorListConcat TensorListConcatV2 TensorListSplit TensorListConcatLists TensorListElementShape TensorListResize".split(), count=10)
def lists_of_parts(c, tf):
    l = Lists(c, tf, c.pick(*TYPES))
    row = c.any_shape(0, 2)
    lengths = c.rng.integers(0, 4, 3)
    known = [-1, *row]
    a = l.raw.TensorListSplit(tensor=l.value((int(lengths.sum()), *row)), element_shape=l.fed(c.pick(known, -1)), lengths=l.fed(lengths, "int64"))
    b = l.set(l.reserve(2, c.pick(-1, known)), 1, l.value((2, *row)))
    resized = l.raw.TensorListResize(input_handle=a, size=l.fed(c.pick(1, 5)))
    joined = l.raw.TensorListConcatLists(input_a=l.rows(l.value((2, 3))), input_b=l.rows(l.value((1, 3))), element_dtype=l.dtype)
    shapes = [l.raw.TensorListElementShape(input_handle=x, shape_type=c.pick(tf.int32, tf.int64)) for x in (a, b, joined)]
    old = l.raw.TensorListConcat(input_handle=a, element_dtype=l.dtype, element_shape=c.pick(None, [None, *row]))
    return [*l.concat(a, known), *l.concat(b, known, [3, 9]), *l.concat(b, known), *l.concat(l.empty(), known), *old, l.length(resized), l.stack(joined),
            *shapes]


@program(ops=["TensorListPushBackBatch"], count=2)
def batches_of_lists(c, tf):
    l = Lists(c, tf)
    both = l.raw.TensorListPushBackBatch(input_handles=tf.stack([l.empty(), l.rows(l.value((1, 2)))]), tensor=l.value((2, 2)))
    return [l.stack(both[0]), l.stack(both[1])]


@program(count=3)
def sums_and_zeros_of_lists(c, tf):
    l = Lists(c, tf, c.pick("float", "int32"))
    a, b = l.rows(l.value((3, 2))), l.set(l.reserve(3, [2]), 1, l.value((2,)))
    return [l.stack(tf.raw_ops.AddN(inputs=[a, b, a])), l.stack(tf.zeros_like(a)), l.length(tf.zeros_like(b))]


@program(count=6)
def gradients_through_lists(c, tf):
    l = Lists(c, tf, "double")
    n = c.int(2, 4)
    x, y = l.value((n, 2)), l.value((2,))
    a = l.push(l.set(l.rows(x, [2]), 1, y * y), y)
    a, last = l.pop(a, [2])
    z = [l.stack(a, [2], n) * 2.0, last * l.get(a, 0, [2]), l.gather(a, [0, 1, 0], [2])]
    c.gradient(z, [x, y])
    return z


@program(count=4)
def gradients_through_parts(c, tf):
    l = Lists(c, tf, "double")
    x = l.value((5, 2))
    a = l.raw.TensorListSplit(tensor=x, element_shape=tf.constant([-1, 2]), lengths=tf.constant([2, 0, 3], tf.int64))
    y = l.concat(a, [-1, 2])[0]
    b = l.raw.TensorListScatterV2(tensor=x, indices=tf.constant([3, 1, 0, 2, 6]), element_shape=tf.constant([2]), num_elements=tf.constant(8))
    z = l.gather(b, [1, 3, 3], [2])
    c.gradient([y * y, z], [x])
    return [y, z]


@program(count=4)
def lists_in_a_loop(c, tf):
    n = c.int(1, 5)
    l = Lists(c, tf, "double")
    x = l.value((2,))
    # A loop's variables keep their shape, and a list's is that of its handle.
    body = lambda i, a, s: (i + 1, l.raw.TensorListPushBack(input_handle=a, tensor=s), tf.sin(s * x))
    start = l.raw.EmptyTensorList(element_shape=[2], max_num_elements=-1, element_dtype=tf.float64)
    _, a, _ = tf.while_loop(lambda i, *_: i < n, body, [tf.constant(0), start, x])
    return [l.stack(a, [2])]


def bad_list(name, function):
    def run(c, tf):
        l = Lists(c, tf)
        l.fed = lambda value, dtype="int32": tf.placeholder_with_default(tf.constant(value, tf.as_dtype(dtype)), None)
        l.some = lambda value: tf.placeholder_with_default(tf.constant(value, tf.float32), None)
        result = function(l)
        return [l.length(result) if result.dtype == tf.variant else result]

    run.__name__ = name
    fails(run)


bad_list("pop_from_an_empty_list", lambda l: l.pop(l.empty())[1])
bad_list("push_another_shape", lambda l: l.push(l.empty([2]), l.some(1.0)))
bad_list("push_onto_a_full_list", lambda l: l.push(l.push(l.empty(-1, 1), l.some(1.0)), l.some(1.0)))
bad_list("reserve_less_than_nothing", lambda l: l.reserve(-1))
bad_list("shape_with_a_bad_size", lambda l: l.empty([-2]))
bad_list("shape_that_is_a_number", lambda l: l.empty(3))
bad_list("shape_that_is_a_matrix", lambda l: l.empty([[3]]))
bad_list("pop_zeros_of_unknown_shape", lambda l: l.pop(l.reserve(2))[1])
bad_list("get_past_the_end", lambda l: l.get(l.reserve(3), 3))
bad_list("get_before_the_start", lambda l: l.get(l.reserve(3), -1))
bad_list("get_zeros_of_unknown_shape", lambda l: l.get(l.reserve(3), 0))
bad_list("get_zeros_of_two_shapes", lambda l: l.get(l.set(l.set(l.reserve(3), 1, l.some([1.0, 2.0])), 2, l.some([1.0])), 0))
bad_list("set_past_the_end", lambda l: l.set(l.reserve(3), 3, l.some(1.0)))
bad_list("set_another_shape", lambda l: l.set(l.reserve(3, [2]), 1, l.some(1.0)))
bad_list("stack_nothing_of_unknown_shape", lambda l: l.stack(l.empty()))
bad_list("stack_another_number", lambda l: l.stack(l.push(l.empty(), l.some(1.0)), -1, 2))
bad_list("stack_two_shapes", lambda l: l.stack(l.push(l.push(l.empty(), l.some(1.0)), l.some([1.0]))))
bad_list("stack_only_zeros_of_unknown_shape", lambda l: l.stack(l.reserve(2)))
bad_list("stack_another_shape", lambda l: l.stack(l.push(l.empty(), l.some(1.0)), [2]))
bad_list("rows_of_a_scalar", lambda l: l.rows(l.some(1.0)))
bad_list("rows_of_another_shape", lambda l: l.rows(l.some([[1.0]]), [3]))
bad_list("gather_from_a_list_past_the_end", lambda l: l.gather(l.rows(l.some([[1.0]])), [2]))
bad_list("gather_nothing_from_a_list_of_unknown_shape", lambda l: l.gather(l.rows(l.some([[1.0]])), []))
bad_list("scatter_before_the_start", lambda l: l.raw.TensorListScatter(tensor=l.some([[1.0]]), indices=l.fed([-1]), element_shape=l.fed(-1)))
bad_list("scatter_too_few", lambda l: l.raw.TensorListScatter(tensor=l.some([[1.0]]), indices=l.fed([1, 2]), element_shape=l.fed(-1)))
bad_list("scatter_into_too_short", lambda l: l.raw.TensorListScatterV2(tensor=l.some([[1.0]]), indices=l.fed([3]), element_shape=l.fed(-1), num_elements=l.fed(2)))
bad_list("scatter_into_less_than_nothing", lambda l: l.raw.TensorListScatterV2(tensor=l.some([[1.0]]), indices=l.fed([3]), element_shape=l.fed(-1),
                                                                              num_elements=l.fed(-2)))
bad_list("concat_a_list_of_scalars", lambda l: l.concat(l.push(l.empty(), l.some(1.0)), -1)[0])
bad_list("concat_two_ranks", lambda l: l.concat(l.push(l.push(l.empty(), l.some([1.0])), l.some([[1.0]])), -1)[0])
bad_list("concat_an_empty_list_of_unknown_shape", lambda l: l.concat(l.empty(), -1)[0])
bad_list("split_a_list_too_short", lambda l: l.raw.TensorListSplit(tensor=l.some([1.0, 2.0]), element_shape=l.fed([-1]), lengths=l.fed([1], "int64")))
bad_list("split_a_list_too_long", lambda l: l.raw.TensorListSplit(tensor=l.some([1.0, 2.0]), element_shape=l.fed([-1]), lengths=l.fed([1, 5], "int64")))
bad_list("split_by_a_negative_length", lambda l: l.raw.TensorListSplit(tensor=l.some([1.0, 2.0]), element_shape=l.fed([-1]), lengths=l.fed([-1, 3], "int64")))
bad_list("resize_to_less_than_nothing", lambda l: l.raw.TensorListResize(input_handle=l.empty(), size=l.fed(-1)))
bad_list("join_lists_of_two_shapes", lambda l: l.raw.TensorListConcatLists(input_a=l.empty([1]), input_b=l.empty([2]), element_dtype=l.dtype))
bad_list("push_a_batch_of_another_size", lambda l: l.raw.TensorListPushBackBatch(input_handles=l.tf.stack([l.empty(), l.empty()]),
                                                                                tensor=l.some([1.0, 2.0, 3.0]))[0])
bad_list("add_lists_of_two_lengths", lambda l: l.tf.raw_ops.AddN(inputs=[l.rows(l.some([[1.0]])), l.rows(l.some([[1.0], [2.0]]))]))
