"""Margin machines on partitions, in one process: the answer of a local fit, in few rounds and bytes."""

import math
import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import maxmargin as mm
from maxmargin.cluster import dask as tree
from maxmargin.estimators.validation import check_survey
from maxmargin.kernels.margin import residuals, sort_out, weigh
from maxmargin.rows.survey import survey
from maxmargin.solvers.margin import partitions, soft_margin_partitions
from partitions import blocks, noisy
from simulated import Costs, Serial, Simulated, reduced


def fitted(model, X, y, cuts=(), parts=5):
    cuts = cuts or np.linspace(0, X.shape[0], parts + 1).astype(int)[1:-1].tolist()
    model._fit_data(survey(Serial(blocks(X, y, cuts))))
    return model


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(20, 300),
    d=st.integers(1, 6),
    C=st.sampled_from([0.01, 1.0, 50.0]),
    cuts=st.lists(st.integers(0, 20), min_size=1, max_size=6),
    fit_intercept=st.booleans(),
    form=st.sampled_from([np.float64, np.float32, sparse.csr_array]),
)
def test_any_partition_gives_the_optimum_and_multipliers_of_every_row(
    seed, n, d, C, cuts, fit_intercept, form
):
    X, y = noisy(n, d, seed)
    X = X.astype(form) if form is np.float32 else X
    given_X = form(X) if form is sparse.csr_array else X
    wide = X.astype(np.float64)
    model = fitted(mm.SoftMarginSVC(C, fit_intercept=fit_intercept, tol=1e-8), given_X, y, cuts)
    local = mm.SoftMarginSVC(C, fit_intercept=fit_intercept, tol=1e-8).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-8
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=3e-8)
    # The numbers per row, by the textbook's formulas.
    signs, alpha = np.where(y == "yes", 1.0, -1.0), model.dual_
    assert np.all((alpha >= 0.0) & (alpha <= C))
    assert abs(alpha @ signs) <= 1e-9 * alpha.sum() or not fit_intercept
    v = (alpha * signs) @ wide
    dual, rounding = alpha.sum() - 0.5 * v @ v, 1e-12 * alpha.sum()
    assert dual == pytest.approx(model.certificate_.dual, rel=1e-12, abs=rounding)
    slack = np.maximum(0.0, 1.0 - signs * (wide @ model.coef_[0] + model.intercept_[0]))
    assert model.slack_ == pytest.approx(slack, abs=1e-9)
    assert np.array_equal(model.support_, np.flatnonzero(alpha))


@pytest.mark.parametrize("kind", ["gauss", "heavy", "discrete", "uneven", "separable", "rare"])
def test_newton_rounds_where_few_rows_may_travel(kind, monkeypatch):
    small = replace(partitions.SETTINGS, max_numbers_sent=20_000)
    monkeypatch.setattr(partitions, "SETTINGS", small)
    few = replace(partitions.SOFT, min_working_rows=500)
    monkeypatch.setattr(partitions, "SOFT", few)
    X, y = noisy(30_000, 8, kind=kind)
    model = fitted(mm.SoftMarginSVC(1.0), X, y)
    local = mm.SoftMarginSVC(1.0).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.n_passes_ <= 35
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=2e-6)
    assert model.certificate_.dual_infeasibility <= 1e-9
    # In a round either the Hessian travels, or 2,500 rows (with some to spare); and the sample once.
    assert model.bytes_moved_ <= (model.n_passes_ + 1) * 2 * 2_500 * 8 * (8 + 3)


@pytest.mark.parametrize("model", [mm.HardMarginSVC(), mm.SoftMarginSVC(0.1)])
def test_a_round_moves_at_most_a_thousand_rows_per_partition(model):
    d, parts = 5, 10
    fitted(model, *noisy(200_000, d, kind="separable"), parts=parts)
    assert model.bytes_moved_ <= model.n_passes_ * parts * 1_000 * 8 * (d + 3)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_hard_margin_is_the_local_one_in_few_rounds(form):
    X, y = noisy(40_000, 6, kind="separable")
    model = fitted(mm.HardMarginSVC(), form(X), y, parts=9)
    local = mm.HardMarginSVC().fit(X, y)
    assert model.margin_ == pytest.approx(local.margin_, rel=1e-9)
    assert model.certificate_.relative_gap <= 1e-9
    assert model.n_passes_ <= 12
    assert np.array_equal(model.support_, local.support_)
    assert model.certificate_.margin[0] <= model.certificate_.margin[1] * (1 + 1e-12)


