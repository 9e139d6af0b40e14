"""Perceptrons as models of River: its progressive validation, and its pipelines."""

import pytest

import maxmargin as mm
from maxmargin.stream import as_river
from maxmargin.stream import run as run_examples

river = pytest.importorskip("river")
from river import datasets, evaluate, metrics, preprocessing  # noqa: E402


def test_progressive_validation_counts_what_a_stream_counts():
    model, twin = mm.Perceptron(), mm.Perceptron()
    score = evaluate.progressive_val_score(datasets.Phishing(), as_river(model), metrics.Accuracy())
    answers = list(run_examples(datasets.Phishing(), twin))[1:]  # River leaves out what is not predicted
    assert score.get() == sum(not mistake for _, mistake in answers) / len(answers)
    assert model.coef_.tolist() == twin.coef_.tolist()
    assert score.get() > 0.8


def test_a_pipeline_with_a_scaler_is_as_good_as_with_rivers_perceptron():
    from river import linear_model

    ours = preprocessing.StandardScaler() | as_river(mm.Perceptron(average=True))
    theirs = preprocessing.StandardScaler() | linear_model.Perceptron()
    scores = [
        evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get()
        for model in (ours, theirs)
    ]
    assert scores[0] > scores[1]


def test_more_than_two_classes_are_announced():
    labels = ["brickface", "cement", "foliage", "grass", "path", "sky", "window"]
    model = preprocessing.StandardScaler() | as_river(mm.Perceptron(average=True), labels)
    score = evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.Accuracy())
    assert score.get() > 0.8


def test_a_wrapped_model_is_the_model():
    model = mm.Perceptron()
    wrapped = as_river(model)
    assert wrapped.model is model
    assert wrapped.predict_one({"a": 1.0}) is None
    wrapped.learn_one({"a": 1.0}, "yes")
    assert wrapped.predict_one({"a": 1.0}) == model.predict_one({"a": 1.0}) == "yes"
    fresh = wrapped.clone()
    assert fresh.model is not model
