"""Variables, stacks, counters: what lives longer than an op."""

import numpy as np

from harness.notation import *

NUMBERS_OF_SCATTER = ALL_FLOATS + ALL_INTS


def rows(c):
    return (c.size(), *c.any_shape(0, 2))


# Assignments.
op("Assign", dict(ref=ref(t("T")), value=t("T", like("ref"))), dict(T=ALL_TYPES, use_locking=BOOLS),
   bad=[dict(ref=ref(t("T", (2, 3))), value=zeros("float", 3, 2), T="float")])
op("Assign", dict(ref=ref(t("T"), initialized=False), value=t("T", like("ref"))), dict(T=ALL_TYPES), count=4)
op("Assign", dict(ref=ref(t("T")), value=t("T")), dict(T=ALL_TYPES, validate_shape=False), count=4)
op(["AssignAdd", "AssignSub"], dict(ref=ref(t("T")), value=t("T", like("ref"))), dict(T=NUMBERS, use_locking=BOOLS),
   bad=[dict(ref=ref(t("T", (2,)), initialized=False), value=zeros("float", 2), T="float"),
        dict(ref=ref(t("T", (2,))), value=zeros("float", 3), T="float")])
op("AssignVariableOp", dict(resource=resource(t("dtype")), value=t("dtype", like("resource"))), dict(dtype=ALL_TYPES, validate_shape=BOOLS),
   bad=[dict(resource=resource(t("dtype", (2, 3))), value=zeros("float", 3, 2), dtype="float"),
        dict(resource=resource(t("int32", (2,))), value=zeros("float", 2), dtype="float")])
op("AssignVariableOp", dict(resource=resource(t("dtype"), initialized=False), value=t("dtype", like("resource"))), dict(dtype=ALL_TYPES), count=4)
op(["AssignAddVariableOp", "AssignSubVariableOp"], dict(resource=resource(t("dtype")), value=t("dtype", like("resource"))), dict(dtype=NUMBERS),
   bad=[dict(resource=resource(t("dtype", (2,))), value=zeros("float", 3), dtype="float")])

# Reading and asking.
op("ReadVariableOp", dict(resource=resource(t("dtype"))), dict(dtype=ALL_TYPES),
   bad=[dict(resource=resource(t("float", (2,)), initialized=False), dtype="float"), dict(resource=resource(t("int32", (2,))), dtype="float")])
op("IsVariableInitialized", dict(ref=ref(t("dtype"))), dict(dtype=ALL_TYPES))
op("VarIsInitializedOp", dict(resource=resource(t(ALL_TYPES))))
op("DisableCopyOnRead", dict(resource=resource(t(ALL_TYPES))), bad=[dict(resource=resource(t("float", (2,)), initialized=False))])
op("VariableShape", dict(input=resource(t(ALL_TYPES))), dict(out_type=INDEX))
op("RefIdentity", dict(input=ref(t("T"))), dict(T=ALL_TYPES))
op("CountUpTo", dict(ref=ref(t("T", "", one_of(0, 2, 4)))), dict(T=INDEX, limit=5), empty=0,
   bad=[dict(ref=ref(t("T", "", one_of(5))))])
op("ResourceCountUpTo", dict(resource=resource(t("T", "", one_of(0, 2, 4)))), dict(T=INDEX, limit=5), empty=0,
   bad=[dict(resource=resource(t("T", "", one_of(5))))])


# Rows of a variable.
def scatter(names, name, kind, type_attr, types, domain=usual, **options):
    def row_numbers(c):
        n = c.shape(name)[0]
        return c.rng.integers(0, n, c.any_shape(0, 2)) if n > 0 else np.zeros((0,), int)

    def updates(c):
        return () if c.chance(0.2) else (*c.shape("indices"), *c.shape(name)[1:])

    inputs = {name: kind(t(type_attr, rows)), "indices": v("Tindices", row_numbers), "updates": t(type_attr, updates, domain, special=False)}
    three = {name: kind(t(type_attr, (3, 2))), "Tindices": "int32", type_attr: types[0]}
    op(names, inputs, dict({type_attr: types}, Tindices=INDEX), special=0,
       bad=[dict(three, indices=const("int32", [0, 3]), updates=zeros(types[0], 2, 2)),
            dict(three, indices=const("int32", [-1]), updates=zeros(types[0], 1, 2)),
            dict(three, indices=const("int32", [1]), updates=zeros(types[0], 2, 2))], **options)


