"""tensorflow.examples.tutorials.mnist.input_data: MNIST in memory, batch by batch.

Reads the four idx files (packed with gzip or not) from the folder asked for, else from $MNIST_DIR; else takes the digits that Carillon draws. It
downloads nothing."""

import collections
import gzip
import os
import subprocess
import tempfile

import numpy
from tensorflow.python.framework import dtypes, random_seed

from carillon_tf1 import settings

CLASSES = 10
PIXELS = 784

Datasets = collections.namedtuple("Datasets", ["train", "validation", "test"])


class DataSet:
    """Pictures and labels, which next_batch gives out epoch by epoch. Pictures stay bytes until they are asked for."""

    def __init__(self, images, labels, fake_data=False, one_hot=False, dtype=dtypes.float32, reshape=True, seed=None):
        dtype = dtypes.as_dtype(dtype).base_dtype
        if dtype not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"images are uint8 or float32, not {dtype.name}")
        if len(images) != len(labels):
            raise ValueError(f"{len(images)} images, but {len(labels)} labels")
        self._fake = fake_data
        self._one_hot = one_hot
        self._random = numpy.random.RandomState(_seed(seed))
        self._is_float = dtype == dtypes.float32
        self._bytes = images.reshape(len(images), numpy.prod(images.shape[1:], dtype=int)) if reshape and not fake_data else images
        self._images = None  # all of them as they are given out, once somebody wants that
        self._labels = labels
        self._num_examples = 10000 if fake_data else len(images)
        self._order = numpy.arange(len(images))
        self._given = 0  # examples of this epoch that were given out
        self._epochs = 0

    @property
    def images(self):
        if self._images is None:
            self._images = self._converted(self._bytes)
        return self._images

    labels = property(lambda self: self._labels)
    num_examples = property(lambda self: self._num_examples)
    epochs_completed = property(lambda self: self._epochs)

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        """(images, labels). A batch may hold the end of one epoch and the start of the next, which is shuffled anew."""
        if fake_data or self._fake:
            label = [1] + [0] * (CLASSES - 1) if self._one_hot else 0
            return [[1] * PIXELS] * batch_size, [label] * batch_size
        if self._given == 0 and self._epochs == 0 and shuffle:
            self._random.shuffle(self._order)
        chosen = self._take(batch_size)
        if len(chosen) < batch_size:
            self._epochs += 1
            self._given = 0
            if shuffle:
                self._order = self._random.permutation(self._order)
            chosen = numpy.concatenate([chosen, self._take(batch_size - len(chosen))])
        return self._converted(self._bytes[chosen]), self._labels[chosen]

    def _take(self, count):
        chosen = self._order[self._given:self._given + count]
        self._given += len(chosen)
        return chosen

    def _converted(self, images):
        return images.astype(numpy.float32) * numpy.float32(1 / 255) if self._is_float else images


def read_data_sets(train_dir, fake_data=False, one_hot=False, dtype=dtypes.float32, reshape=True, validation_size=5000, seed=None, source_url=None):
    """Datasets(train, validation, test); the first `validation_size` training pictures are for validation. `source_url` is not used."""
    options = dict(one_hot=one_hot, dtype=dtype, reshape=reshape, seed=seed)
    if fake_data:
        return Datasets(*(DataSet([], [], fake_data=True, **options) for _ in range(3)))
    images, labels, test_images, test_labels = _read_files(train_dir)
    if not 0 <= validation_size <= len(images):
        raise ValueError(f"validation_size is {validation_size}; it must be between 0 and {len(images)}")
    if one_hot:
        labels, test_labels = (numpy.eye(CLASSES)[values] for values in (labels, test_labels))
    return Datasets(
        DataSet(images[validation_size:], labels[validation_size:], **options),
        DataSet(images[:validation_size], labels[:validation_size], **options),
        DataSet(test_images, test_labels, **options))


load_mnist = read_data_sets


def _seed(seed):
    """As ops are seeded: by the given seed, else by the graph's, else by chance."""
    of_graph, of_op = random_seed.get_seed(seed)
    return of_graph if seed is None else of_op


def _read_files(folder):
    for place in (folder, os.environ.get("MNIST_DIR")):
        paths = place and _find(place)
        if paths:
            return [_read_idx(path) for path in paths]
    settings.say_once(f"there are no MNIST files in {folder or 'the folder asked for'}, nor in $MNIST_DIR: using the digits that Carillon draws")
    with tempfile.TemporaryDirectory(prefix="carillon-digits-") as place:
        subprocess.run([settings.TOOL, "data", "export", "digits", place], check=True, stdout=subprocess.DEVNULL)
        return [_read_idx(path) for path in _find(place)]


def _find(folder):
    """The paths of the four files, None unless all are there."""
    paths = []
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
        there = [path for path in (os.path.join(folder, name), os.path.join(folder, name + ".gz")) if os.path.exists(path)]
        if not there:
            return None
        paths.append(there[0])
    return paths


def _read_idx(path):
    """uint8 [n, height, width, 1], or [n] for labels."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        data = file.read()
    rank = data[3] if len(data) >= 4 and data[:3] == b"\0\0\x08" else 0
    shape = [int(size) for size in numpy.frombuffer(data[4:4 + 4 * rank], ">u4")]
    if rank not in (1, 3) or len(data) != 4 + 4 * rank + numpy.prod(shape, dtype=int):
        raise ValueError(f"{path} is damaged: it is not an idx file of unsigned bytes, or not complete")
    values = numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * rank).reshape(shape)
    return values[..., None] if rank == 3 else values
