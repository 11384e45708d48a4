"""AttributeTree and BernoulliTree as estimators: contract, resuming, words, odd input."""

import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from tests.describe.samplers import make_chain, make_likelihood, unbounded_prior
from tests.interrupts import interrupt_at
from tests.reference.simulated_tree import draw_truncated_beta

from fieldguide.describe import AttributeTree, BernoulliTree, load_chains, save_chains
from fieldguide.describe._node_parameters import make_nodes
from fieldguide.describe.sampled_tree import node_weights, row_scores
from fieldguide.describe.stick_breaking import Sample
from fieldguide.describe.wording import choose_words
from fieldguide.errors import FieldguideError
from fieldguide.metrics import purity

NAMES = [f"{kind}{i}" for kind in ("animal", "bird", "dog", "vehicle") for i in range(4)]
MODELS = [AttributeTree, BernoulliTree]


def draw_rows(n_per_kind=25, seed=0):
    """Birds and dogs, which are animals, and vehicles; a few attributes wrong."""
    rng = np.random.default_rng(seed)
    kinds = np.repeat([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]], n_per_kind, axis=0)
    A = np.repeat(kinds, 4, axis=1) ^ (rng.random((3 * n_per_kind, 16)) < 0.03)
    return A.astype(np.uint8), np.repeat(np.arange(3), n_per_kind)