FLOATS_AND_INTS = ALL_FLOATS + INTS
scatter("ScatterUpdate", "ref", ref, "T", ALL_TYPES)
scatter(["ScatterAdd", "ScatterSub", "ScatterMul"], "ref", ref, "T", NUMBERS_OF_SCATTER)
scatter("ScatterDiv", "ref", ref, "T", NUMBERS_OF_SCATTER, nonzero)
scatter(["ScatterMin", "ScatterMax"], "ref", ref, "T", FLOATS_AND_INTS)
scatter("ResourceScatterUpdate", "resource", resource, "dtype", ALL_TYPES)
scatter(["ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul", "ResourceScatterMin", "ResourceScatterMax"], "resource", resource, "dtype",
        NUMBERS_OF_SCATTER)
scatter("ResourceScatterDiv", "resource", resource, "dtype", NUMBERS_OF_SCATTER, nonzero)


def scatter_nd(names, kind, types):
    def places(c):
        shape = c.shape("ref")
        depth = c.int(1, len(shape))
        count = c.any_shape(1, 2) if all(shape[:depth]) else (0,)
        return np.stack([c.rng.integers(0, max(size, 1), count) for size in shape[:depth]], -1)

    def updates(c):
        return (*c.shape("indices")[:-1], *c.shape("ref")[c.shape("indices")[-1]:])

    three = {"ref": kind(t("T", (3, 2))), "Tindices": "int32", "T": types[0]}
    op(names, dict(ref=kind(t("T", rank(1, 3))), indices=v("Tindices", places), updates=t("T", updates, special=False)),
       dict(T=types, Tindices=INDEX), special=0, empty=0,
       bad=[dict(three, indices=const("int32", [[0, 2]]), updates=zeros(types[0], 1)),
            dict(three, indices=const("int32", [[-1]]), updates=zeros(types[0], 1, 2)),
            dict(three, indices=const("int32", [[1]]), updates=zeros(types[0], 2, 2)),
            dict(three, indices=const("int32", [[1, 1, 1]]), updates=zeros(types[0], 1)),
            dict(three, indices=const("int32", 1), updates=zeros(types[0]))])


scatter_nd("ScatterNdUpdate", ref, ALL_TYPES)
scatter_nd(["ScatterNdAdd", "ScatterNdSub"], ref, NUMBERS_OF_SCATTER)
scatter_nd("ResourceScatterNdUpdate", resource, ALL_TYPES)
scatter_nd(["ResourceScatterNdAdd", "ResourceScatterNdSub"], resource, NUMBERS_OF_SCATTER)


@generate("ResourceGather", attrs=dict(dtype=ALL_TYPES, Tindices=INDEX), special=0,
          bad=[dict(indices=const("int32", [9]), resource=resource(t("float", (3, 2))), dtype="float", Tindices="int32", batch_dims=0),
               dict(indices=const("int32", [-1]), resource=resource(t("float", (3, 2))), dtype="float", Tindices="int32", batch_dims=0),
               dict(indices=const("int32", [1]), resource=resource(t("float", (3, 2))), dtype="float", Tindices="int32", batch_dims=-1),
               dict(indices=const("int32", [[1]]), resource=resource(t("float", (3, 2))), dtype="float", Tindices="int32", batch_dims=2)])
def resource_gather(c):
    batch = c.any_shape(0, 2) if c.mode != "empty" else ()
    n = c.int(1, 5)
    shape = (*batch, n, *c.any_shape(0, 2))
    inputs = dict(resource=resource(t(c["dtype"], shape)), indices=const(c["Tindices"], c.rng.integers(0, n, (*batch, *c.any_shape(0, 2)))))
    return inputs, dict(dtype=c["dtype"], Tindices=c["Tindices"], batch_dims=len(batch))


@generate("ResourceGatherNd", attrs=dict(dtype=ALL_TYPES, Tindices=INDEX), special=0, empty=0,
          bad=[dict(indices=const("int32", [[9]]), resource=resource(t("float", (3, 2))), dtype="float", Tindices="int32"),
               dict(indices=const("int32", [[0, -1]]), resource=resource(t("float", (3, 2))), dtype="float", Tindices="int32")])
def resource_gather_nd(c):
    shape = c.any_shape(1, 3)
    depth = c.int(1, len(shape))
    count = c.any_shape(1, 2)
    places = np.stack([c.rng.integers(0, size, count) for size in shape[:depth]], -1)
    return dict(resource=resource(t(c["dtype"], shape)), indices=const(c["Tindices"], places)), dict(dtype=c["dtype"], Tindices=c["Tindices"])


