"""
An audit: LinearSVC and a shifted feature
=========================================

Moving a feature by a constant should change nothing: the plane moves along, and the
margin stays. scikit-learn's ``LinearSVC`` penalises the bias, so that it solves a
neighbouring problem, whose answer does depend on the shift. ``certify`` measures by
how much, for any linear model, and says why.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import maxmargin as mm

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)

# %%
# One feature of the tumours is moved by 0 to 100 standard deviations; both machines
# have C = 1. LinearSVC warns that it did not converge, which is silenced here, since
# the audit is to say it in numbers.

shifts = [0, 1, 3, 10, 30, 100]
theirs, ours = [], []
for shift in shifts:
    moved = X + shift * np.eye(30)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        other = LinearSVC(loss="hinge", C=1.0, random_state=0).fit(moved, y)
    theirs.append(mm.certify(other, moved, y))
    ours.append(mm.SoftMarginSVC(C=1.0).fit(moved, y).certificate_)

# %%
# The audit of the model at the largest shift, in words.

for finding in theirs[-1].findings:
    print("·", finding)

# %%
# The objective of the textbook problem, ½‖w‖² + C Σ ξ with a free bias. The optimum
# does not notice the shift.

fig, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
looks = {
    "LinearSVC": (theirs, {"color": "#D55E00", "marker": "s", "ls": "-"}),
    "SoftMarginSVC": (ours, {"color": "#0072B2", "marker": "o", "ls": "--"}),
}
for name, (found, look) in looks.items():
    axes[0].plot(shifts, [c.primal for c in found], label=name, lw=1.8, **look)
    gaps = [max(abs(c.relative_gap), 1e-17) for c in found]
    axes[1].plot(shifts, gaps, label=name, lw=1.8, **look)
axes[0].set(ylabel="½‖w‖² + C Σ ξ", title="The shift drives LinearSVC off the optimum")
axes[0].set_ylim(0, None)
axes[1].set(yscale="log", ylabel="relative gap")
axes[1].set_title("How far each is from the optimum")
axes[1].axhline(1e-6, color="#7F7F7F", lw=1, ls=":", label="counts as the optimum")
for ax in axes:
    ax.set_xscale("symlog", linthresh=1)
    ax.set_xticks(shifts, [str(s) for s in shifts])
    ax.minorticks_off()
    ax.set_xlim(-0.15, 130)
    ax.set_xlabel("shift of one feature, in standard deviations")
    ax.grid(alpha=0.25)
axes[0].legend(frameon=False)
axes[1].legend(frameon=False, loc="center left")
plt.show()

# %%
# What to do: centre the features before LinearSVC, or use a machine whose bias is
# free.

print("shift   LinearSVC   SoftMarginSVC   no plane has less than")
for shift, a, b in zip(shifts, theirs, ours, strict=True):
    print(f"{shift:4d}{a.primal:12.3f}{b.primal:14.3f}{b.dual:18.3f}")
