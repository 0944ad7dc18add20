"""Optimizer updates: each in its four forms, on references and on resources, dense and sparse."""

from harness.notation import *

RATE = (0.01, 0.5)
POSITIVE = between(0.1, 3.0)


def rows(c):
    """The shape of a variable of which rows are updated. TensorFlow refuses rows without elements; we do not."""
    return (c.dim("n"), c.int(1, 5))


def indices(c):
    """Some twice."""
    return [] if c.shape("var")[0] == 0 else [c.int(0, c.shape("var")[0] - 1) for _ in range(c.dim("k"))]


def update(name, inputs, slots=None, hyper=None, attrs=None, bad=(), halves=HALVES, sparse_halves=None, dense=True, sparse=True,
           references=True, variable=usual):
    """`inputs`: the op's, in order, where "grad" or "delta" stands for the gradient (of sparse forms: "grad", and the indices behind it).
    `variable`: its domain. `slots`: theirs. `hyper`: the ranges of the hyperparameters. `bad`: hyperparameters that TensorFlow
    refuses in sparse forms."""
    slots, hyper = slots or {}, hyper or {}
    for kind in [ref] * references + [resource]:
        for is_sparse in [False] * dense + [True] * sparse:
            prefix = ("Resource" if kind is resource else "") + ("Sparse" if is_sparse else "")
            _describe(prefix + "Apply" + name, kind, is_sparse, inputs, variable, slots, hyper, attrs or {}, bad,
                      sparse_halves if is_sparse and sparse_halves else halves)


def _describe(name, kind, is_sparse, order, variable, slots, hyper, attrs, bad, halves):
    inputs = {}
    for argument in order:
        if argument in ("grad", "delta") and is_sparse:
            inputs["grad"] = t("T", lambda c: (len(c["indices"]), *c.shape("var")[1:]))
            inputs["indices"] = v("Tindices", indices)
        elif argument in ("grad", "delta"):
            inputs[argument] = t("T", like("var"))
        elif argument == "var":
            inputs[argument] = kind(t("T", rows if is_sparse else None, variable, special=False))
        elif argument in slots:
            inputs[argument] = kind(t("T", like("var"), slots[argument], special=False))
        else:
            inputs[argument] = t("T", "", between(*hyper[argument]), special=False)
    attrs = dict(use_locking=BOOLS, **attrs, **(dict(Tindices=INDEX) if is_sparse else {}))

    # What is wrong: a hyperparameter, the shape of the gradient or of a slot, an index, a variable without value.
    gradient = next(argument for argument in inputs if argument in ("grad", "delta"))
    other = lambda *shape: kind(t("T", shape))
    fitting = dict(var=other(3, 2), **{slot: other(3, 2) for slot in slots}, **{gradient: zeros("float", 3, 2)})
    wrong = [{argument: zeros("float", 1)} for argument in hyper]
    wrong += list(bad) if is_sparse else []
    wrong += [{**fitting, gradient: zeros("float", 3, 4)}] + [{**fitting, slot: other(3, 4)} for slot in slots]
    wrong += [{"var": ref(t("T", (3, 2)), initialized=False)}] if kind is ref else []
    if is_sparse:
        wrong = [{**case, "indices": const("int32", [0, 1, 1]), "Tindices": "int32"} if gradient in case else case for case in wrong]
        wrong += [{**fitting, "indices": const("int32", index), "Tindices": "int32"} for index in ([0, 1, 3], [0, -1, 1], [0, 1])]
    wrong = [{"T": "float", **case} for case in wrong]

    op(name, inputs, dict(T=FLOATS, **attrs), bad=wrong, special=0)
    if halves:  # TensorFlow rounds after each operation, we at the end
        op(name, inputs, dict(T=halves, **attrs), count=6, empty=1, special=0, rtol=5e-2, atol=1e-1)


