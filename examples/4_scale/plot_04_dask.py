"""
Rows in partitions of Dask
==========================

Rows that are spread over machines stay where they are. In each round every partition
answers a small question about a plane, and only the answers travel. Here the
partitions are in one process, run by Dask's threads; on a cluster the call is the
same.
"""

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

# %%
# Two overlapping classes in ten features, up to 320,000 rows, in partitions of ten
# thousand.

sizes = [10_000, 20_000, 40_000, 80_000, 160_000, 320_000]
rng = np.random.default_rng(0)
X = rng.normal(size=(sizes[-1], 10))
y = np.where(X[:, 0] + 0.5 * rng.normal(size=sizes[-1]) > 0, 1, -1)
models = []
for n in sizes:
    rows = da.from_array(X[:n], chunks=(10_000, 10))
    labels = da.from_array(y[:n], chunks=10_000)
    with dask.config.set(scheduler="threads", num_workers=1):
        models.append(mm.SoftMarginSVC(C=1.0).fit(rows, labels))

# %%
# What travels, beside what would travel if all rows were sent. The numbers at the
# dots are rounds. A few thousand rows near the margin travel in any case: of small
# data that is all of them, and more than once.

moved = np.array([model.bytes_moved_ for model in models]) / 1e6
whole = np.array(sizes) * 10 * 8 / 1e6
fig, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
ax.plot(sizes, whole, "s--", color="#7F7F7F", lw=1.8, label="all rows, once")
moving = {"color": "#0072B2", "lw": 2.2, "label": "moved during the fit, and rounds"}
ax.plot(sizes, moved, "o-", **moving)
for n, height, model in zip(sizes, moved, models, strict=True):
    ax.annotate(f"{model.n_passes_}", (n, 0.75 * height), ha="center")
ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="MB", ylim=(0.3, None))
ax.set_title("Answers travel, rows stay")
ax.grid(alpha=0.25)
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# The answer is that of a fit in memory, to the gap that both certificates show.

local = mm.SoftMarginSVC(C=1.0).fit(X, y)
spread = models[-1]
for name, model in (("in partitions", spread), ("in memory", local)):
    found = model.certificate_
    bounds = f"primal {found.primal:.6f}, dual {found.dual:.6f}"
    print(f"{name:>13}: {bounds}, relative gap {found.relative_gap:.0e}")
print(
    f"{spread.n_passes_} rounds; {moved[-1]:.1f} MB moved, {whole[-1]:.1f} MB stayed."
)
