"""Weights of rows in partitions, in one process: the answer of a local fit with the same weights."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import maxmargin as mm
from maxmargin.estimators.base import share_right
from maxmargin.rows.survey import survey
from partitions import noisy, weighted


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(20, 300),
    C=st.sampled_from([0.05, 2.0]),
    cuts=st.lists(st.integers(0, 20), max_size=5),
    class_weight=st.sampled_from([None, "balanced"]),
    form=st.sampled_from([np.asarray, sparse.csr_array]),
)
def test_weights_give_the_local_optimum(seed, n, C, cuts, class_weight, form):
    X, y = noisy(n, 3, seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, n) * rng.random(n)
    weight[:2], y[:2] = 1.0, ["no", "yes"]
    X[-1], weight[-1], y[-1] = math.nan, 0.0, "neither"  # a row that is left out may be anything
    y = y.astype("<U7")
    y[-1] = "neither"
    options = {"class_weight": class_weight, "tol": 1e-8}
    model = mm.SoftMarginSVC(C, **options)
    partitions = weighted(form(X), y, weight, cuts)
    model._fit_data(survey(partitions))
    kept = weight > 0
    local = mm.SoftMarginSVC(C, **options).fit(X[kept], y[kept], sample_weight=weight[kept])
    assert model.certificate_.relative_gap <= 1e-8
    assert model.certificate_.primal == pytest.approx(local.certificate_.primal, rel=3e-8)
    assert model.classes_.tolist() == ["no", "yes"]
    alpha, signs = model.dual_, np.where(y == "yes", 1.0, -1.0)
    assert len(alpha) == n and not np.any(alpha[~kept])
    factor = local.machines_["yes"].certificate_  # the dual value, by the textbook's formula
    v = (alpha * signs)[kept] @ X[kept]
    assert alpha.sum() - 0.5 * v @ v == pytest.approx(factor.dual, rel=3e-8)
    if class_weight is None:
        assert np.all(alpha <= C * weight * (1 + 1e-12))


def test_of_the_weights_of_a_hard_margin_only_zero_matters():
    X, y = noisy(3_000, 4, kind="separable")
    wrong = np.arange(0, 3_000, 50)
    y[wrong] = np.where(y[wrong] == "yes", "no", "yes")
    weight = np.full(3_000, 0.5)
    weight[wrong] = 0.0
    model, cuts = mm.HardMarginSVC(), [0, 700, 701, 2_000]
    model._fit_data(survey(weighted(X, y, weight, cuts)))
    local = mm.HardMarginSVC().fit(X, y, sample_weight=weight)
    assert model.margin_ == pytest.approx(local.margin_, rel=1e-9)
    assert np.array_equal(model.support_, local.support_)
    model.n_features_in_ = 4
    given_weight = weight + np.arange(3_000) % 7
    share = share_right(model._planes(), weighted(X, y, given_weight, cuts))
    assert share == pytest.approx(local.score(X, y, given_weight), abs=1e-12)


def test_weights_that_cannot_be_used_are_refused():
    X, y = noisy(100, 3)
    ones = np.ones(100)
    cases = [
        (-ones, "numbers ≥ 0. Got -1.0"),
        (ones * math.nan, "numbers ≥ 0. Got nan"),
        (ones[:99], "sample_weight must hold one value per row"),
        (np.zeros(100), "a number > 0. Got only zeros"),
        (np.full(100, "1"), "one number per row"),
    ]
    for weight, words in cases:
        with pytest.raises(mm.InputError, match=words):
            survey(weighted(X, y, weight, [50]))
