"""
Weight space: where the largest margin is found
===============================================

With a bias there are three weights, (w₁, w₂, b). Each training point demands y
(w·x + b) ≥ 1, and so cuts away half of the space. What is left is a polyhedron, and
the machine with the largest margin is its point with the least ‖w‖, the one nearest
to the axis w = 0.
"""

import matplotlib.pyplot as plt

import maxmargin as mm

three = mm.datasets.load("three-points")
model = mm.HardMarginSVC().fit(three.X, three.y)

# %%
# The three points of the lecture as three planes, and the feasible region in yellow.
# The dashed circle has the radius ‖w‖ of the optimum: no feasible weights are inside.

solid = mm.plots.WeightSpaceDisplay.from_estimator(model, three.X, three.y)
solid.ax_.set_title("Three planes, the feasible region, and the optimum")
plt.show()

# %%
# A section through the optimum. The planes become lines, the polyhedron a wedge, and
# the optimum stands where all three lines meet.

mm.plots.WeightSpaceDisplay.from_estimator(model, three.X, three.y, kind="section")
plt.show()

# %%
# The optimum in fractions: three equations in three unknowns.

proven = mm.HardMarginSVC().prove(three.X, three.y)
print("w:", *proven.w, "  b:", proven.b, "  squared margin:", proven.squared_margin)
heights = three.y * model.decision_function(three.X)
for i, height in enumerate(heights):
    print(f"row {i}: y (w·x + b) = {height:.12g}   α = {model.dual_[i]:.6f}")
print(f"The margin 1/‖w‖ is {model.margin_:.6f}.")