def check_attribute_tree(estimator, A):
    """Hold an estimator over values in [0, 1] to our contract."""
    assert clone(estimator).get_params() == estimator.get_params()
    fitted = clone(estimator).fit(A)
    for other in (
        clone(estimator).fit(A),
        clone(estimator).set_params(n_jobs=2).fit(A),
        clone(estimator).fit(A.astype(np.float64)),
        clone(estimator).fit(A.astype(bool)),
        clone(fitted).fit(A),
        pickle.loads(pickle.dumps(fitted)),
    ):
        np.testing.assert_array_equal(other.labels_, fitted.labels_)
        np.testing.assert_array_equal(other.tree_.parent, fitted.tree_.parent)
        np.testing.assert_array_equal(other.trace_["log_joint"], fitted.trace_["log_joint"])
        np.testing.assert_array_equal(other.predict_proba(A), fitted.predict_proba(A))
    p = fitted.predict_proba(A)
    assert p.shape == (len(A), len(fitted.tree_) + 1)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(fitted.predict(A), p[:, :-1].argmax(axis=1))
    np.testing.assert_allclose(fitted.predict_proba(A[3:5]), p[3:5])
    n_here = np.bincount(fitted.labels_, minlength=len(fitted.tree_))
    assert (fitted.tree_.sum_up(n_here) > 0).all()
    assert fitted.log_joint_ == fitted.trace_["log_joint"][:, estimator.n_iter // 2 - 1 :].max()
    for bad, why in (
        (A[:, :3], "X has 3 features"),
        (np.zeros((0, A.shape[1])), "0 sample"),
        (A + 2.0, r"must be in \[0, 1\].*got 3"),
        (A - 0.1, r"must be in \[0, 1\].*got -0\.1"),
        ([["a"]], "could not convert string to float"),
    ):
        with pytest.raises(ValueError, match=why):
            fitted.predict(bad)
    with pytest.raises(ValueError, match=r"must be in \[0, 1\].*got 1\.5"):
        clone(estimator).fit(A * 1.5)


@pytest.mark.parametrize("model", MODELS)
def test_contract(model):
    check_attribute_tree(model(n_iter=6, n_chains=2, random_state=0), draw_rows()[0])


@pytest.mark.parametrize("model", MODELS)
def test_a_resumed_fit_is_the_uninterrupted_one(model, tmp_path):
    A = draw_rows()[0].astype(float)
    A[3, 2], A[40, 5:9] = np.nan, 0.3
    whole = model(n_iter=9, n_chains=2, random_state=3).fit(A)
    part = model(n_iter=9, n_chains=2, random_state=3)
    part.fit(A, progress=lambda chain, n_done, log_joint: chain == 1 and n_done == 4)
    assert [len(chain["trace.log_joint"]) for chain in part.chains_] == [9, 4]
    save_chains(tmp_path / "chains", part.chains_)
    resumed = model(n_iter=9, n_chains=2, random_state=99)
    resumed.fit(A, resume=load_chains(tmp_path / "chains"))
    for one, other in zip(whole.chains_, resumed.chains_, strict=True):
        assert one.keys() == other.keys()
        for name, value in one.items():
            np.testing.assert_array_equal(value, other[name], err_msg=name)
            assert value.dtype == other[name].dtype
    np.testing.assert_array_equal(whole.labels_, resumed.labels_)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_leaves_chains_that_go_on(n_jobs):
    A = draw_rows()[0]
    model = AttributeTree(n_iter=8, n_chains=2, random_state=1, n_jobs=n_jobs)
    whole = clone(model).fit(A)
    with pytest.raises(KeyboardInterrupt):
        model.fit(A, progress=interrupt_at(5))
    assert not hasattr(model, "labels_")
    assert max(len(chain["trace.log_joint"]) for chain in model.chains_) == 5
    model.fit(A, resume=model.chains_)
    np.testing.assert_array_equal(model.labels_, whole.labels_)
    np.testing.assert_array_equal(model.trace_["alpha"], whole.trace_["alpha"])


@pytest.mark.parametrize("kind", ["attribute", "bernoulli"])
def test_a_sweep_that_is_broken_off_is_as_if_it_had_not_begun(kind, monkeypatch):
    A = draw_rows(8)[0].astype(float)
    A[0, 0], A[1, 1] = 0.4, np.nan
    chain, other = (make_chain(kind, A, unbounded_prior(), 5) for _ in range(2))
    for one in (chain, other):
        for _ in range(3):
            one.sweep()
    draw = type(chain.likelihood).draw

    def stop(*arguments):
        draw(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(chain.likelihood), "draw", stop)
        with pytest.raises(KeyboardInterrupt):
            chain.sweep()
    for one in (chain, other):
        one.sweep()
    for name, value in other.to_arrays().items():
        np.testing.assert_array_equal(value, chain.to_arrays()[name], err_msg=name)


def test_room_for_nodes_changes_nothing():
    A = draw_rows(10)[0]
    chain, cramped = (make_chain("attribute", A, unbounded_prior(), 2) for _ in range(2))
    for _ in range(5):
        chain.sweep()
        cramped._nodes = make_nodes(1, 16)
        cramped.sweep()
    np.testing.assert_array_equal(chain.sample.labels, cramped.sample.labels)
    np.testing.assert_array_equal(chain.state.words, cramped.state.words)


@pytest.mark.parametrize("model", MODELS)
def test_kinds_that_differ_are_kept_apart_and_named(model):
    A, y = draw_rows(80)
    fitted = model(n_iter=60, n_chains=2, random_state=0).fit(A)
    groups = [set(fitted.labels_[y == k].tolist()) for k in range(3)]
    shared = [len(groups[i] & groups[j]) for i, j in ((0, 2), (1, 2))]
    assert max(shared) <= 1
    described = fitted.describe(NAMES)
    assert all(len(words) <= 3 for words in described.words)
    assert ((described.truth >= 0) & (described.truth <= 1)).all()
    spoken = {word.rstrip("0123") for words in described.words for word in words}
    assert len(spoken) >= 2


@pytest.mark.parametrize("model", MODELS)
def test_rows_are_placed_in_the_best_and_the_last_sample_of_every_chain(model):
    A, _ = draw_rows(40)
    fitted = model(n_iter=20, n_chains=3, random_state=0).fit(A)
    placed = list(fitted.place(A))
    assert len(placed) == 6
    tree, labels = placed[2 * fitted.best_chain_]
    np.testing.assert_array_equal(tree.parent, fitted.tree_.parent)
    np.testing.assert_array_equal(labels, fitted.predict(A))
    for chain, (tree, labels) in zip(fitted.chains_, placed[1::2], strict=True):
        assert len(tree) == len(chain["sample.parent"])
        assert labels.shape == (len(A),)
        assert labels.max() < len(tree)


def test_the_attribute_tree_only_adds_on_the_way_down():
    fitted = AttributeTree(n_iter=20, n_chains=1, random_state=0).fit(draw_rows()[0])
    parent = fitted.tree_.parent
    assert (fitted.rates_[1:] >= fitted.rates_[parent[1:]]).all()


@pytest.mark.parametrize("kind", ["attribute", "bernoulli"])
def test_unborn_children_are_averaged_over_their_prior(kind):
    rng = np.random.default_rng(0)
    likelihood = make_likelihood(kind)
    theta = rng.uniform(0.1, 0.8, (2, 3))
    spread, noise = rng.uniform(3, 6, 3), np.array([0.1, 0.2, 0.3])
    if kind == "bernoulli":
        theta, spread = theta * 4 - 2, spread / 4
    sample = Sample(np.array([-1, 0]), np.array([1]), theta, noise, spread, np.ones(3))
    total = np.zeros((2, 3))
    for k in range(2):
        parent = np.append(sample.parent, k)
        for _ in range(3000):
            if kind == "attribute":
                t = [
                    draw_truncated_beta(rng, c * t, c * (1 - t), 0.05)
                    for c, t in zip(spread, theta[k], strict=True)
                ]
            else:
                t = theta[k] + spread * rng.normal(size=3)
            born = Sample(parent, np.array([2]), np.vstack([theta, t]), noise, spread, np.ones(3))
            total[k] += likelihood.rates(born)[2]
    np.testing.assert_allclose(likelihood.unborn_rates(sample), total / 3000, atol=0.02)


def test_what_is_unlike_everything_is_the_least_likely():
    A, _ = draw_rows(80)
    fitted = AttributeTree(n_iter=60, n_chains=1, random_state=0).fit(A)
    strange = np.tile([0, 1, 1, 0], 4)
    scores = fitted.score_samples(np.vstack([A, strange]))
    assert scores.argmin() == len(A)


def test_weights_of_nodes_and_unborn_children_sum_to_one():
    fitted = AttributeTree(n_iter=20, n_chains=1, random_state=0).fit(draw_rows()[0])
    weight, unborn = node_weights(fitted.sample_, 15)
    assert weight.sum() + unborn.sum() == pytest.approx(1)
    assert unborn.min() > 0


def test_scores_of_rows_against_a_plain_loop():
    rng = np.random.default_rng(0)
    A = rng.choice([0, 1, 0.3, np.nan], (6, 5))
    rates, base = rng.uniform(0.1, 0.9, (3, 5)), rng.uniform(0.2, 0.8, 5)
    found = row_scores(A, rates, base)
    for i, k in np.ndindex(6, 3):
        total = 0.0
        for d in range(5):
            s, r = A[i, d], rates[k, d]
            if s in (0, 1):
                total += np.log(r if s else 1 - r)
            elif not np.isnan(s):
                total += np.log(r * s / base[d] + (1 - r) * (1 - s) / (1 - base[d]))
        assert found[i, k] == pytest.approx(total)


def test_a_score_at_the_base_rate_says_as_much_as_a_gap():
    rng = np.random.default_rng(1)
    rates, base = rng.uniform(0.1, 0.9, (3, 5)), rng.uniform(0.2, 0.8, 5)
    known = rng.choice([0.0, 1.0, 0.3], (6, 5))
    is_gap = rng.random((6, 5)) < 0.4
    scored = row_scores(np.where(is_gap, base, known), rates, base)
    np.testing.assert_allclose(row_scores(np.where(is_gap, np.nan, known), rates, base), scored)


def test_words_are_true_and_new_on_the_path():
    parent = np.array([-1, 0, 1, 0, 0])
    rates = np.array(
        [[0.8, 0.1, 0.1], [0.9, 0.75, 0.2], [0.9, 0.8, 0.6], [0.8, 0.2, 0.49], [0.99, 0.1, 0.1]]
    )
    # the root's word is said once; the second needs ½; the third has none; the fourth nothing new
    assert choose_words(parent, rates, 0.7) == [[0], [1], [2], [], []]
    # what a node above says is not said again, however it rises
    parent = np.arange(-1, 3)
    rates = np.array([[0.1, 0.1], [0.55, 0.1], [0.65, 0.2], [0.8, 0.2]])
    assert choose_words(parent, rates, 0.7) == [[], [0], [], []]
    # Of two that half of the rows show, the one that rises more; less than a tenth is no rise.
    rates = np.array([[0.45, 0.1], [0.54, 0.1], [0.6, 0.55], [0.68, 0.62]])
    assert choose_words(parent, rates, 0.7) == [[], [], [1], []]


@pytest.mark.parametrize("model", MODELS)
def test_no_word_names_a_node_whose_rows_mostly_lack_it(model):
    A = np.random.default_rng(3).random((180, 12)) < np.linspace(0.1, 0.6, 12)
    A[:, 0] |= np.random.default_rng(4).random(180) < 0.97
    n_named_at_the_root = 0
    # with the default, AttributeTree finds hardly a node in attributes that are independent
    options = {"c_bounds": (20, 100), "theta_floor": 1e-3} if model is AttributeTree else {}
    for seed in range(4):
        fitted = model(n_iter=30, n_chains=1, random_state=seed, **options).fit(A)
        described = fitted.describe()
        rates = fitted._stated_rates()
        assert len(described.words) > 3
        for k, words in enumerate(described.words):
            for word in words:
                assert rates[k, int(word.split()[1])] >= 0.5
        below = range(1, len(described.words))
        for word in described.words[0]:
            n_named_at_the_root += 1
            assert word in described.sentence(0)
            assert not any(word in described.words[k] for k in below)
            assert not any(word in described.sentence(k) for k in below)
    assert n_named_at_the_root


def test_the_words_of_a_bernoulli_node_are_those_of_its_branch():
    fitted = BernoulliTree(n_iter=10, n_chains=1, random_state=0).fit(draw_rows(20)[0])
    tree, labels = fitted.tree_, fitted.labels_
    for k, found in enumerate(fitted._stated_rates()):
        inside = []
        for i in labels:
            at = i
            while at > k:
                at = tree.parent[at]
            if at == k:
                inside.append(fitted.rates_[i])
        np.testing.assert_allclose(found, np.mean(inside, axis=0))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "A",
    [
        np.zeros((12, 3)),
        np.ones((12, 3)),
        np.ones((1, 3)),
        np.full((4, 3), np.nan),
        np.tile([[1, 0, 1]], (30, 1)),
        np.full((6, 2), 0.5),
        np.column_stack([np.zeros(20), np.ones(20), np.arange(20) % 2]),
        np.array([[1.0], [0.0], [1.0]]),
        np.random.default_rng(0).random((20, 3)) < 0.5,
    ],
    ids=[
        "zeros",
        "ones",
        "one row",
        "unknown",
        "duplicates",
        "scores",
        "constant columns",
        "one column",
        "noise",
    ],
)
def test_odd_matrices_are_no_trouble(model, A):
    fitted = model(n_iter=15, n_chains=1, random_state=0).fit(A)
    assert len(fitted.labels_) == len(A)
    assert np.isfinite(fitted.trace_["log_joint"]).all()
    assert np.isfinite(fitted.predict_proba(A)).all()
    assert len(fitted.describe().words) == len(fitted.tree_)


