"""Barriers, staging areas and tensors that a session keeps."""

from harness.notation import *


class B:
    """A barrier of (float, int32[2]) and the ops on it."""

    def __init__(self, tf, **attrs):
        self.raw, self.types = tf.raw_ops, [tf.float32, tf.int32]
        self.handle = self.raw.Barrier(**dict(dict(component_types=self.types, shapes=[[], [2]]), **attrs))

    def insert(self, component, keys, values):
        return self.raw.BarrierInsertMany(handle=self.handle, keys=keys, values=values, component_index=component)

    def take(self, n, **attrs):
        taken = self.raw.BarrierTakeMany(handle=self.handle, num_elements=n, component_types=self.types, **attrs)
        return [taken.indices, taken.keys, *taken.values]

    def close(self, cancel=False):
        return self.raw.BarrierClose(handle=self.handle, cancel_pending_enqueues=cancel)

    def sizes(self):
        return [self.raw.BarrierReadySize(handle=self.handle), self.raw.BarrierIncompleteSize(handle=self.handle)]


@program(ops=["Barrier", "BarrierInsertMany", "BarrierTakeMany", "BarrierReadySize", "BarrierIncompleteSize", "BarrierClose"], count=4)
def barriers(c, tf):
    b = B(tf)
    c.run([], [b.insert(0, ["a", "b"], c.feed(c.array("float", (2,))))])
    c.run([], [b.insert(0, ["c"], c.feed(c.array("float", (1,))))])
    c.run(b.sizes())
    c.run([], [b.insert(1, ["c", "b"], c.feed(c.array("int32", (2, 2))))])
    c.run(b.sizes())
    c.run(b.take(c.feed(const("int32", 1))))
    c.run([], [b.insert(1, ["a"], c.feed(c.array("int32", (1, 2))))])
    c.run([], [b.insert(0, ["d", "e"], c.feed(c.array("float", (2,))))])
    c.run([], [b.close()])
    c.run([], [b.insert(1, ["d"], c.feed(c.array("int32", (1, 2))))])
    c.run(b.sizes())
    c.run(b.take(5, allow_small_batch=True))
    return b.sizes()


def fails(function):
    return program(count=1, may_fail=True)(function)


def bad_barrier(name, steps, **attrs):
    def run(c, tf):
        b = B(tf, **attrs)
        for step in steps(b):
            c.run(*((step, []) if isinstance(step, list) else ([], [step])))

    run.__name__ = name
    fails(run)


bad_barrier("component_twice", lambda b: [b.insert(0, ["a"], [1.0]), b.insert(0, ["a"], [1.0])])
bad_barrier("key_twice_in_a_call", lambda b: [b.insert(0, ["a", "a"], [1.0, 2.0])])
bad_barrier("no_such_component", lambda b: [b.insert(2, ["a"], [1.0])])
bad_barrier("component_of_another_type", lambda b: [b.insert(0, ["a"], [1])])
bad_barrier("new_key_when_closed", lambda b: [b.insert(0, ["a"], [1.0]), b.close(), b.insert(0, ["z"], [1.0])])
bad_barrier("component_when_cancelled", lambda b: [b.insert(0, ["a"], [1.0]), b.close(True), b.insert(1, ["a"], [[1, 2]])])
bad_barrier("take_when_closed", lambda b: [b.close(), b.take(1)])
bad_barrier("take_fewer_when_closed", lambda b: [b.close(), b.take(1, allow_small_batch=True)])
bad_barrier("close_a_barrier_twice", lambda b: [b.close(), b.close()])
bad_barrier("barrier_without_shapes", lambda b: [b.sizes()], shapes=[])
bad_barrier("barrier_of_unknown_shapes", lambda b: [b.sizes()], shapes=[[None], []])
bad_barrier("barrier_with_a_capacity", lambda b: [b.sizes()], capacity=3)


@program(ops=["Stage", "Unstage", "StagePeek", "StageSize", "StageClear"], count=3)
def stages(c, tf):
    raw = tf.raw_ops
    area = dict(dtypes=[tf.float32, tf.string], shared_name="area", capacity=c.pick(0, 5))
    for _ in range(3):
        values = [c.feed(c.array("float", (2,))), c.feed(c.array("string", (3,)))]
        c.run([], [raw.Stage(values=values, shared_name="area", capacity=area["capacity"])])
    c.run([raw.StageSize(**area)])
    c.run(raw.StagePeek(index=1, **area))
    c.run(raw.Unstage(**area))
    c.run([raw.StageSize(**area)])
    c.run([], [raw.StageClear(**area)])
    return [raw.StageSize(**area)]


