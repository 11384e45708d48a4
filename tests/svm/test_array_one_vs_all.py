import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.svm.test_one_vs_all import draw_kinds

from fieldguide._device import find_device
from fieldguide.errors import FieldguideWarning, InvalidArgument
from fieldguide.identify import OneVsAllClassifier, choose_key
from fieldguide.svm import Problems, Question, solve_linear, train_one_vs_all
from fieldguide.svm import array_one_vs_all as module
from fieldguide.svm.array_one_vs_all import train_one_vs_all_arrays, train_sides_arrays
from fieldguide.svm.gap import primal_value


def primal(X, index, k, coef, intercept, C, weight, scaling=1.0):
    """What the judge of all linear SVMs says of one function."""
    sign = np.where(index == k, 1.0, -1.0)
    problem = {"C": C, "loss": "squared_hinge", "sample_weight": weight}
    return primal_value(X, sign, coef[k], intercept[k], intercept_scaling=scaling, **problem)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    C=st.sampled_from([0.01, 0.3, 10.0]),
    scaling=st.sampled_from([0.5, 1.0, 3.0]),
)
def test_every_class_is_as_near_its_optimum_as_its_gap_says(seed, C, scaling):
    X, index = draw_kinds(seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(X)).astype(float)
    options = {"C": C, "sample_weight": weight, "intercept_scaling": scaling}
    found = train_one_vs_all_arrays(X, index, 5, tol=1e-3, **options)  # class 4 has no rows
    best = train_one_vs_all(X, index, 5, tol=1e-7, max_iter=10**5, **options)
    assert (found.gaps <= 1e-3).all()
    for k in range(5):
        own, least = (
            primal(X, index, k, s.coef, s.intercept, C, weight, scaling) for s in (found, best)
        )
        assert own * (1 - found.gaps[k]) <= least * (1 + 1e-5)


def test_a_row_of_weight_2_counts_as_two_rows():
    X, index = draw_kinds(3)
    weight = np.where(np.arange(len(X)) < 30, 2.0, 1.0)
    twice = np.concatenate([np.arange(len(X)), np.arange(30)])
    one = train_one_vs_all_arrays(X, index, 4, sample_weight=weight, tol=1e-6)
    two = train_one_vs_all_arrays(X[twice], index[twice], 4, tol=1e-6)
    np.testing.assert_allclose(one.coef, two.coef, rtol=1e-2, atol=1e-3)


def test_less_memory_means_smaller_blocks_of_classes(monkeypatch):
    X, index = draw_kinds(1, n=200, k=9)
    whole = train_one_vs_all_arrays(X, index, 9)
    train_block, sizes = module._train_block, []

    def train_with_little_memory(rows, first, stop, *limits):
        sizes.append(stop - first)
        if stop - first > 3:
            raise MemoryError
        return train_block(rows, first, stop, *limits)

    monkeypatch.setattr(module, "_train_block", train_with_little_memory)
    parts = train_one_vs_all_arrays(X, index, 9)
    assert sizes == [9, 5, 3, 3, 3]
    np.testing.assert_allclose(parts.coef, whole.coef, rtol=1e-3, atol=1e-4)


def test_memory_that_is_not_enough_for_one_class_is_an_error(monkeypatch):
    def refuse(*_):
        raise MemoryError

    monkeypatch.setattr(module, "_train_block", refuse)
    with pytest.raises(MemoryError):
        train_one_vs_all_arrays(*draw_kinds(0), 4)


