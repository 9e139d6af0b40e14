"""
Line search: no step size to choose
===================================

Gradient descent on the perceptron risk needs a step size. Too small, and the way is
long; too large, and it jumps over the valley again and again. But along a line the
risk is piecewise linear, so its minimum can be found exactly, as a weighted quantile.
Then there is no step size to choose.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import maxmargin as mm

X = np.array([[1, 4], [-1, 4], [3, 1]], dtype=float)
y = np.array([1, -1, 1])


def descend(step, X, y, start, **options):
    """Fit from a given start, and do not mind a spent budget: the picture shows it."""
    model = mm.BatchPerceptron(step, record=True, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.BudgetWarning)
        return model.fit(X, y, coef_init=[start])


# %%
# Three points whose solutions form a narrow cone, and the same start: small steps,
# large steps, and line search.

fig, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
for ax, step in zip(axes, (0.02, 0.9, "exact"), strict=True):
    model = descend(step, X, y, [-1.5, -3.0], fit_intercept=False)
    mm.plots.RiskDisplay.from_estimator(model, X, y, ax=ax)
    ax.get_legend().remove()
    ax.set_anchor("C")
    size = "line search" if step == "exact" else f"step {step}"
    ax.set_title(f"{size}: {model.n_iter_} steps")
plt.show()

# %%
# Real data: iris setosa against the other two, in four features. Steps that are small
# beside the start take long. Large ones soon drown the start, and then their size no
# longer matters. The line search has no such dial.

iris = load_iris()
X, y = iris.data, np.where(iris.target == 0, 1, -1)
start = np.random.default_rng(0).normal(size=4)
sizes = np.logspace(-6, 1, 15)
counts = np.array([descend(s, X, y, start, max_iter=3000).n_iter_ for s in sizes])
exact = descend("exact", X, y, start)
print(exact.stop_reason_)

fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
done = counts < 3000
ax.plot(sizes, counts, color="#0072B2", lw=1.4)
ax.plot(sizes[done], counts[done], "o", color="#0072B2", ms=5, label="fixed step")
cross = {"color": "#0072B2", "ms": 7, "mew": 2, "label": "not done after 3,000 steps"}
ax.plot(sizes[~done], counts[~done], "x", **cross)
name = f"line search: {exact.n_iter_} steps"
ax.axhline(exact.n_iter_, color="#D55E00", lw=2, ls="--", label=name)
ax.set(xscale="log", yscale="log", xlabel="step size ε")
ax.set_ylabel("steps until all points are right")
ax.set_title("Iris setosa against the rest: what the step size decides")
ax.grid(alpha=0.25)
ax.legend(frameon=False)
plt.show()

# %%
# What was seen, in numbers.

for k in (0, counts.argmin(), -1):
    print(
        f"ε = {sizes[k]:<8.2g} {counts[k]:5,d} steps{'' if done[k] else ', not done'}"
    )
print(f"line search  {exact.n_iter_:5d} steps")
