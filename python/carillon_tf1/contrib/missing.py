"""One clear error for a name of tf.contrib that is not here."""


def getter(module, names):
    """The __getattr__ of a module that has `names`."""

    def get(name):
        raise AttributeError(f"tf.contrib.{module}.{name} is not among what Carillon provides of tf.contrib; there are {', '.join(sorted(names))}")

    return get