MAP_OPS = ["Stage", "Unstage", "UnstageNoKey", "Peek", "Size", "IncompleteSize", "Clear"]


def map_ops(tf, kind):
    return [getattr(tf.raw_ops, kind + name) for name in MAP_OPS]


def under_keys(c, tf, kind):
    stage, unstage, unstage_no_key, peek, size, incomplete_size, clear = map_ops(tf, kind)
    area = dict(dtypes=[tf.float32, tf.int32], shared_name="area")
    key = lambda k: tf.constant(k, tf.int64)
    sizes = lambda: c.run([size(**area), incomplete_size(**area)])
    f, i = c.feed(c.array("float", (2,))), c.feed(c.array("int32", (3,)))
    c.run([], [stage(key=key(3), indices=[0, 1], values=[f, i], **area)])
    c.run([], [stage(key=key(1), indices=[1], values=[i], **area)])
    sizes()
    c.run([], [stage(key=key(1), indices=[0], values=[f], **area)])
    sizes()
    c.run(peek(key=key(1), indices=[0, 1], **area))
    c.run(unstage(key=key(1), indices=[0, 1], **area))
    rest = unstage_no_key(indices=[0, 1], **area)
    c.run([rest.key, *rest.values])
    sizes()
    c.run([], [stage(key=key(9), indices=[0], values=[f], **area)])
    c.run([], [clear(**area)])
    return [size(**area), incomplete_size(**area)]


@program(ops=["Map" + name for name in MAP_OPS], count=3)
def staged_under_keys(c, tf):
    return under_keys(c, tf, "Map")


@program(ops=["OrderedMap" + name for name in MAP_OPS], count=3)
def staged_under_ordered_keys(c, tf):
    return under_keys(c, tf, "OrderedMap")


@program(ops=["OrderedMapStage", "OrderedMapUnstageNoKey"], count=2)
def ordered_keys_come_in_order(c, tf):
    stage, _, unstage_no_key, *_ = map_ops(tf, "OrderedMap")
    area = dict(dtypes=[tf.float32], shared_name="ordered_area", capacity=c.pick(0, 5))
    for k in c.rng.permutation([-7, 0, 2, 5, 2**40]):
        c.run([], [stage(key=tf.constant(k, tf.int64), indices=[0], values=[c.feed(c.array("float", (2,)))], **area)])
    for _ in range(5):
        taken = unstage_no_key(indices=[0], **area)
        c.run([taken.key, *taken.values])


@program(ops=["StageSize", "MapSize", "OrderedMapSize"], count=1)
def areas_of_three_kinds_under_one_name(c, tf):
    raw = tf.raw_ops
    area = dict(dtypes=[tf.float32], shared_name="of_three_kinds")
    sizes = [raw.StageSize(**area), raw.MapSize(**area), raw.OrderedMapSize(**area)]
    c.run([], [raw.OrderedMapStage(key=tf.constant(1, tf.int64), indices=[0], values=[1.0], **area)])
    c.run(sizes)
    c.run([], [raw.Stage(values=[1.0], shared_name="of_three_kinds")])
    c.run(sizes)
    c.run([], [raw.MapClear(**area)])
    return sizes


def bad_ordered_map(name, **stage):
    def run(c, tf):
        given = dict(dict(key=tf.constant(1, tf.int64), indices=[0], values=[1.0], dtypes=[tf.float32, tf.int32], shared_name=name), **stage)
        for _ in range(2 if not stage else 1):
            c.run([], [tf.raw_ops.OrderedMapStage(**given)])

    run.__name__ = name
    fails(run)


bad_ordered_map("ordered_part_twice")
bad_ordered_map("ordered_part_that_is_not_there", indices=[2])


@program(ops=["GetSessionTensor"], count=1, may_fail=True)
def not_kept_by_the_session(c, tf):
    return [tf.raw_ops.GetSessionTensor(handle="nobody", dtype=tf.float32)]


leave_out("GetSessionHandle DeleteSessionTensor", "a handle that one session made means nothing to the other; sessions/handles.py has them")
leave_out("GetSessionHandleV2", "TensorFlow's client cannot read the resource handle that it gives; src/runtime/structures_test.cc has it")
