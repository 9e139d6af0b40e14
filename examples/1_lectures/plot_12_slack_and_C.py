"""
Slack, and what C does
======================

A soft margin lets points into the slab, or across it, and charges C for every unit of
slack ξ: ½‖w‖² + C Σ ξ. A small C wants a wide slab and forgives; a large C forgives
nothing, and where the classes are separable it ends at the hard margin. Four values
of C on the same eleven points.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

data = mm.datasets.load("one-outlier")
X, y = data.X, data.y

# %%
# One point of the class +1 stands next to the other group. How much should the line
# care?

Cs = (0.02, 0.3, 2.0, 100.0)
models = [mm.SoftMarginSVC(C=C).fit(X, y) for C in Cs]
fig, axes = plt.subplots(2, 2, figsize=(9.5, 8.2), sharex=True, sharey=True)
for ax, model in zip(axes.flat, models, strict=True):
    mm.plots.XSpaceDisplay.from_estimator(model, X, y, names=("x₁", "x₂"), ax=ax)
    ax.get_legend().remove()
    ax.set_anchor("C")
    slack = model.slack_.sum()
    ax.set_title(f"C = {model.C:g}: margin {model.margin_:.2f}, slack {slack:.2f}")
    ax.label_outer()
handles, labels = axes[0, 0].get_legend_handles_labels()
words = [label.split(",")[0].split(":")[0] for label in labels]  # without numbers
fig.set_layout_engine("constrained")
fig.legend(handles, words, loc="outside lower center", ncols=4, frameon=False)
plt.show()

# %%
# The trade in numbers, and the hard margin for comparison.

print("   C    margin 1/‖w‖   total slack   rows with α > 0   errors")
for model in models:
    errors, support = np.count_nonzero(model.predict(X) != y), len(model.support_)
    slack = model.slack_.sum()
    print(f"{model.C:5g}{model.margin_:13.4f}{slack:15.4f}{support:13d}{errors:14d}")
print(f"hard margin: {mm.HardMarginSVC().fit(X, y).margin_:.4f}")
