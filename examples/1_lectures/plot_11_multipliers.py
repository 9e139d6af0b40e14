"""
Multipliers and complementary slackness
=======================================

The dual problem gives every training point a multiplier α between 0 and C. At the
optimum each point is in one of three places: beyond its edge with α = 0, on its edge,
or on the wrong side of it with slack ξ and α = C. So α and y f(x) − 1 + ξ are never
both positive. That is complementary slackness, and it can be seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import maxmargin as mm

data = mm.datasets.load("slack")
X, y = data.X, data.y
C = 2.0
model = mm.SoftMarginSVC(C=C).fit(X, y)

# %%
# Two groups, with one point of each among the others. Rings have an area in
# proportion to α, and the thin segments are the slacks ξ.

space = mm.plots.XSpaceDisplay.from_estimator(model, X, y, names=("x₁", "x₂"))
space.ax_.set_title(f"A soft margin with C = {C:g}")
plt.show()

# %%
# The same points again, α against y f(x) − 1 + ξ: each is on one of the two axes.

mm.plots.CertificateDisplay.from_estimator(model, X, y, panel="slackness")
plt.show()

# %%
# The numbers behind it.

f = model.decision_function(X)
print("row   y   y f(x)     ξ       α    α (y f(x) − 1 + ξ)")
for i in np.argsort(-model.dual_, kind="stable"):
    product = model.dual_[i] * (y[i] * f[i] - 1 + model.slack_[i])
    numbers = f"{y[i] * f[i] + 0.0:7.4f}  {model.slack_[i]:.4f}  {model.dual_[i]:.4f}"
    print(f"{i:3d}  {y[i]:+d}  {numbers}  {abs(product):.0e}")

# %%
# The plane is made of the multipliers, w = Σ α y x, and they balance, Σ α y = 0.
# Primal and dual value are the same number.

alpha, w = model.dual_, model.coef_[0]
print("Σ α y x =", (alpha * y) @ X, "  w =", w, f"  Σ α y = {alpha @ y:.1g}")
print(f"primal ½‖w‖² + C Σ ξ = {0.5 * w @ w + C * model.slack_.sum():.12f}")
dual = alpha.sum() - 0.5 * np.sum(((alpha * y) @ X) ** 2)
print(f"dual Σ α − ½‖Σ α y x‖² = {dual:.12f}")

# %%
# Real data gives the same picture with more points: two kinds of iris in four
# features. Beside it the residuals of the conditions of Karush, Kuhn and Tucker,
# which are all down to rounding.

iris = load_iris()
X, y = iris.data[50:], iris.target_names[iris.target[50:]]
model = mm.SoftMarginSVC(C=1.0).fit(X, y)
fig, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
for ax, panel in zip(axes, ("slackness", "residuals"), strict=True):
    mm.plots.CertificateDisplay.from_estimator(model, X, y, panel=panel, ax=ax)
free, bound = len(model.free_support_), len(model.bound_support_)
print(f"{free} rows on their edge, {bound} with slack, of {len(X)}.")
plt.show()
