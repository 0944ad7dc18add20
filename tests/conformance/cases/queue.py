"""Queues: over several runs of a session, as programs use them."""

from harness.notation import *

KINDS = ["FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue", "PriorityQueue"]


class Q:
    """A queue of one kind with an old (`old`) or new handle, and the ops on it."""

    def __init__(self, tf, kind, types, shapes, old=False, **attrs):
        self.raw, self.end = tf.raw_ops, "" if old else "V2"
        self.types = [tf.as_dtype(t) for t in types]
        if kind == "RandomShuffleQueue":
            attrs = dict(dict(seed=3, seed2=5), **attrs)
        self.handle = getattr(self.raw, kind + self.end)(component_types=self.types, shapes=shapes, **attrs)
        if kind == "PriorityQueue":
            self.types = [tf.int64, *self.types]

    def op(self, name, **args):
        return getattr(self.raw, name + self.end)(handle=self.handle, **args)

    def enqueue(self, *components):
        return self.op("QueueEnqueue", components=list(components))

    def enqueue_many(self, *components):
        return self.op("QueueEnqueueMany", components=list(components))

    def dequeue(self, types=None):
        return self.op("QueueDequeue", component_types=types or self.types)

    def dequeue_many(self, n, types=None):
        return self.op("QueueDequeueMany", n=n, component_types=types or self.types)

    def dequeue_up_to(self, n):
        return self.op("QueueDequeueUpTo", n=n, component_types=self.types)

    def close(self, cancel=False):
        return self.op("QueueClose", cancel_pending_enqueues=cancel)

    def size(self):
        return self.op("QueueSize")

    def is_closed(self):
        return self.op("QueueIsClosed")


def numbered(c, kind, count):
    """Rows for a queue of (string[], float[3]), with the priorities when it wants some."""
    rows = [c.array("string", (count,)), c.array("float", (count, 3))]
    return ([c.rng.integers(-3, 3, count)] if kind == "PriorityQueue" else []) + rows


def ops_of(*names):
    return [name + end for name in names for end in ("", "V2")]


@program(ops=ops_of(*KINDS, "QueueEnqueueMany", "QueueEnqueue", "QueueDequeue", "QueueDequeueMany", "QueueDequeueUpTo", "QueueSize", "QueueClose",
                    "QueueIsClosed"), count=16, compare="bits")
def in_and_out(c, tf):
    kind = c.pick(*KINDS)
    q = Q(tf, kind, ["string", "float32"], [[], [3]], old=c.chance(), capacity=c.pick(-1, 40))
    c.run([], [q.enqueue_many(*[c.feed(x) for x in numbered(c, kind, 8)])])
    c.run([], [q.enqueue(*[c.feed(x[0]) for x in numbered(c, kind, 1)])])
    c.run([q.size(), q.is_closed()])
    c.run(q.dequeue())
    c.run(q.dequeue())
    c.run(q.dequeue_many(c.feed(const("int32", c.int(0, 3)))))
    c.run(q.dequeue_many(2))
    c.run([], [q.close()])
    c.run([q.size(), q.is_closed()])
    if kind == "PriorityQueue":  # has no fewer than were asked for
        return q.dequeue_up_to(1)
    return q.dequeue_up_to(c.feed(const("int32", 9)))


@program(count=8, compare="bits")
def shuffled_like_tensorflow(c, tf):
    """The same seeds choose the same elements."""
    seeds = dict(seed=c.int(0, 5), seed2=c.int(1, 1 << 40)) if c.chance(0.8) else dict(seed=c.int(1, 9), seed2=0)
    q = Q(tf, "RandomShuffleQueue", ["int32"], [[]], min_after_dequeue=c.int(0, 3), **seeds)
    n = c.int(8, 40)
    c.run([], [q.enqueue_many(c.feed(const("int32", range(n))))])
    for _ in range(2):
        c.run(q.dequeue())
    c.run(q.dequeue_many(2))
    c.run([], [q.enqueue(const("int32", 100))])
    c.run([], [q.close()])
    return q.dequeue_up_to(n)


