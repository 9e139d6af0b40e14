"""
A stream whose truth drifts
===========================

An online learner predicts each example before it sees the label, learns from it, and
forgets it. That pays when the truth changes: here the separating plane turns slowly,
and after two thirds of the stream it jumps. A model that was fitted once, exactly, to
the first examples cannot follow.
"""

import matplotlib.pyplot as plt
import numpy as np

import maxmargin as mm

# %%
# Three thousand examples in five features. The normal of the true plane turns by 90
# degrees in the first two thousand, then it jumps to a new place.

n, jump, first = 3_000, 2_000, 300
rng = np.random.default_rng(0)
X = rng.normal(size=(n, 5))
angle = np.where(np.arange(n) < jump, np.pi / 2 * np.arange(n) / jump, np.pi * 1.25)
truth = np.column_stack([np.cos(angle), np.sin(angle), np.zeros((n, 3))])
y = np.where(np.sum(X * truth, axis=1) > 0, "up", "down")

# %%
# Three learners: a perceptron that learns on, one that predicts with the mean of all
# its weights so far, and a soft margin, fitted to the first three hundred examples.

learners = {
    "perceptron, online": mm.Perceptron(),
    "averaged perceptron, online": mm.Perceptron(average=True),
}
wrong = {}
for name, model in learners.items():
    answers = mm.stream.run(zip(X, y, strict=True), model)
    wrong[name] = np.array([mistake for _, mistake in answers])
fixed = mm.SoftMarginSVC(C=1.0).fit(X[:first], y[:first])
wrong[f"soft margin of the first {first}"] = fixed.predict(X) != y

# %%
# Accuracy over a moving window of two hundred examples.

window = 200
fig, ax = plt.subplots(figsize=(9.5, 4.8), layout="constrained")
looks = (("#0072B2", "-"), ("#009E73", "--"), ("#D55E00", "-."))
for (name, errors), (colour, way) in zip(wrong.items(), looks, strict=True):
    right = 1 - np.convolve(errors, np.ones(window) / window, mode="valid")
    ax.plot(np.arange(window, n + 1), right, color=colour, ls=way, lw=2, label=name)
ax.axvline(jump, color="black", lw=1.2, ls=":")
ax.annotate("the truth jumps", (jump, 0.66), (34, 0), textcoords="offset points")
ax.axhline(0.5, color="#7F7F7F", lw=0.8)
ax.set(xlim=(0, n), ylim=(0, 1.02))
ax.set(xlabel="examples seen", ylabel=f"share right, last {window}")
ax.set_title("Who follows a truth that drifts?")
ax.grid(alpha=0.25)
ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.0, 0.08))
plt.show()

# %%
# The mean of all weights remembers too long: what helps against noise hurts when the
# truth moves.

print("share right                       turning    after the jump")
for name, errors in wrong.items():
    turning, jumped = 1 - errors[first:jump].mean(), 1 - errors[jump:].mean()
    print(f"{name:>32}{turning:10.3f}{jumped:14.3f}")
