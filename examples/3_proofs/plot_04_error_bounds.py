"""
How many errors must a line make?
=================================

When the classes overlap, the line with the fewest errors is hard to find, and harder
to prove. But bounds can be proven. Every witness is a set of rows that no line has
right, so it costs every line an error; witnesses that share no rows cost one error
each. When a line makes just as many, nobody need look further.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

import maxmargin as mm

iris = load_iris()
X, y = iris.data[50:, 2:], iris.target_names[iris.target[50:]]
found = mm.error_bounds(X, y)
print(found)

# %%
# Petals of versicolor and virginica. Each colour is one witness: lines go from its
# rows to the star, which is a weighted mean of both classes. On each witness every
# line makes an error; the black line makes no others. A witness of two rows is two
# flowers with the same petals and different names.

fig, ax = plt.subplots(figsize=(10, 4.8), layout="constrained")
for name, marker in (("versicolor", "o"), ("virginica", "s")):
    ax.scatter(*X[y == name].T, s=28, c="#B8B8B8", marker=marker, lw=0, label=name)
colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
for k, witness in enumerate(found.witnesses):
    colour = colours[k % len(colours)]
    parts = ((witness.negative, "o", "-"), (witness.positive, "s", "--"))
    for rows, marker, way in parts:
        for i in rows:
            (x1, x2), (c1, c2) = X[i], witness.point
            ax.plot([x1, c1], [x2, c2], color=colour, lw=1.6, ls=way, zorder=3)
        ax.scatter(*X[rows].T, s=52, c=colour, marker=marker, zorder=4)
    star = {"s": 110, "marker": "*", "ec": "black", "lw": 0.8, "zorder": 5}
    ax.scatter(*witness.point, c=colour, label=f"witness {k + 1}", **star)
w, b = found.w, found.b
name = f"a line with {found.upper} errors"
ax.axline((0, -b / w[1]), slope=-w[0] / w[1], color="black", lw=1.8, label=name)
ax.set(xlim=(2.8, 7.1), ylim=(0.85, 2.65))
ax.set(xlabel=iris.feature_names[2], ylabel=iris.feature_names[3])
many = f"{len(found.witnesses)} disjoint witnesses"
ax.set_title(f"{many}: every line makes at least {found.lower} errors")
fig.legend(loc="outside right upper", frameon=False)
plt.show()

# %%
# A closer look: which rows are in each witness, and which of them the line has wrong.

f = np.where(y == "virginica", 1, -1) * (X @ w + b)
for k, witness in enumerate(found.witnesses, start=1):
    wrong = [int(i) for i in witness.rows if f[i] <= 0]
    print(f"witness {k}: rows {witness.rows.tolist()}, wrong among them: {wrong}")
print(f"{np.count_nonzero(f <= 0)} errors in all.")

# %%
# One feature alone, the petal width, must make more errors; all four features
# together make fewer.

print("petal width: ", mm.error_bounds(X[:, 1:], y))
print("all features:", mm.error_bounds(iris.data[50:], y))