@program(count=6)
def padded(c, tf):
    q = Q(tf, "PaddingFIFOQueue", ["int32", "string", "float32"], [[None, 2], [None], []], old=c.chance())
    for _ in range(4):
        n = c.int(0, 3)
        c.run([], [q.enqueue(c.feed(c.array("int32", (n, 2))), c.feed(c.array("string", (c.int(0, 4),))), c.feed(c.array("float", ())))])
    c.run(q.dequeue_many(3))
    c.run(q.dequeue_many(0))
    return q.dequeue()


@program(count=3)
def without_shapes(c, tf):
    q = Q(tf, c.pick("FIFOQueue", "RandomShuffleQueue"), ["float32"], [])
    c.run([], [q.enqueue(c.feed(c.array("float")))])
    c.run(q.dequeue())
    c.run([], [q.enqueue_many(c.feed(c.array("float", (1, 2, 3))))])
    return q.dequeue()


@program(count=2)
def unknown_shape_is_a_scalars(c, tf):
    q = Q(tf, "FIFOQueue", ["float32"], [None])
    c.run([], [q.enqueue(1.5)])
    return q.dequeue_many(1)


@program(count=3)
def more_than_fits(c, tf):
    """Both wait for each other, in one step."""
    q = Q(tf, "FIFOQueue", ["int32"], [[]], capacity=2)
    put, take = q.enqueue_many(c.feed(const("int32", range(7)))), q.dequeue_many(5)
    c.run(take, [put])
    return [q.size()]


@program(count=2)
def shared_by_name(c, tf):
    old = c.chance()
    a = Q(tf, "FIFOQueue", ["int32"], [[]], shared_name="queue", capacity=5)
    b = Q(tf, "FIFOQueue", ["int32"], [[]], shared_name="queue", capacity=5, old=old)
    c.run([], [a.enqueue(7)])
    return b.dequeue()


@program(count=2)
def ties_of_priority(c, tf):
    q = Q(tf, "PriorityQueue", ["int32"], [[]])
    n = 30
    c.run([], [q.enqueue_many(c.feed(c.rng.integers(0, 4, n)), c.feed(const("int32", range(n))))])
    c.run(q.dequeue_many(11))
    return q.dequeue_many(n - 11)


def fails(function):
    """A program whose last run TensorFlow refuses."""
    return program(count=1, may_fail=True)(function)


def closed(tf, kind="FIFOQueue", old=False):
    return Q(tf, kind, ["int32"], [[]], old=old)


@program(count=6, may_fail=True)
def enqueue_when_closed(c, tf):
    q = closed(tf, c.pick("FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue"), c.chance())
    c.run([], [q.close(c.chance())])
    c.run([], [q.enqueue(1) if c.chance() else q.enqueue_many([1])])


@program(count=6, may_fail=True)
def dequeue_when_closed(c, tf):
    q = closed(tf, c.pick("FIFOQueue", "RandomShuffleQueue", "PaddingFIFOQueue"), c.chance())
    c.run([], [q.enqueue_many([1, 2])])
    c.run([], [q.close()])
    c.run(q.dequeue_up_to(3))
    return c.pick(q.dequeue, lambda: q.dequeue_many(2), lambda: q.dequeue_up_to(2))()


@fails
def fewer_of_a_priority_queue(c, tf):
    q = Q(tf, "PriorityQueue", ["int32"], [[]])
    c.run([], [q.enqueue(c.feed(const("int64", 1)), 1)])
    c.run([], [q.close()])
    return q.dequeue_up_to(2)


@fails
def dequeue_more_than_a_closed_queue_has(c, tf):
    q = closed(tf)
    c.run([], [q.enqueue_many([1, 2])])
    c.run([], [q.close()])
    return q.dequeue_many(3)


@fails
def close_twice(c, tf):
    q = closed(tf)
    c.run([], [q.close()])
    c.run([], [q.close()])


