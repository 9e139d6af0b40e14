"""Risk, cone, section and weight space, against what they mean."""

import numpy as np
import pytest

import maxmargin as mm
from lab_library import preset
from maxmargin.laboratory.engine import answer


def normals(state, positive=(1,), intercept=True):
    rows = [p for p in state["points"] if p[3] == 0]
    return np.array([[*p[:2], float(intercept)] for p in rows]) * np.array(
        [[1.0 if p[2] in positive else -1.0] for p in rows]
    )


@pytest.mark.parametrize("name", ["three-points", "overlapping", "three blobs"])
@pytest.mark.parametrize("intercept", [True, False])
def test_risk_over_a_grid(name, intercept):
    state = {**preset(name), "options": {"intercept": intercept}}
    found = answer({"ask": "risk", "state": state, "b": 0.25, "window": [-2, 1, 0, 3], "size": 7})
    A = normals(state, (0,) if name == "three blobs" else (1,), intercept)
    R = [
        np.maximum(0.0, -(A @ [w1, w2, 0.25])).sum()
        for w2 in np.linspace(0, 3, 7)
        for w1 in np.linspace(-2, 1, 7)
    ]
    assert found["values"] == pytest.approx(R, rel=1e-12, abs=1e-12)
    assert found["max"] == max(found["values"]) and len(found["values"]) == 49


def inside(polygon, point):
    """Whether a point is in a convex polygon."""
    p = np.array(polygon)
    edges, to = np.roll(p, -1, axis=0) - p, np.array(point) - p
    cross = edges[:, 0] * to[:, 1] - edges[:, 1] * to[:, 0]
    return bool(np.all(cross >= -1e-9) or np.all(cross <= 1e-9))


@pytest.mark.parametrize("b", [0.0, 0.5, -2.0])
def test_the_cone_holds_what_is_right_for_all(b):
    state = preset("three-points")
    cone = answer({"ask": "wspace", "state": state, "b": b, "window": [-3, 3, -3, 3]})["cone"]
    A = normals(state)
    for w1 in np.linspace(-2.9, 2.9, 20):
        for w2 in np.linspace(-2.9, 2.9, 20):
            least = (A @ [w1, w2, b]).min()
            if abs(least) > 1e-6:
                assert inside(cone, (w1, w2)) == (least > 0)


@pytest.mark.parametrize("name", ["xor, four points", "overlapping", "touching, four points"])
def test_no_cone_where_no_weights_are_right(name):
    state = preset(name)
    for b in (0.0, 1.0):
        assert answer({"ask": "wspace", "state": state, "b": b, "window": [-3, 3, -3, 3]})["cone"] == []
    box = [[-3, 3], [-3, 3], [-3, 3]]
    found = answer({"ask": "weights3d", "state": state, "box": box})
    assert found["region"]["faces"] == [] and found["optimum"] is None
    assert 1 <= len(found["planes"]) <= 12


def test_the_section_through_the_optimum():
    state = preset("three-points")
    w1 = 1 / 17
    found = answer({"ask": "section", "state": state, "w1": w1, "window": [-1, 1, -1, 1]})
    model = mm.HardMarginSVC().fit([p[:2] for p in state["points"]], [p[2] for p in state["points"]])
    assert found["optimum"] == [*model.coef_[0].tolist(), float(model.intercept_[0])]
    A = normals(state)
    for row, a, c, d in found["lines"]:
        assert [a, c] == A[row, 1:].tolist() and d == pytest.approx(1 - A[row, 0] * w1)
    for w2 in np.linspace(-0.95, 0.95, 20):
        for b in np.linspace(-0.95, 0.95, 20):
            least = (A @ [w1, w2, b]).min()
            if abs(least - 1) > 1e-6:
                assert inside(found["region"], (w2, b)) == (least > 1)


@pytest.mark.parametrize("name", ["three-points", "separable", "exam-marks"])
def test_planes_and_faces_in_three_dimensions(name):
    state = preset(name)
    A = normals(state)
    z = answer({"ask": "section", "state": state, "window": [-1, 1, -1, 1]})["optimum"]
    box = [[v - 2 * abs(v) - 0.1, v + 2 * abs(v) + 0.1] for v in z]
    found = answer({"ask": "weights3d", "state": state, "box": box})
    assert found["optimum"] == z and len(found["planes"]) <= 12
    for plane in found["planes"]:
        at = np.array(plane["polygon"]) @ A[plane["row"]]
        assert at == pytest.approx(np.ones(len(at)), abs=1e-7)
        assert len(plane["polygon"]) >= 3
    corners = np.vstack(found["region"]["faces"])
    assert (A @ corners.T).min() >= 1 - 1e-6
    assert np.all(corners >= np.array(box)[:, 0] - 1e-9)
    assert np.all(corners <= np.array(box)[:, 1] + 1e-9)
    rows = {plane["row"] for plane in found["planes"]}
    support = answer({"ask": "solve", "state": {**state, "algorithm": "hard"}})["machine"]["support"]
    assert set(support) <= rows


def test_the_watched_machine_is_meant():
    state = preset("three blobs")
    window = {"window": [-1, 1, -1, 1], "size": 5}
    grids = [
        answer({"ask": "risk", "state": {**state, "watch": k}, **window})["values"] for k in range(3)
    ]
    assert grids[0] != grids[1] != grids[2]
