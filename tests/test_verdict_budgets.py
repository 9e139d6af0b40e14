"""``max_seconds`` of verdicts, exact optima and bounds: what is known is said, and nothing is wrong."""

import itertools
import json
import math
import pickle
import warnings

import numpy as np
import pytest

import maxmargin as mm
from clocks import HOUR, Clock
from commands import fresh_folder, run, write  # noqa: F401
from maxmargin.core.parameters import Deadline, OutOfTimeError
from maxmargin.estimators import progress

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 13))
APART, MIXED = np.where(X[:, 0] > 0.1, "yes", "no"), RNG.choice(["no", "yes"], 120)


@pytest.mark.parametrize("labels", [APART, MIXED], ids=["apart", "mixed"])
@pytest.mark.parametrize("numbers", ["binary", "decimal"])
def test_a_verdict_is_right_or_undecided_whenever_the_time_ends(labels, numbers):
    truth, seen = mm.separability(X, labels).kind, []
    for hours in itertools.count(1, 3):
        with Clock().ticking():
            verdict = mm.separability(X, labels, numbers=numbers, max_seconds=hours * HOUR)
        seen.append(verdict.kind)
        assert verdict.kind in (truth, "undecided")
        if verdict.kind == truth:
            assert verdict.proof.verify(X, labels)
            break
        assert verdict.proof is None and verdict.w is None and verdict.undecided
        assert not verdict.separable and verdict.infinite == {}
        assert verdict.likely_separable in (None, truth == "separable")
        assert verdict.witness is None or truth != "separable"
        assert str(verdict).startswith("Undecided (not known): ")
        again = pickle.loads(pickle.dumps(verdict))
        assert (again.kind, str(again)) == ("undecided", str(verdict))
        low, high = verdict.margin or (0.0, math.inf)
        assert low == 0.0 and (truth != "separable" or high >= mm.separability(X, labels).margin[0])
    assert seen[0] == "undecided"


def test_what_floating_point_said_is_known(monkeypatch):
    def in_vain(*given, **more):
        raise OutOfTimeError

    for name in ("cancel", "signs"):
        monkeypatch.setattr(f"maxmargin.solvers.exact.separability.{name}", in_vain)
    mixed = mm.separability(X, MIXED)
    assert (mixed.kind, mixed.likely_separable) == ("undecided", False)
    assert "In floating point they are not separable; the proof is not finished." in str(mixed)
    apart = mm.separability(X, APART)
    assert (apart.kind, apart.likely_separable) == ("undecided", True)
    assert "In floating point a plane separates them" in str(apart)
    assert "No plane has a margin of more than" in str(apart)


def test_a_witness_is_known_where_touching_or_not_is_open(monkeypatch):
    def in_vain(*given, **more):
        raise OutOfTimeError

    monkeypatch.setattr("maxmargin.estimators.separability.write_proof", in_vain)
    verdict = mm.separability(X, MIXED)
    assert verdict.kind == "undecided" and not verdict.separable
    mean = [
        sum(w * X[i] for i, w in zip(rows, weights.astype(float), strict=True))
        for rows, weights in (
            (verdict.witness.positive, verdict.witness.positive_weights),
            (verdict.witness.negative, verdict.witness.negative_weights),
        )
    ]
    assert np.allclose(*mean)
    assert "the time ended before it was clear if they touch" in " ".join(str(verdict).split())


def test_the_margin_may_be_known_less_well(monkeypatch):
    Z = np.round(X[:, :5], 2)
    labels = np.where(Z @ [1, 2, 3, 4, 5] > 0.123, 1, 0)

    def in_vain(*given, **more):
        raise OutOfTimeError

    monkeypatch.setattr("maxmargin.solvers.exact.hard_margin._largest_margin", in_vain)
    verdict = mm.separability(Z, labels, tol=1e-15)
    assert verdict.kind == "separable" and verdict.proof.verify(Z, labels)
    low, high = verdict.margin
    assert 0 < low <= high


def test_without_the_margin_any_plane_will_do():
    for numbers in ("binary", "decimal"):
        verdict = mm.separability(X, APART, margin=False, numbers=numbers)
        assert verdict.kind == "separable" and verdict.proof.verify(X, APART)
        low, high = mm.separability(X, APART).margin
        assert verdict.margin[0] <= high and verdict.margin[1] >= low
    assert mm.separability(X, MIXED, margin=False).kind == "overlapping"


