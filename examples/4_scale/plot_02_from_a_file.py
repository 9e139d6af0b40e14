"""
Training from a file
====================

Rows that do not fit in memory stay in their file. ``open_rows`` maps it, ``fit``
takes it in place of X and y, and reads it block by block; the answer is the same.
Here the files are small and in a temporary folder, but the memory that a fit needs
can be measured all the same.
"""

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

holder = tempfile.TemporaryDirectory()
folder = Path(holder.name)

# %%
# A file is written in pieces, so that all rows are never in memory at once: two
# classes in a hundred features, at least 0.8 from a plane.


def write(n, d=100, piece=5_000):
    """Write a matrix of n rows to a file, and return its path and the labels."""
    path = folder / f"{n}.npy"
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, d))
    labels = np.empty(n, dtype=np.int8)
    for start in range(0, n, piece):
        part = slice(start, min(start + piece, n))
        rng = np.random.default_rng(start)
        X[part] = rng.normal(size=(part.stop - start, d))
        labels[part] = np.where(X[part, 0] > 0, 1, -1)
        X[part, 0] += 0.8 * labels[part]
    X.flush()
    return path, labels


# %%
# The largest margin from files of growing size, and the most memory that NumPy and
# Python held meanwhile.

sizes = [1_500, 3_000, 6_000, 12_000, 25_000, 50_000]
megabytes, peaks = [], []
for n in sizes:
    path, labels = write(n)
    tracemalloc.start()
    rows = mm.open_rows(path, labels=labels)
    model = mm.HardMarginSVC().fit(rows)
    peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
    tracemalloc.stop()
    megabytes.append(path.stat().st_size / 1e6)
sizes, megabytes, peaks = sizes[1:], megabytes[1:], peaks[1:]  # the first one compiles
print(f"The last file has {rows.n:,} rows, a block {rows.block_length():,}.")

# %%
# The file grows by far more than the memory. What is kept are the rows that may
# matter, a few thousand of them at most; in a small file that is all of them, and the
# solver comes on top.

fig, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
ax.plot(sizes, megabytes, "s--", color="#7F7F7F", lw=1.8, label="the file")
name = "most memory in use during the fit"
ax.plot(sizes, peaks, "o-", color="#0072B2", lw=2.2, label=name)
beside = {"textcoords": "offset points", "ha": "right"}
ax.annotate(f"{megabytes[-1]:.0f} MB", (sizes[-1], megabytes[-1]), (-9, -4), **beside)
ax.annotate(f"{peaks[-1]:.0f} MB", (sizes[-1], peaks[-1]), (0, 9), **beside)
ax.set(xlabel="rows of 100 features", ylabel="MB", ylim=(0, None))
ax.set_title("The largest margin from a file: memory does not keep pace")
ax.grid(alpha=0.25)
ax.legend(frameon=False)
plt.show()

# %%
# The same from memory: the same plane.

inside = mm.HardMarginSVC().fit(np.load(path), labels)
print(f"margin from the file {model.margin_:.12f}, in {model.n_passes_} passes")
print(f"margin from memory   {inside.margin_:.12f}")
print(f"largest difference of a weight: {np.abs(inside.coef_ - model.coef_).max():.1e}")
del rows
holder.cleanup()
