"""The rule "proven never to stop", and the error that carries the verdict."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import maxmargin as mm
from maxmargin.stopping import MaxEpochs, NeverStops, TrainingErrorStalls, ValidationErrorStalls

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(RNG.random(60) < 0.5, "no", "yes")  # no plane, and no cycle either
APART = np.where(X[:, 0] > 0, "no", "yes")
IRIS, KIND = load_iris(return_X_y=True)

MODELS = {
    "perceptron": lambda **s: mm.Perceptron(max_iter=30, **s),
    "shuffled": lambda **s: mm.Perceptron(max_iter=30, order="shuffled", random_state=0, **s),
    "normalized": lambda **s: mm.Perceptron(max_iter=30, normalize=True, **s),
    "batch": lambda **s: mm.BatchPerceptron(max_iter=30, step=0.1, **s),
    "pocket": lambda **s: mm.PocketPerceptron(max_updates=10_000, random_state=0, **s),
}


@pytest.mark.parametrize("patience", [1, 2, 5, 11])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_it_ends_the_run_after_as_many_epochs_with_mistakes(name, patience, make):
    model = MODELS[name](stop=NeverStops(patience)).fit(make(X), Y)
    assert (model.stop_reason_.rule, model.n_iter_) == ("never_stops", patience)
    assert not model.stop_reason_.solved
    verdict = model.stop_reason_.verdict
    assert isinstance(verdict, mm.Verdict)
    assert verdict.kind == "overlapping"
    assert verdict.kind in str(model.stop_reason_)
    assert (verdict.positive, verdict.negative) == ("yes", "no")
    assert verdict.proof.verify(X, Y)
    assert not verdict.proof.verify(X, Y[::-1])


def test_without_intercept_it_asks_for_planes_through_the_origin():
    model = mm.Perceptron(max_iter=None, fit_intercept=False, stop=NeverStops(3), order="shuffled")
    rows = [[1.0, 0.25], [-2.0, -0.5], [1.0, 0.7]]
    model.fit(rows, [1, 1, 0])
    assert (model.stop_reason_.rule, model.n_iter_) == ("never_stops", 3)
    assert model.stop_reason_.verdict.proof.content["intercept"] is False
    assert model.stop_reason_.verdict.proof.verify(rows, [1, 1, 0])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("patience", [1, 3])
def test_it_never_ends_a_separable_run(name, patience):
    model = MODELS[name](stop=NeverStops(patience))
    if hasattr(model, "max_iter"):
        model.set_params(max_iter=20_000)
    model.fit(X, APART)
    assert model.stop_reason_.rule == "all_correct"
    assert model.stop_reason_.verdict is None
    assert model.n_iter_ > 1


def test_touching_classes_are_not_separable():
    rows, y = np.array([[0.0], [1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    model = mm.Perceptron(max_iter=None, order="random", random_state=1, stop=NeverStops(4)).fit(rows, y)
    assert model.stop_reason_.rule == "never_stops"
    assert model.stop_reason_.verdict.kind == "touching"
    assert model.stop_reason_.verdict.proof.verify(rows, y)


@pytest.mark.parametrize("name", ["perceptron", "batch", "pocket"])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_each_machine_has_its_own_verdict(name, multi_class):
    model = MODELS[name](stop=NeverStops(4), multi_class=multi_class)
    model.set_params(**({"max_iter": 3000} if hasattr(model, "max_iter") else {"max_updates": 30_000}))
    names = np.array(["a", "b", "c"])[KIND]
    model.fit(IRIS, names)
    truth = mm.separability(IRIS, names)
    truth = truth.rest if multi_class == "ovr" else truth.pairs
    assert list(model.machines_) == list(truth)
    assert "never_stops" in model.stop_reason_.rule.split(" + ")
    for label, machine in model.machines_.items():
        reason = machine.stop_reason_
        assert (reason.rule == "never_stops") == (not truth[label].separable)
        if truth[label].separable:
            assert reason.rule == "all_correct" and reason.verdict is None
        else:
            assert machine.n_iter_ == 4
            assert reason.verdict.positive == truth[label].positive
            assert reason.verdict.negative == truth[label].negative
            assert reason.verdict.proof.verify(IRIS, names)


def test_held_out_rows_are_no_part_of_the_verdict():
    # One row of each class makes all the trouble; with the right seed it is held out.
    rows = np.linspace(-3, 3, 40)[:, None] + 0.05
    y = (rows[:, 0] > 0).astype(int)
    y[3], y[36] = 1, 0
    fired = separated = 0
    for seed in range(30):
        stop = NeverStops(3) | ValidationErrorStalls(patience=10_000, fraction=0.4)
        model = mm.Perceptron(max_iter=5000, stop=stop, random_state=seed, order="shuffled")
        model.fit(rows, y)
        if model.stop_reason_.rule == "never_stops":
            fired += 1
            verdict = model.stop_reason_.verdict
            assert model.n_iter_ == 3
            # The proof is about the rows trained on: fewer than all.
            assert verdict.proof.content["rows"] == 24
            assert not verdict.proof.verify(rows, y)
            assert set(verdict.witness.rows) & {3, 36}
        else:
            separated += 1
            assert model.stop_reason_.rule == "all_correct"
    assert fired > 0 and separated > 0


def test_given_validation_rows_change_nothing():
    model = mm.Perceptron(max_iter=30, stop=NeverStops(3)).fit(X, Y, X_val=X[:9], y_val=APART[:9])
    assert (model.stop_reason_.rule, model.n_iter_) == ("never_stops", 3)
    assert model.stop_reason_.verdict.proof.verify(X, Y)


def test_the_first_of_several_rules_ends_the_run():
    model = MODELS["perceptron"](stop=NeverStops(4) | MaxEpochs(9)).fit(X, Y)
    assert (model.stop_reason_.rule, model.n_iter_) == ("never_stops", 4)
    with pytest.warns(mm.BudgetWarning):
        model = MODELS["perceptron"](stop=NeverStops(9) | MaxEpochs(4)).fit(X, Y)
    assert (model.stop_reason_.rule, model.n_iter_) == ("max_epochs", 4)


def test_all_of_several_rules_at_the_same_epoch():
    model = MODELS["perceptron"](stop=NeverStops(4) & MaxEpochs(4)).fit(X, Y)
    assert (model.stop_reason_.rule, model.n_iter_) == ("never_stops & max_epochs", 4)
    assert model.stop_reason_.verdict.proof.verify(X, Y)


@pytest.mark.parametrize(("patience", "epochs"), [(3, 8), (8, 3), (1, 2)])
def test_all_of_several_rules_wait_for_the_last(patience, epochs):
    # What is proven stays proven.
    model = MODELS["perceptron"](stop=NeverStops(patience) & MaxEpochs(epochs)).fit(X, Y)
    assert (model.stop_reason_.rule, model.n_iter_) == (
        "never_stops & max_epochs",
        max(patience, epochs),
    )
    assert model.stop_reason_.verdict.proof.verify(X, Y)


def test_the_verdict_is_asked_for_once(monkeypatch):
    from maxmargin.estimators import separability as judging

    asked = []
    judge = judging.judge
    monkeypatch.setattr(
        judging, "judge", lambda *given, **more: asked.append(1) or judge(*given, **more)
    )
    mm.Perceptron(max_iter=20_000, stop=NeverStops(2) | TrainingErrorStalls(10_000)).fit(X, APART)
    assert len(asked) == 1
    mm.Perceptron(max_iter=20_000, stop=NeverStops(10**6)).fit(X, APART)
    assert len(asked) == 1


@pytest.mark.parametrize("bad", [0, -1, 1.5, "5", None, True, float("nan")])
def test_bad_patience(bad):
    with pytest.raises(mm.InputError, match=r"NeverStops\.patience must be"):
        NeverStops(bad)


def test_it_is_a_value():
    assert NeverStops() == NeverStops(5) != NeverStops(6)
    assert str(NeverStops(7)) == repr(NeverStops(7)) == "NeverStops(patience=7)"
    assert str(NeverStops(1) | MaxEpochs(2)) == "NeverStops(patience=1) | MaxEpochs(epochs=2)"
    assert pickle.loads(pickle.dumps(NeverStops(3))) == NeverStops(3)
    assert len({NeverStops(3), NeverStops(3)}) == 1


def test_a_fitted_model_with_its_verdict_can_be_pickled():
    model = MODELS["perceptron"](stop=NeverStops(2)).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert again.stop_reason_ == model.stop_reason_
    assert again.stop_reason_.verdict.proof.verify(X, Y)
    assert copy.deepcopy(model).stop_reason_.verdict.proof.verify(X, Y)


# The error.


def refused(work):
    with pytest.raises(mm.NotSeparableError) as caught:
        work()
    return caught.value


def check_error(error, rows, y, labels):
    assert isinstance(error, ValueError) and isinstance(error, mm.MaxMarginError)
    for one in (error, pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert str(one) == str(error)
        assert list(one.verdicts) == list(one.witnesses) == labels
        first = one.verdicts[labels[0]]
        assert one.verdict is first
        assert one.witness is first.witness is one.witnesses[labels[0]]
        for verdict in one.verdicts.values():
            assert verdict.kind in ("touching", "overlapping")
            assert not verdict.separable
            assert verdict.proof.verify(rows, y)


def test_the_error_of_a_binary_machine():
    error = refused(lambda: mm.HardMarginSVC().fit(X, Y))
    check_error(error, X, Y, ["yes"])
    check_error(refused(lambda: mm.HardMarginSVC().prove(X, Y)), X, Y, ["yes"])
    check_error(refused(lambda: mm.HardMarginSVC().fit(sparse.csr_array(X), Y)), X, Y, ["yes"])
    assert "SoftMarginSVC" in str(error)


@pytest.mark.parametrize("action", ["fit", "prove"])
def test_the_error_of_many_machines(action):
    rest = refused(lambda: getattr(mm.HardMarginSVC(), action)(IRIS, KIND))
    check_error(rest, IRIS, KIND, [1, 2])
    pairs = refused(lambda: getattr(mm.HardMarginSVC(multi_class="ovo"), action)(IRIS, KIND))
    check_error(pairs, IRIS, KIND, [(1, 2)])
    assert set(KIND[pairs.witness.rows]) == {1, 2}


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_rows_of_other_classes_in_between(multi_class):
    mixed = np.random.default_rng(5).permutation(150)
    rows, y = IRIS[mixed], KIND[mixed]
    error = refused(lambda: mm.HardMarginSVC(multi_class=multi_class).fit(rows, y))
    check_error(error, rows, y, [1, 2] if multi_class == "ovr" else [(1, 2)])


def test_rows_without_weight_are_no_part_of_the_proof():
    weight = np.ones(60)
    weight[::7] = 0
    error = refused(lambda: mm.HardMarginSVC().fit(X, Y, sample_weight=weight))
    assert not set(error.witness.rows) & set(np.flatnonzero(weight == 0))
    assert error.verdict.proof.content["rows"] == np.count_nonzero(weight)
    # Witness rows are numbers of the data as given.
    assert set(Y[error.witness.positive]) == {"yes"} and set(Y[error.witness.negative]) == {"no"}
    total = error.witness.positive_weights @ X[error.witness.positive]
    assert np.allclose(
        (total - error.witness.negative_weights @ X[error.witness.negative]).astype(float), 0
    )
    used = weight > 0  # the proof is about these rows alone
    assert error.verdict.proof.verify(X[used], Y[used])
    assert pickle.loads(pickle.dumps(error)).verdict.proof.verify(X[used], Y[used])


def test_rows_without_weight_do_not_stand_in_the_way():
    y = APART.copy()
    y[5] = "yes" if y[5] == "no" else "no"
    rows = np.vstack([X, X[5]])
    weight = np.append(np.ones(60), 0)
    weight[5] = 0
    model = mm.HardMarginSVC().fit(rows, np.append(y, APART[5]), sample_weight=weight)
    assert model.margin_ > 0


def test_the_error_of_an_audit():
    other = SVC(kernel="linear").fit(X, Y)
    error = refused(lambda: mm.certify(other, X, Y, C=np.inf))
    check_error(error, X, Y, [None])


def test_large_data_is_kept_until_its_fingerprint_is_taken():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(9000, 8))  # more than 70,000 numbers
    y = (rows[:, 0] + 0.1 * rng.normal(size=9000) > 0).astype(int)
    error = refused(lambda: mm.HardMarginSVC().fit(rows, y))
    check_error(error, rows, y, [1])
    error = refused(lambda: mm.HardMarginSVC().fit(rows, y))
    again = pickle.loads(pickle.dumps(error))  # before anyone looked at the proof
    assert again.verdict.proof.verify(rows, y)
    assert again.verdict.proof.to_dict() == error.verdict.proof.to_dict()