@program(count=1)
def close_twice_with_cancel(c, tf):
    q = closed(tf)
    c.run([], [q.close()])
    c.run([], [q.close(True)])
    return [q.is_closed()]


@fails
def close_cancels_what_waits(c, tf):
    q = Q(tf, "FIFOQueue", ["int32"], [[]], capacity=2)
    c.run([], [q.enqueue_many([1, 2, 3]), q.close(True)])


@program(count=1)
def nothing_to_enqueue_when_closed(c, tf):
    q = closed(tf)
    c.run([], [q.close()])
    c.run([], [q.enqueue_many(c.feed(zeros("int32", 0)))])
    return [q.size()]


@fails
def wrong_type(c, tf):
    c.run([], [closed(tf).enqueue(1.0)])


@fails
def wrong_number(c, tf):
    c.run([], [closed(tf).enqueue(1, 2)])


@fails
def wrong_shape(c, tf):
    c.run([], [closed(tf).enqueue(c.feed(const("int32", [1])))])


@fails
def wrong_padded_shape(c, tf):
    c.run([], [Q(tf, "PaddingFIFOQueue", ["int32"], [[None, 2]]).enqueue(c.feed(zeros("int32", 3, 3)))])


@fails
def scalar_for_many(c, tf):
    c.run([], [closed(tf).enqueue_many(c.feed(const("int32", 1)))])


@fails
def rows_differ_in_number(c, tf):
    q = Q(tf, "FIFOQueue", ["int32", "int32"], [[], []])
    c.run([], [q.enqueue_many(c.feed(zeros("int32", 2)), c.feed(zeros("int32", 3)))])


@fails
def priority_is_no_scalar(c, tf):
    c.run([], [Q(tf, "PriorityQueue", ["int32"], [[]]).enqueue(c.feed(zeros("int64", 1)), 1)])


@fails
def wrong_type_dequeued(c, tf):
    return closed(tf).dequeue([tf.float32])


@fails
def negative_number(c, tf):
    return closed(tf).dequeue_many(c.feed(const("int32", -1)))


@fails
def many_without_shapes(c, tf):
    return Q(tf, "FIFOQueue", ["int32"], []).dequeue_many(0)


for number, (kind, types, shapes, attrs) in enumerate([
        ("FIFOQueue", ["int32"], [[], []], {}), ("FIFOQueue", ["int32"], [[None]], {}), ("PaddingFIFOQueue", ["int32"], [None], {}),
        ("PaddingFIFOQueue", ["int32"], [], {}), ("RandomShuffleQueue", ["int32"], [[]], dict(capacity=3, min_after_dequeue=3)),
        ("RandomShuffleQueue", ["int32"], [[]], dict(min_after_dequeue=-1)), ("RandomShuffleQueue", ["int32"], [[]], dict(capacity=0)),
        ("PriorityQueue", ["int32"], [], {}), ("PriorityQueue", ["int32"], [[], []], {}), ("PriorityQueue", [], [], {})]):

    def bad_queue(c, tf, kind=kind, types=types, shapes=shapes, attrs=attrs):
        c.run([Q(tf, kind, types, shapes, **attrs).size()])

    bad_queue.__name__ = f"bad_queue_{number}"
    fails(bad_queue)


@program(count=4, may_fail=True)
def queues_that_differ(c, tf):
    first = Q(tf, "FIFOQueue", ["int32"], [[]], shared_name="queue", capacity=5)
    c.run([first.size()])
    other = c.pick(("RandomShuffleQueue", ["int32"], [[]], 5), ("FIFOQueue", ["float32"], [[]], 5), ("FIFOQueue", ["int32"], [[2]], 5),
                   ("FIFOQueue", ["int32"], [[]], 6), ("FIFOQueue", ["int32"], [], 5))
    return [Q(tf, *other[:3], shared_name="queue", capacity=other[3]).size()]


@fails
def timeouts_are_not_supported(c, tf):
    q = closed(tf)
    c.run([], [q.op("QueueEnqueue", components=[1], timeout_ms=5)])
