"""Recurrent cells, tf.nn.rnn_cell and tf.contrib.rnn, for tf.nn.static_rnn and tf.nn.dynamic_rnn.

Variables have the names that they have in TensorFlow 1.x (rnn/basic_lstm_cell/kernel, …). A cell makes them at its first call; later calls share
them."""

import collections

import tensorflow.compat.v1 as tf
from tensorflow.python.util import nest

LSTMStateTuple = collections.namedtuple("LSTMStateTuple", ["c", "h"])


class RNNCell:
    """(inputs, state) -> (outputs, state). Subclasses define state_size, output_size and call()."""

    default_name = "rnn_cell"

    def __init__(self, reuse=None, name=None):
        self._reuse = reuse
        self._name = name or self.default_name
        self._variables = {}

    def __call__(self, inputs, state, scope=None):
        with tf.variable_scope(scope or self._name, reuse=self._reuse, auxiliary_name_scope=False), tf.name_scope(self._name):
            return self.call(inputs, state)

    def call(self, inputs, state):
        raise NotImplementedError

    @property
    def state_size(self):
        raise NotImplementedError

    @property
    def output_size(self):
        raise NotImplementedError

    @property
    def trainable_variables(self):
        return [v for v in self._variables.values() if v in tf.trainable_variables()]

    def zero_state(self, batch_size, dtype):
        """The state to begin with: zeros, in the structure of state_size."""
        with tf.name_scope(type(self).__name__ + "ZeroState"):
            return nest.map_structure(lambda size: tf.zeros([batch_size, size], dtype), self.state_size)

    def variable(self, name, shape, dtype, initializer=None):
        if name not in self._variables:
            self._variables[name] = tf.get_variable(name, shape, dtype, initializer)
        return self._variables[name]

    def linear(self, inputs, size, prefix="", kernel_initializer=None, bias_initializer=None):
        """The inputs side by side, times a kernel, plus a bias."""
        joined = tf.concat(inputs, 1)
        kernel = self.variable(prefix + "kernel", [int(joined.shape[1]), size], joined.dtype, kernel_initializer)
        bias = self.variable(prefix + "bias", [size], joined.dtype, bias_initializer or tf.zeros_initializer())
        return tf.nn.bias_add(tf.matmul(joined, kernel), bias)


class _Plain(RNNCell):
    """Cells whose output is their state."""

    def __init__(self, num_units, activation=None, reuse=None, name=None, **unused):
        super().__init__(reuse, name)
        self._size = num_units
        self._activation = activation or tf.tanh

    state_size = output_size = property(lambda self: self._size)


class BasicRNNCell(_Plain):
    default_name = "basic_rnn_cell"

    def call(self, inputs, state):
        output = self._activation(self.linear([inputs, state], self._size))
        return output, output


class GRUCell(_Plain):
    default_name = "gru_cell"

    def __init__(self, num_units, activation=None, reuse=None, kernel_initializer=None, bias_initializer=None, name=None, **unused):
        super().__init__(num_units, activation, reuse, name)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def call(self, inputs, state):
        gates = tf.sigmoid(self.linear([inputs, state], 2 * self._size, "gates/", self._kernel_initializer, self._bias_initializer or tf.ones_initializer()))
        reset, update = tf.split(gates, 2, 1)
        candidate = self._activation(self.linear([inputs, reset * state], self._size, "candidate/", self._kernel_initializer, self._bias_initializer))
        new = update * state + (1 - update) * candidate
        return new, new