def test_several_classes_share_the_time():
    labels = RNG.choice(list("abc"), 120)
    verdict = mm.separability(X, labels, max_seconds=1e-9)
    assert {v.kind for v in (*verdict.rest.values(), *verdict.pairs.values())} == {"undecided"}
    assert verdict.undecided and not verdict.separable
    assert "3 undecided" in str(verdict)


def test_prove_says_what_is_known_when_time_ends():
    with pytest.raises(mm.BudgetError, match=r"ended before .* Raise max_seconds") as caught:
        mm.HardMarginSVC(max_seconds=1e-9).prove(X, APART)
    assert caught.value.verdict.kind == "undecided"
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value) and again.verdicts.keys() == caught.value.verdicts.keys()
    with pytest.raises(mm.BudgetError):
        mm.HardMarginSVC(max_seconds=1e-9).prove(X, MIXED)
    assert mm.HardMarginSVC(max_seconds=1e6).prove(X[:20, :2], X[:20, 0] > 0).margin > 0


def test_error_bounds_are_those_found_so_far():
    whole = mm.error_bounds(X, MIXED)
    for hours in (1e-9, 10, 30, 100):
        with Clock().ticking():
            bounds = mm.error_bounds(X, MIXED, max_seconds=hours * HOUR)
        wrong = np.count_nonzero(np.where(X @ bounds.w + bounds.b > 0, "yes", "no") != MIXED)
        assert bounds.upper >= wrong and bounds.lower <= whole.upper
        assert len(bounds.witnesses) == bounds.lower
        assert not bounds.limited or ("time ended first" in str(bounds)) == bounds.late
    assert mm.error_bounds(X, MIXED, max_seconds=1e-9).late
    assert mm.error_bounds(X, MIXED, max_witnesses=1).late is False


def test_the_witnesses_of_the_pocket_obey_its_budget(monkeypatch):
    asked = []

    def counted(deadline, *given, **more):
        asked.append(deadline.end)
        raise OutOfTimeError

    monkeypatch.setattr(Deadline, "check", counted)
    model = mm.PocketPerceptron(max_updates=50, stop=mm.stopping.MaxSeconds(1e6), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        model.fit(X, MIXED)
    assert model.error_lower_bound_ == 0.0 and asked and max(asked) < math.inf


def test_mistake_bound_says_what_is_not_known():
    bound = mm.mistake_bound(X, MIXED, max_seconds=1e-9)
    assert (bound.kind, bound.bound) == ("undecided", math.inf)
    assert str(bound).endswith("no bound is known.")


@pytest.mark.parametrize("ask", [mm.separability, mm.error_bounds, mm.mistake_bound])
def test_options_are_checked(ask):
    for seconds in (0, -1, math.nan, "long"):
        with pytest.raises(mm.InputError, match="max_seconds must be"):
            ask(X, MIXED, max_seconds=seconds)
    with pytest.raises(mm.InputError, match="verbose must be"):
        ask(X, MIXED, verbose=-1)


def test_long_work_shows_how_it_goes(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "OFTEN", 0.0)
    mm.separability(X, MIXED)
    assert capsys.readouterr().err == ""
    mm.separability(X, MIXED, verbose=1)
    assert "separability" in capsys.readouterr().err


def test_the_command_tells_that_time_ended():
    lines = [
        ",".join(map(repr, row)) + f",{label}" for row, label in zip(X.tolist(), MIXED, strict=True)
    ]
    write("data.csv", "\n".join(lines) + "\n")
    code, out, _ = run("separable", "data.csv", "--max-seconds", "1e-9", "--proof", "proof.json")
    assert code == 3 and out.startswith("Undecided")
    code, out, _ = run("separable", "data.csv", "--max-seconds", "1e-9", "--json")
    content = json.loads(out)
    assert code == 3 and content["kind"] == "undecided"
    assert content["likely_separable"] in (None, False) and "witness" not in content
    code, out, _ = run("separable", "data.csv", "--max-seconds", "1e6", "--no-margin", "--json")
    assert code == 1 and json.loads(out)["kind"] == "overlapping"
