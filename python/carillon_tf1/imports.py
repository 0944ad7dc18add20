"""What `import tensorflow` gives a script: compat.v1 with the behaviour of 1.x, our server, and names that are gone.

A finder waits for the first import of tensorflow, so that a script can still set environment variables before it. It then loads the installed
TensorFlow and puts a module in its place whose attributes are compat.v1's and whose submodules are TensorFlow's own: `import
tensorflow.python.…` and `import tensorflow.compat.v1` work as ever."""

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import logging
import os
import sys
import tempfile
import types


def install():
    sys.meta_path.insert(0, _Finder())


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self):
        self._loading = False

    def find_spec(self, name, path=None, target=None):
        if name == "tensorflow" and not self._loading:
            self._loading = True  # what is imported from now on is TensorFlow itself
            return importlib.machinery.ModuleSpec(name, _Loader(), is_package=True)
        if name.startswith("tensorflow.contrib."):
            from carillon_tf1 import contrib
            raise ModuleNotFoundError(contrib.no_such_module(name), name=name)
        return None


class _Loader(importlib.abc.Loader):
    def create_module(self, spec):
        with _quiet():
            real = importlib.import_module("tensorflow")
            v1 = importlib.import_module("tensorflow.compat.v1")
            _behave_like_1(v1)
        spec.submodule_search_locations = list(real.__path__)
        _add_names(v1)
        module = _TensorFlow("tensorflow", v1.__doc__)
        module._v1 = v1
        module.__file__ = real.__file__
        module.compat = sys.modules["tensorflow.compat"]  # the package, not compat.v1's view of itself
        module.contrib = sys.modules["tensorflow.contrib"]
        module.examples = sys.modules["tensorflow.examples"]
        return module

    def exec_module(self, module):
        pass


class _TensorFlow(types.ModuleType):
    def __getattr__(self, name):
        return getattr(self.__dict__["_v1"], name)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._v1)})


@contextlib.contextmanager
def _quiet():
    """TensorFlow's library greets on the error stream when it is loaded. If that fails, what it said is shown."""
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield
        except BaseException:
            said.seek(0)
            os.write(saved, said.read())
            raise
        finally:
            os.dup2(saved, 2)
            os.close(saved)


def _behave_like_1(v1):
    from tensorflow.python.util import deprecation
    deprecation._PRINT_DEPRECATION_WARNINGS = False  # all of 1.x is deprecated
    v1.disable_v2_behavior()
    v1.logging.set_verbosity(v1.logging.WARN)
    logging.getLogger("tensorflow").propagate = False  # or tf.app.run would have each line printed twice
    for name in v1.flags.FLAGS:  # log_dir and others are absl's now; scripts define their own
        v1.flags.FLAGS[name].allow_override = True


def _add_names(v1):
    from carillon_tf1 import contrib, input_data, layers, news, rnn, server, sessions

    v1.layers = layers
    v1.nn.rnn_cell = rnn
    v1.contrib = contrib
    sys.modules["tensorflow.layers"] = layers
    sys.modules["tensorflow.python.ops.rnn_cell"] = rnn
    sys.modules["tensorflow.contrib"] = contrib
    for name in contrib.MODULES:
        sys.modules[f"tensorflow.contrib.{name}"] = getattr(contrib, name)
    _add_packages("tensorflow.examples.tutorials.mnist", input_data=input_data)
    server.install(v1)
    sessions.install()
    news.install()


def _add_packages(path, **modules):
    """Packages without files, the last of which holds `modules`."""
    package = None
    for end in [i for i, c in enumerate(path + ".") if c == "."][1:]:
        name = path[:end]
        inner = types.ModuleType(name)
        inner.__path__ = []
        sys.modules[name] = inner
        if package is not None:
            setattr(package, name.rpartition(".")[2], inner)
        package = inner
    for name, module in modules.items():
        setattr(package, name, module)
        sys.modules[f"{path}.{name}"] = module
