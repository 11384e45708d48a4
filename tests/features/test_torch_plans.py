"""Which operators of a graph are computed, and how long what they say is kept; without torch."""

from fieldguide.features._torch_session import Node, plan_steps


def test_what_is_computed_is_kept_for_as_long_as_it_is_needed():
    nodes = [
        Node("Relu", ("pixels",), "a", {}),
        Node("Relu", ("pixels",), "unused", {}),
        Node("Mul", ("a", "a"), "b", {}),
        Node("Add", ("b", "weight"), "c", {}),
        Node("Clip", ("c", "", "weight"), "d", {}),
    ]
    steps = plan_steps(nodes, ["b", "d"])
    assert [step.node.output for step in steps] == ["a", "b", "c", "d"]
    assert [step.spent for step in steps] == [("pixels",), ("a",), (), ("c", "weight")]
