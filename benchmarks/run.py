"""Run the benchmarks and print their tables.

    python benchmarks/run.py --out out/bench [--data DIR] [--only NAME …] [--tiny]

``--data`` is a folder that holds ``caltech101/`` and ``cifar10/`` as folders of images; problems
that need it are skipped with a reason without it. ``--tiny`` runs every problem at a size that
shows nothing but that it runs.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.measures import machine, save

PROBLEMS = (
    "deep_features",
    "memory",
    "cold_start",
    "opening",
    "tree",
    "key",
    "words",
    "find",
    "gram",
    "linear_svm",
    "kernel_svm",
    "dense_sift",
    "bag_of_words",
    "descriptors",
    "classifier_pool",
    "caltech_features",
    "graph_speed",
    "keys",
    "keys_speed",
    "growth",
    "as_printed",
    "attention_pictures",
    "attention_specimens",
    "attention_features",
    "hierarchy_pictures",
    "added_kinds",
    "added_guide",
    "thousand_kinds",
    "other_libraries",
    "whole_way",
    "attribute_tree",
    "attribute_detectors",
    "attribute_tree_detectors",
    "attribute_tree_many",
    "attribute_tree_mixing",
    "attribute_tree_bounds",
    "attribute_tree_priors",
    "attribute_tree_quality",
    "attribute_tree_text",
    "boosting",
    "attention_growing",
    "concert_solvers",
    "concert_accuracy",
    "concert_shots",
    "concert_plots",
    "concert_names",
    "additive_selection",
    "additive_recovery",
    "additive_table",
    "additive_words",
    "additive_patches",
    "additive_blocks",
    "region_selection",
    "region_speed",
    "clip_selection",
    "clip_marks",
    "clip_regions",
    "clip_pictures",
    "region_specimens",
    "second_look",
    "guide_tree",
    "subject_words",
    "marks",
    "half_annotated",
    "teach",
    "unknown",
    "key_choice",
    "key_words",
    "empty_pictures",
    "new_pictures",
    "walks",
    "label_noise",
    "near_copies",
    "graphics",
    "cluster",
    "samples",
    "large",
    "page_loading",
    "on_paper",
    "networks",
    "processors",
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("out/bench"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", nargs="+", choices=PROBLEMS, default=PROBLEMS)
    parser.add_argument("--embedder", action="append", help="a network for the problem networks")
    parser.add_argument("--tiny", action="store_true")
    given = parser.parse_args(arguments)
    faults: list[str] = []
    for name in given.only:
        problem = import_module(f"benchmarks.problems.{name}")
        asked = {"embedders": given.embedder} if given.embedder and name == "networks" else {}
        result = problem.run(given.data, tiny=given.tiny, **asked)
        if "skipped" in result:
            print(f"\n## {name}: skipped, {result['skipped']}")
            continue
        save(given.out / f"{name}.json", {"machine": machine(), **result})
        print(f"\n## {name}\n")
        print(problem.table(result), flush=True)
        if not given.tiny and hasattr(problem, "find_faults"):
            faults += problem.find_faults(result)
    if faults:
        sys.exit("\n".join(["", "Over budget:", *faults]))


if __name__ == "__main__":
    main()
