"""
A threshold buys margin
=======================

With a threshold δ the perceptron also updates on points that are right, but only
just: y (w·x + b) ≤ δ. So it ends with every point beyond the line by more than δ. The
proof of the mistake bound then gives a margin of at least δγ/(R² + 2δ), where γ is
the largest margin of the padded points: almost half of it for large δ.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import maxmargin as mm

iris = load_iris()
X = iris.data[:100, 2:]  # petals of setosa and versicolor
y = np.where(iris.target[:100] == 0, -1, 1)
A = y[:, None] * np.column_stack([X, np.ones(len(X))])  # a_i = y_i (x_i, 1)
limit = mm.mistake_bound(X, y)
print(limit)

# %%
# One run for each δ, from 0 to a hundred times R².

deltas = limit.R**2 * np.array([0.0, *np.logspace(-3, 2, 11)])
scale = deltas / limit.R**2
models = [mm.Perceptron(threshold=d, max_iter=None).fit(X, y) for d in deltas]
planes = [np.append(m.coef_[0], m.intercept_) for m in models]
margins = np.array([(A @ z).min() / np.linalg.norm(z) for z in planes]) / limit.gamma
floors = deltas / (limit.R**2 + 2 * deltas)
updates = np.array([m.n_mistakes_ for m in models])
print("δ / R²   margin / γ   proven at least   updates")
for k in (0, 4, 7, 11):
    print(f"{scale[k]:6.3g}{margins[k]:11.2f}{floors[k]:16.2f}{updates[k]:13,d}")

# %%
# On the left the lines that four of the runs end with. On the right the margin, which
# stays above the proven floor and comes close to the largest there is; the price is
# below it.

BLUE, VERMILION, GREEN, BLACK = "#0072B2", "#D55E00", "#009E73", "#1A1A1A"
fig, axes = plt.subplot_mosaic(
    [["plane", "margin"], ["plane", "price"]],
    figsize=(11, 5.4),
    layout="constrained",
    width_ratios=(1, 1.1),
)
ax = axes["plane"]
ax.scatter(*X[y < 0].T, s=26, c=BLUE, marker="o", label="setosa")
ax.scatter(*X[y > 0].T, s=26, c=VERMILION, marker="s", label="versicolor")
across = np.array([0.5, 5.5])
for k, way in ((0, ":"), (4, "-."), (7, "--"), (11, "-")):
    w1, w2, b = planes[k]
    up, name = -(w1 * across + b) / w2, f"δ = {scale[k].round(2):g} R²"
    ax.plot(across, up, way, color=BLACK, lw=1.6, label=name)
ax.set(xlim=(0.6, 6.4), ylim=(-0.1, 2.1), title="The line at the end of the run")
ax.set(xlabel=iris.feature_names[2], ylabel=iris.feature_names[3])
ax.legend(loc="lower right", frameon=False)

ax = axes["margin"]
ax.axhline(1, color=GREEN, lw=1.4, ls=":", label="largest margin γ")
ax.plot(scale, margins, "o-", color=BLUE, ms=5, label="the perceptron's margin")
ax.plot(scale, floors, "s--", color=VERMILION, ms=4, label="proven floor δγ/(R² + 2δ)")
ax.set(ylabel="margin / γ", ylim=(-0.03, 1.12), title="More threshold, more margin")
ax.legend(loc="lower left", bbox_to_anchor=(0.0, 0.15), frameon=False)

ax = axes["price"]
most = (limit.R**2 + 2 * deltas) / limit.gamma**2
ax.plot(scale, most, "s--", color=VERMILION, ms=4, label="bound (R² + 2δ)/γ²")
ax.plot(scale, updates, "o-", color=BLUE, ms=5, label="updates")
ax.set(yscale="log", ylabel="updates", title="… and more updates")
ax.set_xlabel("threshold δ, in units of R²")
ax.legend(loc="upper left", frameon=False)
for name in ("margin", "price"):
    axes[name].set_xscale("symlog", linthresh=1e-3, linscale=0.5)
    axes[name].set_xlim(-2e-4, 2e2)
    axes[name].grid(alpha=0.25)

assert np.all(margins >= floors)
print(f"The last run has {margins[-1]:.1%} of the largest margin.")
plt.show()
