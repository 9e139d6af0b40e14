"""
Passes, not rows
================

The exact machines read the data a handful of times, however many rows there are. The
hard margin keeps a small pool of rows, solves the problem for these exactly, and
reads all rows once to find those that the plane still gets wrong. The soft margin
works on the rows near the slab. So cost is counted in passes.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

# %%
# From five hundred to a hundred and sixty thousand rows in twenty features.

sizes = [500, 2_000, 10_000, 40_000, 160_000]
rng = np.random.default_rng(0)
hard, soft = [], []
for n in sizes:
    X, y, margin = mm.datasets.make_separable(n, 20, 0.25)
    hard.append(mm.HardMarginSVC().fit(X, y))
    assert abs(hard[-1].margin_ - margin) < 1e-9
    X = rng.normal(size=(n, 20))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    soft.append(mm.SoftMarginSVC(C=1.0, tol=1e-10).fit(X, y))

# %%
# On the left the passes. On the right how the gap closes for the largest data: each
# dot is a moment at which both bounds were known, what the plane at hand attains and
# what no plane exceeds.

HARD = {"color": "#0072B2", "marker": "o", "label": "hard margin, exact"}
SOFT = {"color": "#D55E00", "marker": "s", "label": "soft margin, gap 1e-10"}
fig, axes = plt.subplots(1, 2, figsize=(11.5, 4.4), layout="constrained")
for models, look in ((hard, HARD), (soft, SOFT)):
    axes[0].plot(sizes, [model.n_passes_ for model in models], **look)
    (machine,) = models[-1].machines_.values()
    passes, primal, dual = np.array([step[:3] for step in machine.progress_]).T
    axes[1].plot(passes, np.maximum((primal - dual) / primal, 1e-16), **look)
axes[0].set(xscale="log", xlabel="rows", ylabel="passes over the data", ylim=(0, None))
passes = [model.n_passes_ for model in (*hard, *soft)]
axes[0].set_title(f"{min(passes)} to {max(passes)} passes, whatever the number of rows")
axes[1].set(xlim=(0, None), yscale="log")
axes[1].set(xlabel="passes over the data", ylabel="relative gap")
axes[1].set_title(f"The gap closes: {sizes[-1]:,} rows")
for ax in axes:
    ax.grid(alpha=0.25)
    ax.legend(frameon=False, loc="lower left")
axes[0].legend(frameon=False, loc="lower right")
plt.show()

# %%
# The numbers.

print("    rows   hard: passes  support   soft: passes  support  relative gap")
for n, h, s in zip(sizes, hard, soft, strict=True):
    first = f"{h.n_passes_:12d}{len(h.support_):10d}"
    second = f"{s.n_passes_:14d}{len(s.support_):10,d}"
    print(f"{n:8,d}{first}{second}{abs(s.certificate_.relative_gap):14.0e}")
