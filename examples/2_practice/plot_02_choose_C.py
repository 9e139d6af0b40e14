"""
Choosing C along a path
=======================

How much should slack cost? Fit the machine for every C on a grid, each from the
solution before it, and look at data that was not trained on. ``path`` does the first,
``SoftMarginSVCCV`` both, with one path per fold.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import maxmargin as mm

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.3, random_state=0, stratify=y
)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
Cs = np.logspace(-4, 3, 22)

# %%
# Five folds of the training rows, and the C with the least mean error; of several,
# the smallest, whose margin is the widest.

search = mm.SoftMarginSVCCV(Cs=list(Cs)).fit(X_train, y_train)
display = mm.plots.PathDisplay.from_estimator(search)
display.ax_.set_title("Breast tumours: error of five folds against C")
plt.show()

# %%
# What the path does to the machine itself, on all training rows: the slab gets
# narrower, fewer rows have slack, and some weights grow.

path = mm.SoftMarginSVC().path(X_train, y_train, list(Cs))
fig, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
axes[0].plot(Cs, [m.margin_ for m in path], "o-", color="#0072B2", ms=4)
axes[0].set(yscale="log", ylabel="margin 1/‖w‖", title="The slab gets narrower")
support = [len(m.support_) for m in path]
bound = [len(m.bound_support_) for m in path]
axes[1].plot(Cs, support, "o-", color="#0072B2", ms=4, label="support (α > 0)")
axes[1].plot(Cs, bound, "s--", color="#D55E00", ms=4, label="with slack (α = C)")
axes[1].set(ylabel="rows", title="Fewer rows count")
axes[1].legend(frameon=False)
for weights in np.array([m.coef_[0] for m in path]).T:
    axes[2].plot(Cs, weights, lw=1, color="#0072B2" if weights[-1] > 0 else "#D55E00")
axes[2].set(yscale="symlog", ylabel="weights")
axes[2].set_title("Thirty weights, by their last sign")
for ax in axes:
    ax.axvline(search.C_, color="black", lw=1.2, ls="--")
    ax.set(xscale="log", xlabel="C, the price of slack")
    ax.grid(alpha=0.25)
plt.show()

# %%
# The chosen machine on the rows that were kept aside. Every machine on the way has
# its certificate.

worst = max(abs(m.certificate_.relative_gap) for m in path)
support = f"{len(search.support_)} support vectors of {len(X_train)} rows"
print(f"chosen: C = {search.C_:.3g}, with {support}")
print(f"accuracy on the {len(X_test)} other rows: {search.score(X_test, y_test):.3f}")
passes = sum(m.n_passes_ for m in path)
print(f"{len(path)} machines in {passes} passes, relative gaps up to {worst:.0e}")
