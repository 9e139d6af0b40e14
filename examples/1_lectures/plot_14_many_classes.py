"""
Many classes: one against all, and one against one
==================================================

A linear classifier tells two classes apart. For k classes, *one against all* trains k
machines, each for one class against the rest, and takes the class with the largest
decision value. *One against one* trains a machine for each of the k(k − 1)/2 pairs
and takes a vote. They differ where a class stands among others.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

# %%
# Nine groups, like the keys of a telephone.

rng = np.random.default_rng(1)
centres = np.array([[x, y] for y in (3, 0, -3) for x in (-3, 0, 3)])
X = np.repeat(centres, 14, axis=0) + rng.normal(scale=0.5, size=(126, 2))
y = np.repeat(np.arange(1, 10), 14)

# %%
# The verdicts say beforehand what will happen: each pair of groups is separable, but
# of the groups against all others only the corners are.

verdict = mm.separability(X, y)
alone = [label for label, one in verdict.rest.items() if one.separable]
pairs = sum(one.separable for one in verdict.pairs.values())
print(f"Separable from all others: {alone}.")
print(f"Pairs that are separable: {pairs} of {len(verdict.pairs)}.")

# %%
# So one against all has good machines for the corners and none for the other five
# groups. One against one has a good machine for every pair.

models = {
    "One against all": mm.SoftMarginSVC(C=1.0, multi_class="ovr").fit(X, y),
    "One against one": mm.SoftMarginSVC(C=1.0, multi_class="ovo").fit(X, y),
}
fig, axes = plt.subplots(1, 2, figsize=(11.5, 5), width_ratios=(1, 1.12))
for ax, (name, model) in zip(axes, models.items(), strict=True):
    mm.plots.XSpaceDisplay.from_estimator(model, X, y, names=("x₁", "x₂"), ax=ax)
    errors = np.count_nonzero(model.predict(X) != y)
    ax.set_title(f"{name}: {len(model.machines_)} machines, {errors} errors")
axes[0].get_legend().remove()
fig.set_layout_engine("constrained")
plt.show()

# %%
# Each machine has its own certificate. So the five useless ones are not badly
# trained: no plane does better by the same measure. It is the scheme that does not
# fit the data.

for name, model in models.items():
    worst = max(one.certificate_.relative_gap for one in model.machines_.values())
    print(f"{name}: accuracy {model.score(X, y):.3f}, relative gaps up to {worst:.0e}")