# Several ops, several runs.
@program(ops=["Variable", "VariableV2", "VarHandleOp"], count=4)
def variables_last(c, tf):
    dtype = tf.as_dtype(c.pick("float32", "float64", "int32", "int64"))
    raw = tf.raw_ops
    value = tf.constant(c.array(c.pick("float"), (2, 3)).astype(dtype.as_numpy_dtype))
    old = raw.Variable(shape=[2, 3], dtype=dtype, shared_name="a")
    new = raw.VariableV2(shape=[2, 3], dtype=dtype, shared_name="b")
    handle = raw.VarHandleOp(shape=[2, 3], dtype=dtype, shared_name="c")
    c.run([], [raw.Assign(ref=old, value=value).op, raw.Assign(ref=new, value=value).op, raw.AssignVariableOp(resource=handle, value=value)])
    for _ in range(2):
        c.run([], [raw.AssignAdd(ref=old, value=value).op, raw.AssignSub(ref=new, value=value).op, raw.AssignAddVariableOp(resource=handle, value=value)])
    return [tf.identity(old), tf.identity(new), raw.ReadVariableOp(resource=handle, dtype=dtype)]


@program(count=2)
def without_value(c, tf):
    raw, dtype = tf.raw_ops, tf.as_dtype(c.pick("float32", "string", "int64"))
    variable = raw.VariableV2(shape=[2], dtype=dtype, shared_name="a")
    handle = raw.VarHandleOp(shape=[2], dtype=dtype, shared_name="b")
    return [raw.IsVariableInitialized(ref=variable), raw.VarIsInitializedOp(resource=handle)]


@program(count=3)
def reads_are_snapshots(c, tf):
    """A value that was read does not change when the variable does."""
    raw = tf.raw_ops
    handle = raw.VarHandleOp(shape=[3], dtype=tf.float32, shared_name="v")
    c.run([], [raw.AssignVariableOp(resource=handle, value=[1.0, 2.0, 3.0])])
    before = raw.ReadVariableOp(resource=handle, dtype=tf.float32)
    with tf.control_dependencies([before]):
        change = raw.AssignAddVariableOp(resource=handle, value=[10.0, 20.0, 30.0])
    with tf.control_dependencies([change]):
        after = raw.ReadVariableOp(resource=handle, dtype=tf.float32)
        same = tf.identity(before)
    return [before, same, after]


@program(ops=["TemporaryVariable", "DestroyTemporaryVariable"], count=3)
def temporary_variables(c, tf):
    raw = tf.raw_ops
    value = c.feed(c.array("float", (2, 3)))
    variable = raw.TemporaryVariable(shape=[2, 3], dtype=tf.float32, var_name="sum")
    sum_ = raw.Assign(ref=variable, value=value)
    for _ in range(c.int(1, 3)):
        sum_ = raw.AssignAdd(ref=sum_, value=value)
    return [raw.DestroyTemporaryVariable(ref=sum_, var_name="sum")]


@program(ops=["StackV2", "StackPushV2", "StackPopV2", "StackCloseV2"], count=4)
def stacks(c, tf):
    raw = tf.raw_ops
    dtype = c.pick("float", "int32", "string")
    stack = raw.StackV2(max_size=c.pick(-1, 3), elem_type=tf.as_dtype({"float": "float32"}.get(dtype, dtype)))
    fetches, last = [], None
    for _ in range(3):
        value = c.feed(c.array(dtype, c.any_shape()))
        with tf.control_dependencies([last] if last is not None else []):
            last = raw.StackPushV2(handle=stack, elem=value)
        fetches.append(last)
    for _ in range(3):
        with tf.control_dependencies([last]):
            last = raw.StackPopV2(handle=stack, elem_type=last.dtype)
        fetches.append(last)
    with tf.control_dependencies([last]):
        c.run(fetches, [raw.StackCloseV2(handle=stack)])
    return fetches


@program(ops=["Stack", "StackPush", "StackPop", "StackClose"], count=2)
def old_stacks(c, tf):
    raw = tf.raw_ops
    stack = raw.Stack(elem_type=tf.float32)
    pushed = raw.StackPush(handle=stack, elem=c.feed(c.array("float", (2,))))
    with tf.control_dependencies([pushed]):
        popped = raw.StackPop(handle=stack, elem_type=tf.float32)
    with tf.control_dependencies([popped]):
        c.run([pushed, popped], [raw.StackClose(handle=stack)])
    return [pushed, popped]


@program(ops=["DestroyResourceOp"], count=1, may_fail=True)
def destroyed_variables_have_no_value(c, tf):
    raw = tf.raw_ops
    handle = raw.VarHandleOp(shape=[], dtype=tf.float32, shared_name="gone")
    c.run([], [raw.AssignVariableOp(resource=handle, value=1.0)])
    c.run([], [raw.DestroyResourceOp(resource=handle, ignore_lookup_error=False)])
    return [raw.ReadVariableOp(resource=handle, dtype=tf.float32)]
