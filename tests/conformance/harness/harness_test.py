"""The harness itself: that its comparisons can fail, and that cases are what their description says."""

import unittest

import numpy as np

from harness import cases, compare, engine, oracle
from harness.notation import Description, broadcast, const, ref, t, v

NOTHING = Description("test", "Test")


class CompareTest(unittest.TestCase):
    def problems(self, theirs, ours, description=NOTHING):
        return compare.arrays("y", np.asarray(theirs), np.asarray(ours), description)

    def test_equal(self):
        self.assertFalse(self.problems(np.float32([1, np.nan, np.inf]), np.float32([1 + 1e-6, np.nan, np.inf])))
        self.assertFalse(self.problems(const("string", [b"a", b"\xff"]), const("string", [b"a", b"\xff"])))

    def test_different(self):
        one = np.float32([1, 2])
        self.assertIn("first at [1]", self.problems(one, np.float32([1, 2.001]))[0])
        for other in [np.float32([1, np.nan]), np.float32([1, np.inf]), np.float64([1, 2]), np.float32([[1, 2]])]:
            self.assertTrue(self.problems(one, other))
            self.assertTrue(self.problems(other, one))
        self.assertTrue(self.problems(np.float32([np.inf]), np.float32([-np.inf])))
        self.assertTrue(self.problems(np.int32([5]), np.int32([6])))
        self.assertTrue(compare.arrays("y", one, None, NOTHING))

    def test_wider_tolerance_leaves_doubles_alone(self):
        wide = Description("test", "Test", rtol=0.1)
        self.assertFalse(self.problems(np.float32([1]), np.float32([1.05]), wide))
        self.assertTrue(self.problems(np.float64([1]), np.float64([1.05]), wide))

    def test_scaled_tolerance(self):
        theirs, ours = np.float32([1000, 0, np.nan]), np.float32([1000, 1e-3, np.nan])
        self.assertTrue(compare.arrays("y", theirs, ours, NOTHING))
        self.assertFalse(compare.arrays("y", theirs, ours, NOTHING, scaled=True))
        self.assertTrue(compare.arrays("y", theirs, np.float32([1000, 0.1, np.nan]), NOTHING, scaled=True))

    def test_static_shapes(self):
        same = lambda theirs, ours: not compare.static_shapes(["y"], [theirs], [ours])
        self.assertTrue(same([2, -1], [2, -1]) and same([2, -1], [2, 3]) and same(None, [2]))
        self.assertFalse(same([2, -1], [-1, -1]) or same([2], None) or same([2], [2, 2]) or same([2], [3]))
        self.assertTrue(compare.consistent("y", [2, 3], np.zeros((2, 4))))

    def test_codes(self):
        self.assertFalse(compare.codes(oracle.Outcome(3), oracle.Outcome(3)))
        self.assertIn("OUT_OF_RANGE", compare.codes(oracle.Outcome(3), oracle.Outcome(11))[0])


class CasesTest(unittest.TestCase):
    def test_modes_and_choices(self):
        types = ["float", "int32", "int64"]
        inputs = dict(x=t("T"), y=t("T", broadcast("x")))
        description = Description("test", "AddV2", inputs, dict(T=types), bad=[dict(y=const("float", [1] * 7))])
        made = list(cases.make_cases(description, seed=1))
        self.assertEqual([case.mode for case in made], ["plain"] * 12 + ["empty"] * 3 + ["special"] * 3 + ["bad"])
        self.assertEqual({case.attrs["T"] for case in made}, set(types))
        for case in made:
            if case.mode == "empty":
                self.assertTrue(0 in case.inputs["x"].shape or 0 in case.inputs["y"].shape)
            if case.mode != "bad":
                np.broadcast_shapes(case.inputs["x"].shape, case.inputs["y"].shape)
        self.assertEqual(made[-1].inputs["y"].shape, (7,))
        again = list(cases.make_cases(description, seed=1))
        for one, other in zip(made, again):
            np.testing.assert_array_equal(one.inputs["x"], other.inputs["x"])

    def test_a_single_case_is_the_same_as_among_all(self):
        description = Description("test", "Neg", dict(x=t("T")), dict(T=["float", "double"]))
        alone = list(cases.make_cases(description, seed=5, only=7))
        self.assertEqual([case.index for case in alone], [7])
        np.testing.assert_array_equal(alone[0].inputs["x"], list(cases.make_cases(description, seed=5))[7].inputs["x"])

    def test_variables(self):
        description = Description("test", "AssignAdd", dict(ref=ref(t("float", "n")), value=v("float", 1.0)), {})
        case = next(cases.make_cases(description, seed=1))
        self.assertEqual([node.op for node in case.built.graph_def.node], ["VariableV2", "Const", "Assign", "Identity", "Placeholder", "AssignAdd"])
        self.assertEqual([run.fetches for run in case.built.runs], [[], ["op:0"], ["ref/read:0"]])

    def test_mistakes_in_a_description(self):
        for inputs, attrs in [(dict(z=t("float")), {}), ({}, {}), (dict(x=t("float")), dict(wrong=1))]:
            with self.assertRaises(ValueError):
                next(cases.make_cases(Description("test", "Neg", inputs, attrs), seed=1))


class RecordsTest(unittest.TestCase):
    def test_cut_short(self):
        whole = engine._pack({"a": 1}, [b"xyz"]) + engine._pack({}, [b""])
        self.assertEqual(list(engine._unpack(whole)), [[b'{"a": 1}', b"xyz"], [b"{}", b""]])
        for size in range(len(whole)):
            self.assertLess(len(list(engine._unpack(whole[:size]))), 2)


def run():
    """Number of failures."""
    suite = unittest.defaultTestLoader.loadTestsFromName("harness.harness_test")
    result = unittest.TextTestRunner(verbosity=0).run(suite)
    return len(result.failures) + len(result.errors)
