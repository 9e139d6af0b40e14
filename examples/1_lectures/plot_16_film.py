"""
The film of a run
=================

A perceptron that keeps its trace can be watched: the first updates slowly, the others
fast. The film shows the current point, the line before and after the update, and the
arithmetic of the step. It is one page with a player inside that needs no network; it
can be saved as ``.gif``, ``.mp4`` or ``.html`` too.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

# %%
# Two groups of points whose best line does not pass through the origin, and points
# drawn at random, as in the lecture.

rng = np.random.default_rng(3)
centres = np.repeat([[1.2, 1.0], [2.6, 2.4]], 12, axis=0)
X = (centres + rng.normal(scale=0.35, size=(24, 2))).round(1)
y = np.repeat([-1, 1], 12)
model = mm.Perceptron(order="random", random_state=2, max_iter=None, record=True)
model = model.fit(X, y)
print(model.stop_reason_)

# %%
# The film: eight updates slowly, twenty fast, and the end.

film = model.trace_.animate(X, y, slow=8, fast=20, names=("x₁", "x₂"), dpi=80)
film

# %%
# Four of its frames side by side.

pictures = [np.asarray(image.convert("RGB")) for image in film.images()]
shown = [0, 3, len(pictures) // 2, len(pictures) - 1]
fig, axes = plt.subplots(2, 2, figsize=(11, 9), layout="constrained")
for ax, k in zip(axes.flat, shown, strict=True):
    ax.imshow(pictures[k])
    ax.set_axis_off()
plt.show()

# %%
# What is written below the frames is kept with them.

for k in shown:
    print(" · ".join(film.captions[k]))