def test_many_attributes():
    A = np.random.default_rng(0).random((20, 10_000)) < 0.05
    fitted = AttributeTree(n_iter=2, n_chains=1, random_state=0).fit(A)
    assert fitted.rates_.shape[1] == 10_000


def test_traces_for_arviz():
    pytest.importorskip("arviz", reason="arviz, of the extra mcmc, is not installed")
    fitted = AttributeTree(n_iter=20, n_chains=3, random_state=0).fit(draw_rows(10)[0])
    found = fitted.to_arviz()
    assert set(found["posterior"].data_vars) == {"alpha", "lambda", "gamma", "n_nodes"}
    np.testing.assert_array_equal(found["posterior"]["alpha"], fitted.trace_["alpha"][:, 10:])
    np.testing.assert_array_equal(found["sample_stats"]["lp"], fitted.trace_["log_joint"][:, 10:])
    assert found["posterior"]["gamma"].dims == ("chain", "draw")
    assert fitted.to_arviz(burn_in=0)["posterior"]["gamma"].shape == (3, 20)


def test_arviz_is_asked_for_in_one_sentence(monkeypatch):
    fitted = BernoulliTree(n_iter=4, n_chains=1, random_state=0).fit(draw_rows(5)[0])
    with pytest.raises(FieldguideError, match=r"burn_in of BernoulliTree\.to_arviz must be"):
        fitted.to_arviz(burn_in=4)
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(FieldguideError, match=r"not installed; run 'pip install fieldguide\[mcmc"):
        fitted.to_arviz()


