"""
Padding: one dimension more, and no bias
========================================

Not all classes can be separated by a plane through the origin. Padding mends that:
write a 1 behind every point, and the bias b is one more weight, f(x) = (w, b)·(x, 1).
The points now lie at height 1 of a space with one dimension more, and a plane through
*its* origin cuts that height wherever it likes.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

data = mm.datasets.load("off-origin")
X, y = data.X, data.y

# %%
# Without padding there is no solution, and the verdict proves it. The perceptron
# notices that its weights repeat themselves, and says so.

print(mm.separability(X, y, fit_intercept=False).kind)
print(mm.Perceptron(fit_intercept=False).fit(X, y).stop_reason_)

# %%
# With padding there is one.

model = mm.HardMarginSVC().fit(X, y)
w, b = model.coef_[0], model.intercept_[0]
print(mm.Perceptron(max_iter=None).fit(X, y).stop_reason_)
print(f"The largest margin has w = ({w[0]:.4g}, {w[1]:.4g}), b = {b:.4g}.")

# %%
# The picture of the trick: a grey sheet at height 1 with the points on it, and the
# plane (w, b)·(x, h) = 0 through the origin. Where the two cut is the line
# w·x + b = 0.

BLUE, VERMILION, GREEN, BLACK = "#0072B2", "#D55E00", "#009E73", "#1A1A1A"
CLASSES = ((-1, BLUE, "o"), (1, VERMILION, "s"))
fig = plt.figure(figsize=(11, 5.2), layout="constrained")
flat, solid = fig.add_subplot(1, 2, 1), fig.add_subplot(1, 2, 2, projection="3d")
for side, colour, marker in CLASSES:
    flat.scatter(*X[y == side].T, s=60, c=colour, marker=marker, label=f"y = {side:+d}")
side = np.array([0.0, 5.0])
for slope in (0.6, 1.0, 1.7):
    name = "through the origin" if slope == 1 else None
    flat.plot(side, slope * side, color="#7F7F7F", lw=1.1, ls="--", label=name)
flat.plot(side, -(w[0] * side + b) / w[1], color=GREEN, lw=2.2, label="w·x + b = 0")
flat.plot(0, 0, "+", color=BLACK, ms=12, mew=1.6)
flat.set(xlim=(-0.3, 5), ylim=(-0.3, 5), xlabel="x₁", ylabel="x₂", aspect="equal")
flat.set_title("No line through the origin will do")
flat.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False)

solid.computed_zorder = False
g = np.array([[0.0, 5.0], [0.0, 5.0]])
solid.plot_surface(g, g.T, np.ones((2, 2)), color="#B0B0B0", alpha=0.35, zorder=2)
first, second = -b / w[0], -b / w[1]  # where the line w·x + b = 0 meets the axes
top = 1.25
corners = np.array([[0, 0, 0], [first * top, 0, top], [0, second * top, top]])
solid.plot_trisurf(*corners.T, color=GREEN, alpha=0.35, zorder=1)
cut = {"color": GREEN, "lw": 2.6, "zorder": 4, "label": "where they cut: w·x + b = 0"}
solid.plot([first, 0], [0, second], [1, 1], **cut)
for label, colour, marker in CLASSES:
    x1, x2 = X[y == label].T
    look = {"s": 60, "c": colour, "marker": marker, "zorder": 5}
    solid.scatter(x1, x2, 1.0, depthshade=False, **look)
    for p, q in zip(x1, x2, strict=True):
        solid.plot([p, p], [q, q], [0, 1], color=colour, lw=0.9, alpha=0.6, zorder=1.5)
solid.plot([0], [0], [0], "+", color=BLACK, ms=12, mew=1.6, zorder=6)
solid.set(xlim=(0, 5), ylim=(0, 5), zlim=(0, 1.3), zticks=[0, 1])
solid.set(xlabel="x₁", ylabel="x₂", zlabel="padding")
solid.set_title("At height 1 every line is within reach")
solid.view_init(elev=24, azim=-68)
solid.set_box_aspect((1, 1, 0.62), zoom=0.95)
solid.legend(loc="lower center", bbox_to_anchor=(0.5, -0.04), frameon=False)
plt.show()

# %%
# Pre-multiplied by their labels, a_i = y_i (x_i, 1), all padded points are on the
# same side of the plane.

A = y[:, None] * np.column_stack([X, np.ones(len(X))])
print("a_i·z =", (A @ np.append(w, b)).round(6))
