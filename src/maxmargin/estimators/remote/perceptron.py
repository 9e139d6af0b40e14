"""``fit`` of the perceptrons on Dask collections; ``solvers.perceptron`` says how each of them runs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from maxmargin.certificates.verdict import Verdict
from maxmargin.cluster.collections import labelled, names_of
from maxmargin.core.errors import InputError
from maxmargin.core.labels import class_weights
from maxmargin.core.parameters import random_generator
from maxmargin.estimators.fitting import PerceptronBase
from maxmargin.estimators.multiclass import build_machines
from maxmargin.estimators.validation import check_survey, known_features
from maxmargin.rows.survey import TrainingData, survey
from maxmargin.solvers.perceptron.online_partitions import Form, RemoteExamples
from maxmargin.solvers.problem import Machine, Problem


def fit_perceptron(
    model: PerceptronBase,
    X: Any,
    y: Any,
    coef_init: Any = None,
    intercept_init: Any = None,
    X_val: Any = None,
    y_val: Any = None,
) -> None:
    """Fit a perceptron to a Dask collection, or to files in partitions."""
    if model.record:
        raise InputError(
            "record must be False for Dask collections, whose updates are not kept. Got True instead. "
            "Fit to some of the rows in memory to see every update."
        )
    rule = model._stopping_rule()
    if rule.validation_fraction() is not None and X_val is None:
        raise InputError(
            "a rule that watches the validation error needs X_val and y_val for Dask collections, of "
            f"which no rows are held out. Got {model.stop} without them instead."
        )
    data = check_survey(survey(labelled(X, y)))
    fit_surveyed(model, data, (X, y), (coef_init, intercept_init), (X_val, y_val))


def fit_surveyed(
    model: PerceptronBase,
    data: TrainingData,
    given: tuple[Any, Any] = (None, None),
    begin: tuple[Any, Any] = (None, None),
    held_out: tuple[Any, Any] = (None, None),
) -> None:
    """Fit a perceptron to rows in partitions; what follows them is as for ``fit``."""
    going_on = model.warm_start and "classes_" in vars(model)
    known_features(model, data.rows.d, data.names or names_of(given[0]), reset=not going_on)
    if going_on:
        data = data.among(model.classes_)
    rows, classes = data.rows, data.rows.classes
    assert classes is not None
    validation = model._validation(*held_out, classes)
    codes = np.arange(len(classes))
    weights = class_weights(model.class_weight, classes, codes, data.counts.sum(axis=0))
    machines = build_machines(classes, codes, model.multi_class, codes, weights)
    training = RemoteExamples(rows, Form(model._pad, model.normalize))
    track = model._tracks_error(data.entries)
    verdict = partial(_verdict, model, data)
    problem = Problem(training, validation, track, verdict=verdict)
    start = model._start(*begin, len(machines), rows.d)
    rng = random_generator("random_state", model.random_state)
    model._watched(
        machines,
        classes,
        given,
        lambda observer: model._solve_remote(problem, data, machines, start, rng, observer),
    )
    model.n_passes_, model.bytes_moved_ = rows.rounds, rows.bytes_moved
    if isinstance(validation, RemoteExamples):
        model.bytes_moved_ += validation.rows.bytes_moved


def validation_of(model: PerceptronBase, X: Any, y: Any, classes: np.ndarray) -> RemoteExamples:
    """Validation rows in partitions, whose labels must be among the classes."""
    data = check_survey(survey(labelled(X, y), labelled=False))
    known_features(model, data.rows.d, data.names or names_of(X), reset=False)
    data.rows.classes = classes
    return RemoteExamples(data.rows, Form(model._pad))


def _verdict(model: PerceptronBase, data: TrainingData, machine: Machine) -> Verdict:
    """Whether the rows of a machine are separable, with the proof."""
    # Imported on use: a perceptron that is not asked for a proof does not wait for it.
    from maxmargin.estimators.remote.separability import decide_surveyed
    from maxmargin.estimators.separability import Options
    from maxmargin.estimators.validation import feature_names

    classes = data.rows.classes
    assert classes is not None
    labels = classes.tolist()
    other = None if machine.negative is None else labels[machine.negative]
    names = feature_names(model, data.rows.d)
    sides = labels[machine.positive], other
    verdict = decide_surveyed(data, names, Options(model.fit_intercept), sides)
    assert isinstance(verdict, Verdict)
    return verdict
