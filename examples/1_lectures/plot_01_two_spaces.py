"""
A point here is a line there
============================

A plane through the origin is given by its normal w, so the search for a plane is a
search for a point w. In x-space the training points are points, and w is the line
w·x = 0. In w-space it is the other way round: w is a point, and each training point x
is the line x·w = 0, which says on which side w must be.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

three = mm.datasets.load("three-points")
model = mm.Perceptron(fit_intercept=False).fit(three.X, three.y)

# %%
# The three points of the lecture, one of the class +1 and two of the class −1, in
# both spaces. A point and its line have the same colour. The short arrows stand on
# the side where w has the point right. In the shaded cone it has all three right.

fig, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
picture = mm.plots.both_spaces(model, three.X, three.y, ax=axes)
axes[0].set(xlabel="x₁", ylabel="x₂", title="x-space: three points, and the line of w")
axes[1].set_title("w-space: three lines, and the point w")
plt.show()

# %%
# Both pictures show the same three numbers. y (x·w) is positive if x is on the right
# side of the line of w, and just as well if w is on the right side of the line of x.

w = model.coef_[0]
print("w =", w)
for x, y in zip(three.X, three.y, strict=True):
    print(f"x = ({x[0]:+g}, {x[1]:+g})   y = {y:+d}   y (x·w) = {y * (x @ w):g}")

# %%
# The cone says more than one solution does: it holds all of them.

low, high = np.degrees(picture.wspace.cone)
angle = np.degrees(np.arctan2(w[1], w[0]))
print(f"The cone is between {low:.1f} and {high:.1f} degrees; w is at {angle:.1f}.")