class LSTMCell(RNNCell):
    """With peepholes, a projection of the output, and clipping, where asked for."""

    default_name = "lstm_cell"

    def __init__(self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None, proj_clip=None, num_unit_shards=None,
                 num_proj_shards=None, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None, **unused):
        super().__init__(reuse, name)
        self._size = num_units
        self._peepholes = use_peepholes
        self._cell_clip, self._proj_clip = cell_clip, proj_clip
        self._initializer = initializer
        self._projected = num_proj
        self._forget_bias = forget_bias
        self._is_tuple = state_is_tuple
        self._activation = activation or tf.tanh

    output_size = property(lambda self: self._projected or self._size)

    @property
    def state_size(self):
        return LSTMStateTuple(self._size, self.output_size) if self._is_tuple else self._size + self.output_size

    def call(self, inputs, state):
        c, h = state if self._is_tuple else tf.split(state, [self._size, self.output_size], 1)
        # Input gate, candidate, forget gate, output gate: the order of the kernel's columns.
        i, j, f, o = tf.split(self.linear([inputs, h], 4 * self._size, "", self._initializer), 4, 1)
        if self._peepholes:
            of_f, of_i, of_o = (self.variable(f"w_{gate}_diag", [self._size], c.dtype, self._initializer) for gate in "fio")
            i, f = i + of_i * c, f + of_f * c
        c = tf.sigmoid(f + self._forget_bias) * c + tf.sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = tf.clip_by_value(c, -self._cell_clip, self._cell_clip)
        if self._peepholes:
            o = o + of_o * c
        h = tf.sigmoid(o) * self._activation(c)
        if self._projected:
            h = tf.matmul(h, self.variable("projection/kernel", [self._size, self._projected], h.dtype, self._initializer))
            if self._proj_clip is not None:
                h = tf.clip_by_value(h, -self._proj_clip, self._proj_clip)
        return h, LSTMStateTuple(c, h) if self._is_tuple else tf.concat([c, h], 1)


class BasicLSTMCell(LSTMCell):
    default_name = "basic_lstm_cell"

    def __init__(self, num_units, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None, **unused):
        super().__init__(num_units, forget_bias=forget_bias, state_is_tuple=state_is_tuple, activation=activation, reuse=reuse, name=name)


class MultiRNNCell(RNNCell):
    """Cells one upon the other."""

    default_name = "multi_rnn_cell"

    def __init__(self, cells, state_is_tuple=True):
        super().__init__()
        if not cells:
            raise ValueError("MultiRNNCell needs at least one cell")
        if not state_is_tuple:
            raise ValueError("MultiRNNCell: only state_is_tuple=True is supported")
        self._cells = list(cells)

    state_size = property(lambda self: tuple(cell.state_size for cell in self._cells))
    output_size = property(lambda self: self._cells[-1].output_size)

    def zero_state(self, batch_size, dtype):
        return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs, state):
        states = []
        for number, (cell, old) in enumerate(zip(self._cells, state)):
            with tf.variable_scope(f"cell_{number}"):
                inputs, new = cell(inputs, old)
            states.append(new)
        return inputs, tuple(states)


class DropoutWrapper(RNNCell):
    """A cell with dropout of its inputs, outputs or state. The probabilities of keeping a value may be tensors."""

    def __init__(self, cell, input_keep_prob=1.0, output_keep_prob=1.0, state_keep_prob=1.0, variational_recurrent=False, input_size=None, dtype=None,
                 seed=None, **unused):
        super().__init__()
        if variational_recurrent:
            raise NotImplementedError("DropoutWrapper: variational_recurrent is not supported")
        self._cell = cell
        self._keep = input_keep_prob, output_keep_prob, state_keep_prob
        self._seed = seed

    state_size = property(lambda self: self._cell.state_size)
    output_size = property(lambda self: self._cell.output_size)

    def zero_state(self, batch_size, dtype):
        return self._cell.zero_state(batch_size, dtype)

    def __call__(self, inputs, state, scope=None):
        of_inputs, of_outputs, of_state = self._keep
        outputs, new = self._cell(self._dropped(inputs, of_inputs), state, scope)
        if isinstance(new, LSTMStateTuple):  # the memory itself is kept
            new = LSTMStateTuple(new.c, self._dropped(new.h, of_state))
        else:
            new = nest.map_structure(lambda value: self._dropped(value, of_state), new)
        return self._dropped(outputs, of_outputs), new

    def _dropped(self, values, keep):
        if isinstance(keep, (int, float)) and keep >= 1:
            return values
        return tf.nn.dropout(values, rate=1 - keep, seed=self._seed)
