"""
A hundred orders, a hundred lines
=================================

The perceptron stops at the first line that separates the classes. Which one that is
depends on the order in which it sees the points. The largest margin does not depend
on any order: there is exactly one line that has it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import maxmargin as mm

iris = load_iris()
X, y = iris.data[:100, 2:], iris.target_names[iris.target[:100]]
signs = np.where(y == "versicolor", 1, -1)

# %%
# The petals of two kinds of iris, and a hundred runs, each in its own order.

runs = [
    mm.Perceptron(order="shuffled", random_state=seed).fit(X, y) for seed in range(100)
]
best = mm.HardMarginSVC().fit(X, y)
margins = np.array(
    [(signs * r.decision_function(X)).min() / np.linalg.norm(r.coef_) for r in runs]
)

# %%
# All the lines separate the classes, and most of them pass close by some point.

BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#7F7F7F"
fig, axes = plt.subplots(1, 2, figsize=(11.5, 4.6), layout="constrained")
ax = axes[0]
for k, run in enumerate(runs):
    (w1, w2), b = run.coef_[0], run.intercept_[0]
    name = "a perceptron" if k == 0 else None
    ax.axline((-b / w1, 0), slope=-w1 / w2, color=GREY, lw=0.6, alpha=0.6, label=name)
(w1, w2), b = best.coef_[0], best.intercept_[0]
ax.axline((-b / w1, 0), slope=-w1 / w2, color=GREEN, lw=3, label="largest margin")
for name, colour, marker in (("setosa", BLUE, "o"), ("versicolor", VERMILION, "s")):
    ax.scatter(*X[y == name].T, s=24, c=colour, marker=marker, label=name, zorder=3)
ax.set(xlabel=iris.feature_names[2], ylabel=iris.feature_names[3])
ax.set(xlim=(0.6, 5.4), ylim=(-0.1, 2.1))
ax.set_title("A hundred perceptrons and one largest margin")
ax.legend(loc="lower right", framealpha=1)

ax = axes[1]
ax.hist(margins, bins=np.linspace(0, best.margin_, 21), color=GREY, ec="white")
name = f"largest margin {best.margin_:.3f} cm"
ax.axvline(best.margin_, color=GREEN, lw=3, label=name)
ax.set(xlabel="margin (cm)", ylabel="perceptrons", title="How far the nearest point is")
ax.legend(frameon=False, loc="upper center")
plt.show()

# %%
# How different they are, in numbers.

assert all(run.score(X, y) == 1 for run in runs) and np.all(margins <= best.margin_)
planes = {
    tuple(np.round(np.append(r.coef_[0], r.intercept_) / np.linalg.norm(r.coef_), 9))
    for r in runs
}
print(f"{len(planes)} different lines from 100 orders.")
low, middle, high = np.quantile(margins, [0, 0.5, 1])
print(f"Their margins: {low:.3f} to {high:.3f} cm, median {middle:.3f} cm.")
low, high = best.certificate_.margin
print(f"The largest margin: at least {low:.12f}, at most {high:.12f} cm.")
