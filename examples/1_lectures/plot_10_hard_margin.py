"""
The largest margin and its support vectors
==========================================

Of all lines that separate two classes, one is farthest from the nearest points. It
minimises ½‖w‖² subject to y (w·x + b) ≥ 1, and its margin is 1/‖w‖: half the width of
the slab between the classes that no point enters. The points on the edges of the slab
hold it in place.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

marks = mm.datasets.load("more-marks")
X, y = marks.X, np.where(marks.y > 0, "passed", "failed")
model = mm.HardMarginSVC().fit(X, y)

# %%
# Homework and exam marks of twelve students. Rings mark the support vectors; their
# area is in proportion to the multiplier α.

picture = mm.plots.XSpaceDisplay.from_estimator(model, X, y, names=marks.feature_names)
picture.ax_.set_title("The slab with the largest margin, and what holds it")
plt.show()

# %%
# The certificate: a primal value that this plane attains, and a dual value that no
# plane can undercut.

print(model.certificate_)

# %%
# The same in fractions, with the conditions of Karush, Kuhn and Tucker checked in
# exact arithmetic.

proven = mm.HardMarginSVC().prove(X, y)
print("squared margin:", proven.squared_margin, "  w:", *proven.w, "  b:", proven.b)
print("as known beforehand:", proven.squared_margin == marks.squared_margin)

# %%
# Only the support vectors count. Without the other students the line is the same;
# without one of the support vectors it is another.

everyone = np.arange(len(X))
groups = {"all students": everyone, "support vectors only": model.support_}
for i in model.support_:
    groups[f"without student {i}"] = np.delete(everyone, i)
for name, rows in groups.items():
    margin = mm.HardMarginSVC().fit(X[rows], y[rows]).margin_
    print(f"{name:>20}: margin {margin:.6f}")