def test_rows_that_no_plane_separates_have_a_witness_in_all_rows():
    X, y = noisy(20_000, 3)
    with pytest.raises(mm.NotSeparableError, match="the same point, exactly") as caught:
        fitted(mm.HardMarginSVC(), X, y)
    witness = caught.value.witness
    means = []
    for side, weights, label in (
        (witness.positive, witness.positive_weights, "yes"),
        (witness.negative, witness.negative_weights, "no"),
    ):
        assert set(y[side]) == {label} and sum(weights) == 1
        rows = [[Fraction(v) for v in X[i].tolist()] for i in side]
        means.append([sum(w * row[j] for w, row in zip(weights, rows, strict=True)) for j in range(3)])
    assert means[0] == means[1]


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 3.0}])
def test_several_classes_share_their_rounds(multi_class, class_weight):
    rng = np.random.default_rng(4)
    y = rng.choice(3, size=6_000, p=[0.15, 0.35, 0.5])
    X = rng.normal(size=(6_000, 4)) + np.eye(3, 4)[y] * 1.5
    order = np.argsort(y, kind="stable")  # most partitions lack a class
    X, y = X[order], y[order]
    model = mm.SoftMarginSVC(0.5, multi_class=multi_class, class_weight=class_weight)
    local = mm.SoftMarginSVC(0.5, multi_class=multi_class, class_weight=class_weight).fit(X, y)
    fitted(model, X, y)
    assert model.n_passes_ <= 35
    for label, machine in model.machines_.items():
        assert machine.certificate_.relative_gap <= 1e-6
        primal = local.machines_[label].certificate_.primal
        assert machine.certificate_.primal == pytest.approx(primal, rel=2e-6)
        alike = local.machines_[label].dual_ > 0
        assert np.mean(alike == (machine.dual_ > 0)) > 0.99
    assert np.mean(model.predict(X) == local.predict(X)) > 0.999


def test_a_warm_start_begins_at_the_last_plane():
    X, y = noisy(20_000, 5)
    model = fitted(mm.SoftMarginSVC(1.0, warm_start=True), X, y)
    cold = model.machines_["yes"].progress_[0].primal / model.certificate_.primal
    fitted(model, X, y)
    warm = model.machines_["yes"].progress_[0].primal / model.certificate_.primal
    assert warm == pytest.approx(1.0, abs=1e-6) and cold > 1.0 + 1e-5


def test_a_budget_of_rounds_ends_the_fit_with_an_honest_gap():
    X, y = noisy(20_000, 5)
    with pytest.warns(mm.BudgetWarning, match="max_passes"):
        model = fitted(mm.SoftMarginSVC(1.0, max_passes=3), X, y)
    assert model.n_passes_ == 4  # the last one is that of the certificate
    assert model.certificate_.relative_gap > 1e-6


def test_a_copy_holds_its_numbers_itself():
    X, y = noisy(500, 3)
    model = fitted(mm.SoftMarginSVC(1.0), X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.dual_, model.dual_)
    assert copy.certificate_ == model.certificate_


@pytest.mark.parametrize("kind", ["heavy", "cauchy"])
def test_heavy_tails_and_many_features_where_few_rows_may_travel(kind, monkeypatch):
    n, d = 8_000, 100
    small = replace(partitions.SETTINGS, max_numbers_sent=700 * d)
    monkeypatch.setattr(partitions, "SETTINGS", small)
    few = replace(partitions.SOFT, min_working_rows=500)
    monkeypatch.setattr(partitions, "SOFT", few)
    model = fitted(mm.SoftMarginSVC(1.0), *noisy(n, d, kind=kind), parts=20)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.dual_infeasibility <= 1e-9
    assert model.n_passes_ <= 35
    assert model.bytes_moved_ <= (model.n_passes_ + 1) * 8 * (2 * 700 + 20 * 13 + 16 * d) * (d + 3)


