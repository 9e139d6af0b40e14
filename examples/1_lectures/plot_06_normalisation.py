"""
Normalisation: only the direction of a point counts
===================================================

For planes through the origin, x and 5x are on the same side of every plane. So every
point may be scaled to length 1 before the perceptron starts. That changes no answer,
but it changes the bound R²/γ²: R becomes 1, and γ the sine of the angle between the
best plane and the nearest point.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

# %%
# Points above and below a plane, the horizontal axis. Those that lean to the right
# are long, those that lean to the left are short, by a factor of about thirty.

rng = np.random.default_rng(0)
y = np.repeat([1, -1], 20)
right = np.tile([True, False], 20)
angle = np.radians(np.where(right, rng.uniform(15, 80, 40), rng.uniform(100, 165, 40)))
length = np.where(right, rng.uniform(2, 3, 40), rng.uniform(0.05, 0.1, 40))
X = (length * y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
U = X / np.linalg.norm(X, axis=1, keepdims=True)

# %%
# Twenty runs in different orders, with and without normalisation, and the bound for
# each.

runs, bounds = {}, {}
for normalize in (False, True):
    rule = {"fit_intercept": False, "normalize": normalize}
    bounds[normalize] = mm.mistake_bound(X, y, **rule)
    models = [
        mm.Perceptron(order="shuffled", max_iter=None, random_state=seed, **rule)
        for seed in range(20)
    ]
    runs[normalize] = np.array([model.fit(X, y).n_mistakes_ for model in models])
    assert all(model.score(X, y) == 1 for model in models)
    print(f"normalize={normalize}: {runs[normalize].mean():.1f} mistakes on average.")
    print(bounds[normalize])

# %%
# On the left the points as they are: the short ones, close to the origin, hardly move
# w, so they are wrong many times before they outweigh the long ones. In the middle
# the same points on the unit circle.

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
widths = (1, 1, 0.85)
fig, axes = plt.subplots(
    1, 3, figsize=(12, 4.3), layout="constrained", width_ratios=widths
)
axes[0].set_title("As they are")
axes[1].set_title("Scaled to length 1")
for ax, points in zip(axes, (X, U), strict=False):
    ax.scatter(*points[y < 0].T, s=30, c=BLUE, label="y = −1", zorder=3)
    ax.scatter(
        *points[y > 0].T, s=30, c=VERMILION, marker="s", label="y = +1", zorder=3
    )
    reach = 1.15 * np.abs(points).max()
    ax.axhline(0, color="#7F7F7F", lw=1, ls="--")
    ax.plot(0, 0, "+", color="black", ms=12, mew=1.5, zorder=4)
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    ax.set(xlabel="x₁", ylabel="x₂")
axes[0].legend(loc="upper left", framealpha=1)
ax = axes[2]
for place, normalize in enumerate((False, True)):
    across, limit = place + np.linspace(-0.2, 0.2, 20), bounds[normalize].bound
    ax.scatter(across, np.sort(runs[normalize]), s=26, c=GREEN, label="a run", zorder=3)
    ax.hlines(limit, place - 0.3, place + 0.3, color="black", lw=2, label="bound R²/γ²")
ax.set_xticks([0, 1], ["as they are", "normalised"])
ax.set(xlim=(-0.5, 1.5), yscale="log", ylabel="mistakes")
ax.set_title("Mistakes, and their bound")
ax.grid(axis="y", alpha=0.25)
ax.legend(*(part[:2] for part in ax.get_legend_handles_labels()), frameon=False)
plt.show()

# %%
# Normalisation does not help against a small angle. It removes the part of the bound
# that lengths alone caused.

print(
    f"The bound falls by a factor of {bounds[False].bound / bounds[True].bound:,.0f}, "
    f"the mistakes by {runs[False].mean() / runs[True].mean():.1f}."
)
