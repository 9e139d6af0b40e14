"""What every layer agrees on: conventions, errors, histories and traces, values as JSON.

Conventions
-----------
*Labels.* Any two or more distinct values that can be sorted. Inside, a binary problem has labels
−1 and +1, and the **larger** of the sorted ``classes_`` is +1 (as in scikit-learn).

*Decision.* f(x) = w·x + b. Predict +1 if f(x) > 0, else −1: a point **on** the boundary is predicted
−1. In training it counts as a mistake for both classes: update when y·f(x) ≤ δ, with δ ≥ 0.

*Training error.* E_in is the share of rows with y·f(x) ≤ 0, so a row on the boundary is an error.

*Padding.* z = (w, b) and a_i = y_i (x_i, 1), the bias last. R = max‖a_i‖ and
γ = max over ‖z‖ = 1 of min_i a_i·z refer to the **padded** vectors. The perceptron started at z = 0
makes at most R²/γ² mistakes. (The *geometric* margin of the margin machines leaves the bias outside.)

*Margin machines.* Hard margin: minimise ½‖w‖² subject to y_i (w·x_i + b) ≥ 1. Soft margin: minimise
½‖w‖² + Σ C_i ξ_i with ξ_i = max(0, 1 − y_i (w·x_i + b)); C multiplies the **sum**, and b is never
penalised. Dual: maximise Σ α_i − ½‖Σ α_i y_i x_i‖² subject to 0 ≤ α_i ≤ C_i (hard: C_i = ∞) and
Σ α_i y_i = 0. The *geometric* margin is 1/‖w‖ with the bias outside, the slab is 2/‖w‖ wide.

*Arithmetic.* Weights are doubles whatever the type of the data. Whether a row is a mistake is decided
by the sum of w_j x_j taken from left to right, then b: dense and sparse copies of the same data
therefore make the same decisions and the same updates, bit for bit.

*Same bits.* The same input and seed give the same bits on one kind of processor and with as many
threads for matrix products (``OPENBLAS_NUM_THREADS``), whatever ``n_jobs`` and the number of Dask
workers. On another kind of processor products are summed in another order, which changes last bits:
verdicts are the same, margin machines agree to their gaps, and perceptrons to rounding unless a row
lies on a plane to rounding.
"""