def words(n, d, seed=0):
    """Sparse rows of many features."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.005, rng=rng, format="csr")
    return X, np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, "yes", "no")


def test_very_many_features_need_no_hessian():
    X, y = words(800, 4_100)
    model = fitted(mm.SoftMarginSVC(1.0), X, y)
    local = mm.SoftMarginSVC(1.0).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-6 and model.n_passes_ <= 35
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=2e-6)
    # In a round no more than the rows, and a few vectors for each partition.
    assert model.bytes_moved_ <= model.n_passes_ * (20 * X.nnz + 5 * 8 * 8 * 4_100)


def test_very_many_features_with_too_many_rows_near_the_margin_end_with_an_honest_gap(monkeypatch):
    small = replace(partitions.SETTINGS, max_numbers_sent=300)
    monkeypatch.setattr(partitions, "SETTINGS", small)
    few = replace(partitions.SOFT, min_working_rows=100)
    monkeypatch.setattr(partitions, "SOFT", few)
    X, y = words(800, 4_100)
    with pytest.warns(mm.BudgetWarning):
        model = fitted(mm.SoftMarginSVC(1.0), X, y)
    local = mm.SoftMarginSVC(1.0).fit(X, y).certificate_
    assert model.certificate_.dual_infeasibility <= 1e-9
    assert model.certificate_.dual <= local.primal and local.dual <= model.certificate_.primal


def test_sums_in_a_tree_are_those_of_all_at_once(monkeypatch):
    X, y = noisy(2_600, 4)
    in_tree = fitted(mm.SoftMarginSVC(1.0), X, y, parts=260)
    again = fitted(mm.SoftMarginSVC(1.0), X, y, parts=260)
    monkeypatch.setattr(tree, "FAN", 1_000)
    flat = fitted(mm.SoftMarginSVC(1.0), X, y, parts=260)
    assert in_tree.coef_.tobytes() == again.coef_.tobytes()
    assert in_tree.coef_ == pytest.approx(flat.coef_, rel=1e-9)
    assert in_tree.n_passes_ == flat.n_passes_ and in_tree.bytes_moved_ < flat.bytes_moved_


@given(values=st.lists(st.integers(), min_size=1, max_size=700), size=st.sampled_from([1, 2, 4, 8, 16]))
def test_groups_are_neighbours_and_few_are_left(values, size):
    left = reduced([[v] for v in values], lambda group: list(chain(*group)))
    assert list(chain(*left)) == values and len(left) <= tree.FAN
    assert [v for group in tree.in_groups(values, size) for v in group] == values
    assert tree.bundle_size(len(values), 1) * tree.TASKS_PER_THREAD <= max(
        len(values), tree.TASKS_PER_THREAD
    )


def test_partitions_that_cannot_be_used_are_refused():
    X, y = noisy(100, 3)
    bad = X.copy()
    bad[70, 1] = math.nan
    cases = [
        ([(bad[:50], y[:50]), (bad[50:], y[50:])], "NaN in row 70, column 1"),
        ([(X[:50], y[:50]), (X[50:, :2], y[50:])], "Got 2 in partition 1"),
        ([(X[:50], y[:50]), (sparse.csr_array(X[50:]), y[50:])], "all dense or all sparse"),
        ([(X[:50], y[:49]), (X[50:], y[50:])], "50 in a partition. Got 49"),
        ([(X[:0], y[:0])], "at least one row"),
        ([(X[:50].astype(str), y[:50])], "real numbers"),
        ([(X[:50], np.full(50, "no")), (X[50:], np.full(50, "no"))], "at least two classes"),
    ]
    for parts, words in cases:
        with pytest.raises(mm.InputError, match=words):
            check_survey(survey(Serial(parts)))


def test_a_simulated_cluster_reckons_rounds_reading_and_messages():
    X, y = noisy(10_400, 4, kind="separable")
    cuts = np.linspace(0, len(X), 261).astype(int)[1:-1].tolist()
    costs = Costs(workers=26, latency=0.5, task=0.0, disk=1e8, network=1e9)
    clocks = []
    for stand_for in (1.0, 1e6):
        executor = Simulated(blocks(X, y, cuts), costs, stand_for)
        model = mm.HardMarginSVC()
        model._fit_data(survey(executor))
        sent = executor.bytes_moved / 1e9
        read = model.n_passes_ * stand_for * X.nbytes / (26 * 1e8)
        # The parts of the certificate are added up in two levels, sixteen of less than 1 kB at a time.
        adding = executor.clock - (0.5 * model.n_passes_ + read + sent)
        assert -1e-6 * executor.clock <= adding <= 2 * 16 * 1e3 / 1e9 + 1e-6 * executor.clock
        clocks.append(executor.clock)
    # 10^10 rows: reading them is all that counts.
    assert model.n_passes_ <= 12 and clocks[1] > 100 * clocks[0]


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_one_row_of_each_kind_is_enough(C):
    rng = np.random.default_rng(3)
    X = (rng.random((60_000, 2)) < 0.2).astype(float)
    y = np.where(X @ [2.0, -1.0] - 0.3 + rng.normal(size=len(X)) > 0, "yes", "no")
    model = fitted(mm.SoftMarginSVC(C), X, y, parts=10)
    assert model.n_passes_ == 4  # a survey, a sample, the rows, the certificate
    assert model.bytes_moved_ <= 60_000 * 2 * 8 * 3  # less than three times what all rows take
    assert model.certificate_.relative_gap <= 1e-6
    local = mm.SoftMarginSVC(C).fit(X, y)
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=2e-6)


@pytest.mark.parametrize("sure", [0.0, math.inf])
def test_the_answer_does_not_depend_on_when_the_certificate_is_asked_for(sure, monkeypatch):
    X, y = noisy(30_000, 8)
    usual = fitted(mm.SoftMarginSVC(), X, y)
    settled = replace(soft_margin_partitions.SETTINGS, sure_share=sure)
    monkeypatch.setattr(soft_margin_partitions, "SETTINGS", settled)
    model = fitted(mm.SoftMarginSVC(), X, y)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.primal == pytest.approx(usual.certificate_.primal, rel=2e-6)
    assert usual.n_passes_ <= model.n_passes_ <= usual.n_passes_ + 2
    signs, alpha = np.where(y == "yes", 1.0, -1.0), model.dual_
    v = (alpha * signs) @ X
    dual, rounding = alpha.sum() - 0.5 * v @ v, 1e-12 * alpha.sum()
    assert dual == pytest.approx(model.certificate_.dual, rel=1e-12, abs=rounding)


def test_numbers_that_lie_across_words_give_the_same_machine():
    X, y = noisy(5_000, 6)
    memory = bytearray(X.nbytes + 4)
    across = np.ndarray(X.shape, float, memory, offset=4)
    across[:] = X
    assert not across.flags.aligned
    one, other = mm.SoftMarginSVC().fit(X, y), mm.SoftMarginSVC().fit(across, y)
    assert np.array_equal(one.coef_, other.coef_) and one.score(across, y) == other.score(X, y)
    one, other = fitted(mm.SoftMarginSVC(), X, y), fitted(mm.SoftMarginSVC(), across, y)
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.dual_, other.dual_)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    k=st.sampled_from([0, 1, 8]),
    width=st.sampled_from([0.0, 0.25, 1.0, 8.0, math.inf]),
)
def test_rows_are_sorted_out_as_the_formulas_say(seed, n, k, width):
    rng = np.random.default_rng(seed)
    F, shift = rng.normal(size=(n, 2 + k)), rng.normal(size=2 + k)
    F[rng.random(n) < 0.2, 2:] = -shift[2:]  # rows without a scale
    y, C = rng.choice([-1.0, 1.0], n), rng.uniform(0.1, 2.0, n)
    r, u, scales = np.empty((3, n))
    scales[:] = rng.choice([0.0, 0.5, 1.0, 1e-30, 1e30], n)
    given_scales = scales.copy()
    residuals(F, shift, y, r, u, scales)
    G = F + shift
    assert r == pytest.approx(1.0 - y * G[:, 0]) and u == pytest.approx(y * G[:, 1])
    expected = np.sqrt((G[:, 2:] ** 2).mean(axis=1)) if k else given_scales
    assert scales == pytest.approx(expected)
    steps, hinge, counts = np.array([0.0, 0.5, 1.0]), np.zeros(3), np.zeros(91, np.int64)
    inside = np.empty(n, np.int64)
    size = sort_out(r, u, scales, C, width, steps, -60, hinge, counts, inside)
    assert hinge == pytest.approx([C @ np.maximum(r + t * u, 0.0) for t in steps])
    near = [i for i in range(n) if width == math.inf or abs(r[i]) <= width * scales[i]]
    assert inside[:size].tolist() == near
    sides = np.empty((2, n))
    total = weigh(r, C, y, inside[:size], sides)
    alpha = np.array([0.0 if i in near or r[i] <= 0.0 else C[i] for i in range(n)])
    assert total == pytest.approx(alpha @ r)
    assert np.array_equal(sides, [alpha * (y > 0.0), -(alpha * (y < 0.0))])
    for power in range(-59, 30):  # but for the last, which has all others too
        below = sum(1 for i in range(n) if scales[i] > 0 and abs(r[i]) / scales[i] < 2.0**power)
        assert counts[: power + 61].sum() == below
    assert counts.sum() == n
