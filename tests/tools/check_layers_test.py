"""tools/check_layers accepts what the rules allow and names what they forbid."""

import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_layers"


def run(files):
    """Exit code and output of check_layers on a tree of {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            path = pathlib.Path(root, path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = subprocess.run([SCRIPT, root], capture_output=True, text=True)
        return result.returncode, result.stdout


class CheckLayersTest(unittest.TestCase):
    def accepts(self, path, included):
        code, output = run({path: f'#include "{included}"\n'})
        self.assertEqual((code, output), (0, "check_layers: 1 files keep to the layers\n"))

    def refuses(self, path, included, why):
        code, output = run({path: f'#include "{included}"\n'})
        self.assertEqual(code, 1)
        self.assertIn(f"{path}:1: {included}: ", output)
        self.assertIn(why, output)

    def test_layers(self):
        self.accepts("src/runtime/session.cc", "graph/node_graph.h")
        self.accepts("src/runtime/session.cc", "runtime/session.h")
        self.accepts("src/base/status.cc", "carillon/error.h")
        self.refuses("src/graph/graph.cc", "runtime/session.h", "stands below")
        self.refuses("src/odd/odd.cc", "base/status.h", "not in the table")

    def test_third_party(self):
        self.accepts("src/kernels/cpu/nn.cc", "dnnl.hpp")
        self.accepts("src/kernels/nn_test.cc", "gtest/gtest.h")
        self.refuses("src/runtime/session.cc", "dnnl.hpp", "at home")
        self.refuses("src/kernels/nn.cc", "gtest/gtest.h", "no home")
        self.refuses("src/base/status.cc", "boost/any.hpp", "no home")

    def test_public_headers_and_examples(self):
        self.accepts("include/carillon/graph.h", "carillon/tensor.h")
        self.accepts("examples/mnist_mlp.cc", "carillon/nn.h")
        self.refuses("include/carillon/graph.h", "absl/status/status.h", "public headers")
        self.refuses("include/carillon/graph.h", "graph/op_spec.h", "public headers")
        self.refuses("examples/mnist_mlp.cc", "graph/op_spec.h", "examples")

    def test_types_of_one_name(self):
        def header(namespace, text):
            return f"namespace {namespace} {{\n{text}\n}}  // namespace {namespace}\n"

        first = {"include/carillon/data.h": header("carillon", "class Dataset : public Source {\n};")}
        second = "src/kernels/dataset.h"
        for elsewhere in [header("carillon", "class Dataset;"), header("carillon::launch", "struct Dataset {};"), header("carillon", "struct Dataset::Part {};")]:
            self.assertEqual(run({**first, second: elsewhere})[0], 0, elsewhere)
        code, output = run({**first, second: header("carillon", "struct Dataset {};")})
        self.assertEqual(code, 1)
        self.assertIn("src/kernels/dataset.h:2: carillon::Dataset is the name of another type, at include/carillon/data.h:2", output)


if __name__ == "__main__":
    unittest.main()