def test_names_are_checked():
    fitted = AttributeTree(n_iter=2, n_chains=1).fit(draw_rows(5)[0])
    with pytest.raises(FieldguideError, match="must name each of 16 attributes; got 3"):
        fitted.describe(["a", "b", "c"])
    with pytest.raises(FieldguideError, match="'x' is there twice"):
        fitted.describe(["x", "x", *NAMES[2:]])
    for missing in (None, "", " "):
        with pytest.raises(FieldguideError, match="must not be empty; attribute 1 has none"):
            fitted.describe(["x", missing, *NAMES[2:]])
    spoken = {word for words in fitted.describe().words for word in words}
    assert spoken <= {f"attribute {d}" for d in range(16)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_iter": 0}, "n_iter of AttributeTree must be a whole number"),
        ({"theta_floor": 0}, "theta_floor of AttributeTree must be a number in"),
        ({"c_bounds": (100, 20)}, "c_bounds of AttributeTree must rise"),
        ({"gamma_bounds": 3}, "gamma_bounds of AttributeTree must be two numbers"),
        ({"lambda_bounds": (0.1, 2)}, "a bound in lambda_bounds of AttributeTree"),
        ({"random_state": "x"}, "random_state of AttributeTree"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(FieldguideError, match=message):
        AttributeTree(**{"n_chains": 1, "n_iter": 2, **arguments}).fit(draw_rows(3)[0])


def test_chains_of_other_data_are_refused(tmp_path):
    fitted = AttributeTree(n_iter=2, n_chains=1).fit(draw_rows(5)[0])
    with pytest.raises(FieldguideError, match="chains of 15 rows and 16 attributes, but A has 9"):
        AttributeTree(n_iter=3, n_chains=1).fit(draw_rows(3)[0], resume=fitted.chains_)
    with pytest.raises(FieldguideError, match="holds 1 chains, but n_chains is 2"):
        AttributeTree(n_iter=3, n_chains=2).fit(draw_rows(5)[0], resume=fitted.chains_)
    with pytest.raises(FieldguideError, match="There is no file"):
        load_chains(tmp_path / "nothing")
    (tmp_path / "text").write_text("not a file of chains at all")
    with pytest.raises(FieldguideError, match="is no file of chains"):
        load_chains(tmp_path / "text")


@pytest.mark.parametrize("model", [AttributeTree, BernoulliTree])
def test_chains_begin_at_the_tree_that_is_given(model):
    rng = np.random.default_rng(0)
    kinds = np.repeat(np.arange(4), 50)
    A = (rng.random((200, 24)) < 0.02) | (np.arange(24) // 6 == kinds[:, None])
    parent, labels = np.array([-1, 0, 0, 0, 0]), kinds + 1
    begun = model(n_iter=1, n_chains=1, random_state=0).fit(A, start=(parent, labels))
    cold = model(n_iter=1, n_chains=1, random_state=0).fit(A)
    assert purity(begun.labels_, kinds) > 0.95 > purity(cold.labels_, kinds)
    likelihood = begun._make_likelihood()
    shown = np.array([A[labels == v].sum(axis=0) for v in range(5)], dtype=float)
    theta = likelihood.fit_nodes(parent, shown, np.array([0, 50, 50, 50, 50]))
    rates = likelihood.stated_rates(replace(begun.sample_, parent=parent, theta=theta))
    np.testing.assert_allclose(rates[1:], shown[1:] / 50, atol=0.01)
    for bad in ((parent, labels[:3]), (parent, labels + 1), (np.arange(-1, 20), labels * 0)):
        with pytest.raises(ValueError, match=r"start of .*fit must be the parents of a tree"):
            model(n_iter=1, n_chains=1).fit(A, start=bad)
