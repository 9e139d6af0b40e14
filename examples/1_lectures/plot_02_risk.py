"""
The risk and its creases
========================

The perceptron risk adds up how far the misclassified points are on the wrong side:
R(w) = Σ −y (x·w) over the points with y (x·w) < 0. It is convex, made of flat pieces,
and creased along the lines of w-space. Its bottom is flat too: the cone of all w with
R(w) = 0.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

three = mm.datasets.load("three-points")
walk = mm.BatchPerceptron(0.1, fit_intercept=False, record=True)
walk = walk.fit(three.X, three.y, coef_init=[[2.0, -3.0]])

# %%
# Gradient descent from a bad start, seen from above and in three dimensions. The
# contours bend only where they cross one of the three lines; on the surface these
# lines are the creases.

fig = plt.figure(figsize=(11, 5.2), layout="constrained")
flat, solid = fig.add_subplot(1, 2, 1), fig.add_subplot(1, 2, 2, projection="3d")
risk = mm.plots.RiskDisplay.from_estimator(walk, three.X, three.y, ax=flat)
mm.plots.RiskDisplay.from_estimator(walk, three.X, three.y, kind="surface", ax=solid)
flat.get_legend().remove()
flat.set_title(f"Isocontours of R, and {walk.n_iter_} steps down")
flat.set_anchor("C")
solid.set_title("The same as a surface")
plt.show()

# %%
# Between creases the gradient is constant: minus the sum of y x over the
# misclassified points. So all steps on one piece are the same, and a step may land
# beyond the next crease.

print("step        w            R    misclassified rows")
for k, w in enumerate(walk.trace_.weights[:, :2]):
    wrong = np.flatnonzero(three.y * (three.X @ w) <= 0).tolist()
    print(f"{k:3d}   ({w[0]:5.2f}, {w[1]:5.2f})  {risk.risk([w])[0]:5.1f}   {wrong}")
print(walk.stop_reason_)