def test_arrays_of_the_standard_alone_are_enough():
    xp = pytest.importorskip("array_api_strict")
    X, index = draw_kinds(5)
    plain = train_one_vs_all_arrays(X, index, 4)
    strict = train_one_vs_all_arrays(xp.asarray(X), xp.asarray(index), 4)
    np.testing.assert_allclose(np.asarray(strict.coef), plain.coef, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(strict.n_iter, plain.n_iter)


def test_torch_gives_the_same_functions():
    torch = pytest.importorskip("torch", reason="torch is not installed (extra gpu)")
    X, index = draw_kinds(5)
    plain = train_one_vs_all_arrays(X, index, 4)
    found = train_one_vs_all_arrays(torch.tensor(X), torch.tensor(index), 4)
    np.testing.assert_allclose(found.coef.numpy(), plain.coef, rtol=1e-4, atol=1e-5)


def test_a_key_trained_on_another_device_answers_alike(monkeypatch):
    """The whole way through the estimator, with torch's processor in place of a graphics one."""
    torch = pytest.importorskip("torch", reason="torch is not installed (extra gpu)")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("fieldguide.svm.problems.put", lambda values, _: torch.tensor(values))
    X, y = draw_kinds(7, n=300)
    here, there = (OneVsAllClassifier(device=device).fit(X, y) for device in ("cpu", "cuda"))
    assert (here.predict(X) == there.predict(X)).mean() > 0.99
    assert there.duality_gap_ <= 1e-3
    assert there.held_out_.accuracy == pytest.approx(here.held_out_.accuracy, abs=0.02)


def test_no_graphics_processor_is_one_sentence_and_the_processor(monkeypatch):
    monkeypatch.setattr("fieldguide._device._find_obstacle", lambda: "there is none")
    with pytest.warns(FieldguideWarning, match="cannot be had: there is none; the processor"):
        assert find_device("OneVsAllClassifier", "cuda") == "cpu"
    assert find_device("OneVsAllClassifier", "auto") == "cpu"


def test_another_device_is_refused():
    with pytest.raises(InvalidArgument, match="device of OneVsAllClassifier"):
        OneVsAllClassifier(device="tpu").fit([[0.0], [1.0]], [0, 1])


def ask_some(index, seed):
    """Problems on parts of the rows, as nodes of a tree ask them."""
    rng = np.random.default_rng(seed)
    questions = []
    for _ in range(3):
        side = rng.permutation([-1.0, 1.0, 0.0, -1.0])[index]
        rows = np.flatnonzero(side)
        questions.append(Question(rows, side[rows]))
    return questions


def put_sides(questions, n):
    sides = np.zeros((n, len(questions)), dtype=np.float32)
    for k, question in enumerate(questions):
        sides[question.rows, k] = question.sign
    return sides


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), C=st.sampled_from([0.03, 1.0, 10.0]))
def test_problems_on_parts_of_the_rows_are_those_of_one_at_a_time(seed, C):
    X, index = draw_kinds(seed)
    questions = ask_some(index, seed)
    sides = put_sides(questions, len(X))
    found = train_sides_arrays(X, lambda first, stop: sides[:, first:stop], 3, C=C, tol=1e-3)
    assert (found.gaps <= 1e-3).all()
    for k, (rows, sign, _) in enumerate(questions):
        best = solve_linear(X[rows], sign, C=C, loss="squared_hinge", tol=1e-7, max_iter=10**5)
        own, least = (
            primal_value(X[rows], sign, w, b, C=C, loss="squared_hinge", intercept_scaling=1.0)
            for w, b in ((found.coef[k], found.intercept[k]), (best.w, best.b))
        )
        assert own * (1 - found.gaps[k]) <= least * (1 + 1e-5)


def test_a_problem_without_rows_is_solved_by_zero():
    X, _ = draw_kinds(2)
    found = train_sides_arrays(X, lambda *_: np.zeros((len(X), 1), np.float32), 1)
    assert not found.coef.any()
    assert found.gaps.tolist() == [0]


@pytest.fixture
def on_another_device(monkeypatch):
    """Torch's processor in place of a graphics one."""
    torch = pytest.importorskip("torch", reason="torch is not installed (extra gpu)")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("fieldguide.svm.problems.put", lambda values, _: torch.tensor(values))


def test_questions_are_answered_alike_on_another_device(on_another_device):
    X, index = draw_kinds(4)
    questions = ask_some(index, 4)
    weight = np.where(np.arange(len(X)) % 5 == 0, 0.0, 1.0)
    weighed = [q._replace(weight=weight[q.rows]) for q in questions]
    uneven = [q._replace(weight=1 + weight[q.rows]) for q in questions]
    for asked in (questions, weighed, uneven):
        here, there = (
            Problems(X, tol=1e-5, device=device).solve(asked, C=1.0) for device in ("cpu", "cuda")
        )
        np.testing.assert_allclose(there.coef, here.coef, rtol=1e-2, atol=1e-3)


def test_a_chosen_key_is_trained_on_another_device_too(on_another_device):
    X, y = draw_kinds(7, n=400, d=10, k=8)
    here, there = (choose_key(X, y, device=device) for device in ("cpu", "cuda"))
    assert type(here.key) is type(there.key)
    assert (here.key.predict(X) == there.key.predict(X)).mean() > 0.98


def test_rows_that_do_not_fit_are_left_to_the_processor(monkeypatch):
    def refuse(*_):
        raise MemoryError

    monkeypatch.setattr("fieldguide.svm.problems.put", refuse)
    X, index = draw_kinds(4)
    problems = Problems(X, device="cuda")
    with pytest.warns(FieldguideWarning, match="90 rows do not fit into the memory"):
        there = problems.one_vs_all(index, 4, C=1.0)
    here = Problems(X).one_vs_all(index, 4, C=1.0)
    np.testing.assert_array_equal(there.coef, here.coef)
    problems.solve(ask_some(index, 0), C=1.0)  # it is said once