SHRINKAGE = dict(l1=(0, 0.3), l2=(0, 0.3))
update("GradientDescent", ["var", "alpha", "delta"], hyper=dict(alpha=RATE), sparse=False)
update("ProximalGradientDescent", ["var", "alpha", "l1", "l2", "delta"], hyper=dict(alpha=RATE, **SHRINKAGE), halves=None)
update("ProximalAdagrad", ["var", "accum", "lr", "l1", "l2", "grad"], dict(accum=POSITIVE), dict(lr=RATE, **SHRINKAGE), halves=None)

MOMENTUM = dict(slots=dict(accum=usual), hyper=dict(lr=RATE, momentum=(0.5, 0.95)), attrs=dict(use_nesterov=BOOLS))
update("Momentum", ["var", "accum", "lr", "grad", "momentum"], **MOMENTUM)
update("KerasMomentum", ["var", "accum", "lr", "grad", "momentum"], **MOMENTUM, references=False)

update("Adadelta", ["var", "accum", "accum_update", "lr", "rho", "epsilon", "grad"], dict(accum=POSITIVE, accum_update=POSITIVE),
       dict(lr=RATE, rho=(0.5, 0.95), epsilon=(0.01, 0.1)))
update("Adagrad", ["var", "accum", "lr", "grad"], dict(accum=POSITIVE), dict(lr=RATE), dict(update_slots=BOOLS))
update("AdagradV2", ["var", "accum", "lr", "epsilon", "grad"], dict(accum=POSITIVE), dict(lr=RATE, epsilon=(0.01, 0.1)), dict(update_slots=BOOLS))

RMSPROP = dict(lr=RATE, rho=(0.5, 0.95), momentum=(0.5, 0.95), epsilon=(0.01, 0.1))
update("RMSProp", ["var", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"], dict(ms=POSITIVE, mom=usual), RMSPROP,
       sparse_halves=["half"])
update("CenteredRMSProp", ["var", "mg", "ms", "mom", "lr", "rho", "momentum", "epsilon", "grad"],
       dict(mg=between(-0.3, 0.3), ms=between(1.0, 3.0), mom=usual), RMSPROP, sparse_halves=["half"])

BETAS = dict(beta1_power=(0.1, 0.9), lr=RATE, beta1=(0.5, 0.95), beta2=(0.5, 0.95), epsilon=(0.01, 0.1))
update("Adam", ["var", "m", "v", "beta1_power", "beta2_power", "lr", "beta1", "beta2", "epsilon", "grad"], dict(m=usual, v=POSITIVE),
       dict(BETAS, beta2_power=(0.1, 0.9)), dict(use_nesterov=BOOLS), sparse=False)
update("AdaMax", ["var", "m", "v", "beta1_power", "lr", "beta1", "beta2", "epsilon", "grad"], dict(m=usual, v=POSITIVE), BETAS, sparse=False,
       halves=["half"])

FTRL = dict(slots=dict(accum=POSITIVE, linear=usual), attrs=dict(multiply_linear_by_lr=BOOLS))
BAD_FTRL = [dict(lr=const("float", -1)), dict(l1=const("float", -1)), dict(l2=const("float", -1)), dict(lr_power=const("float", 1))]


def ftrl(powers, rate=RATE, **options):
    """`powers`: the range of lr_power."""
    hyper = dict(lr=rate, **SHRINKAGE, lr_power=powers)
    update("Ftrl", ["var", "accum", "linear", "grad", "lr", "l1", "l2", "lr_power"], hyper=hyper, bad=BAD_FTRL, **FTRL, **options)
    update("FtrlV2", ["var", "accum", "linear", "grad", "lr", "l1", "l2", "l2_shrinkage", "lr_power"], hyper=dict(hyper, l2_shrinkage=(0, 0.3)),
           bad=BAD_FTRL + [dict(l2_shrinkage=const("float", -1))], **FTRL, **options)


ftrl((-0.5, -0.5))  # the square root goes its own way
ftrl((-1.0, 0.0), dense=False)
# TensorFlow's dense updates take powers that may be an ulp off. The difference of two of them, times var / lr, is added to `linear`, which may be
# close to zero: so powers, variables and 1 / lr are small here.
ftrl((-0.4, 0.0), rate=(0.5, 1.0), variable=between(-1, 1), sparse=False)
