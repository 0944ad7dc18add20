"""tensorflow.examples.tutorials.mnist.input_data. The first argument is a folder to write into."""

import gzip
import os
import sys

import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

folder = sys.argv[1]
os.makedirs(folder)
# Carillon's digits, where there is nothing else.
drawn = input_data.read_data_sets(os.path.join(folder, "nothing"), one_hot=True, seed=1)
assert (drawn.train.num_examples, drawn.validation.num_examples, drawn.test.num_examples) == (55000, 5000, 10000)
assert drawn.train.images.shape == (55000, 784) and drawn.train.images.dtype == np.float32 and 0 <= drawn.train.images.min() < drawn.train.images.max() == 1
assert drawn.test.labels.shape == (10000, 10) and (drawn.test.labels.sum(1) == 1).all()
assert not os.path.exists(os.path.join(folder, "nothing")), "nothing may be written there"


def write(name, values, packed):
    shape = b"".join(int(size).to_bytes(4, "big") for size in values.shape)
    data = bytes([0, 0, 8, values.ndim]) + shape + values.astype(np.uint8).tobytes()
    path = os.path.join(folder, name)
    with gzip.open(path + ".gz", "wb") if packed else open(path, "wb") as file:
        file.write(data)


count = 25
pictures = np.arange(count)[:, None, None] * np.ones([count, 28, 28], int)
for part, packed in (("train", True), ("t10k", False)):
    write(part + "-images-idx3-ubyte", pictures, packed)
    write(part + "-labels-idx1-ubyte", np.arange(count) % 10, packed)

small = input_data.read_data_sets(folder, dtype=tf.uint8, reshape=False, validation_size=5, seed=3)
assert small.validation.images[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4] and small.train.num_examples == 20
assert small.train.labels.dtype == np.uint8 and small.train.images.shape == (20, 28, 28, 1)
# An epoch gives everything once; a batch may reach into the next one, which is shuffled anew.
epochs = []
for batch in range(5):
    images, labels = small.train.next_batch(8)
    assert (images[:, 0, 0, 0] % 10 == labels).all()
    epochs += images[:, 0, 0, 0].tolist()
assert small.train.epochs_completed == 1, small.train.epochs_completed
assert sorted(epochs[:20]) == sorted(epochs[20:]) == list(range(5, 25)) and epochs[:20] != epochs[20:]
again = input_data.read_data_sets(folder, dtype=tf.uint8, validation_size=5, seed=3)
assert again.train.next_batch(20)[0][:, 0].tolist() == epochs[:20], "the same seed gives the same order"
plain = input_data.read_data_sets(folder, validation_size=0)
assert plain.train.next_batch(3, shuffle=False)[1].tolist() == [0, 1, 2]
np.testing.assert_allclose(plain.train.images[24, 0], 24 / 255, rtol=1e-6)

os.environ["MNIST_DIR"] = folder
assert input_data.read_data_sets("/nowhere", validation_size=0).train.num_examples == count
fake = input_data.read_data_sets("", fake_data=True, one_hot=True)
assert np.shape(fake.train.next_batch(3)[0]) == (3, 784) and fake.train.next_batch(3)[1][0][0] == 1

for damage, kind in ((dict(validation_size=26), ValueError), (dict(validation_size=5, dtype=tf.int32), TypeError)):
    try:
        input_data.read_data_sets(folder, **damage)
    except kind:
        continue
    raise AssertionError(damage)
with open(os.path.join(folder, "t10k-images-idx3-ubyte"), "r+b") as file:
    file.truncate(1000)
try:
    input_data.read_data_sets(folder)
    raise AssertionError("a truncated file was read")
except ValueError as error:
    assert "t10k-images-idx3-ubyte is damaged" in str(error)
