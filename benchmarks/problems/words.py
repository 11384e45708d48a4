"""Are the network's words true? Precision and recall against what folder names imply.

Caltech-101's and CUB-200's photographs had a part in the choice of the thresholds, of some words,
and of what a collection supports; CIFAR-10's did not. Its pictures of 32 px are far from what the
network was trained on.

- first: what the network says of the middle of each picture, by the thresholds of the vocabulary;
- both: the same of the mean of that and of what it says of the subject's cells;
- near: averaged over the ten nearest pictures by both looks, as guides without labels do, less the
  words that the collection does not support;
- kind: averaged over them and the others of its kind, as guides with labels do.

The last two are told of the first look and of both.

Precision is the mean over the words that are said at all, recall over all. "False" is the share of
all words said, of the pictures that the list says something of, that are neither on it for their
folder, nor above or below a word that is.
"""

from pathlib import Path

import numpy as np

from benchmarks.seen import Seen, look_at
from fieldguide.collection import Collection
from fieldguide.features.vocabulary import (
    YES,
    find_above,
    load_vocabulary,
    score_words,
    word_chances,
    word_probabilities,
)
from fieldguide.features.word_support import N_NEAR, find_supported, pool_chances
from fieldguide.guide.nearest import find_near

CALTECH = {
    "animal": "Leopards ant bass beaver brontosaurus butterfly cougar_body cougar_face crab "
    "crayfish crocodile crocodile_head dalmatian dolphin dragonfly elephant emu flamingo "
    "flamingo_head gerenuk hawksbill hedgehog ibis kangaroo llama lobster mayfly nautilus octopus "
    "okapi panda pigeon platypus rhino rooster scorpion sea_horse starfish stegosaurus tick "
    "trilobite wild_cat",
    "mammal": "Leopards beaver cougar_body cougar_face dalmatian dolphin elephant gerenuk hedgehog "
    "kangaroo llama okapi panda platypus rhino wild_cat",
    "bird": "emu flamingo flamingo_head ibis pigeon rooster",
    "wading bird": "flamingo flamingo_head ibis",
    "dog": "dalmatian",
    "cat family": "Leopards cougar_body cougar_face wild_cat",
    "insect": "ant butterfly dragonfly mayfly",
    "butterfly": "butterfly",
    "dragonfly": "dragonfly",
    "arachnid": "scorpion tick",
    "crustacean": "crab crayfish lobster",
    "crocodile": "crocodile crocodile_head",
    "turtle": "hawksbill",
    "elephant": "elephant",
    "hoofed animal": "gerenuk llama okapi rhino",
    "fish": "bass",
    "starfish": "starfish",
    "dinosaur": "brontosaurus stegosaurus",
    "flower": "lotus sunflower water_lilly",
    "food": "pizza strawberry",
    "strawberry": "strawberry",
    "musical instrument": "accordion electric_guitar euphonium grand_piano mandolin metronome "
    "saxophone",
    "wind instrument": "accordion euphonium saxophone",
    "stringed instrument": "electric_guitar mandolin",
    "piano": "grand_piano",
    "vehicle": "Motorbikes airplanes car_side ferry helicopter ketch schooner",
    "motor vehicle": "Motorbikes car_side",
    "motorcycle": "Motorbikes",
    "aircraft": "airplanes helicopter",
    "boat": "ferry ketch schooner",
    "furniture": "chair windsor_chair",
    "chair": "chair windsor_chair",
    "building": "minaret pagoda",
    "electronic device": "camera cellphone headphone laptop",
    "laptop": "laptop",
    "camera": "camera",
    "clock or watch": "watch",
    "weapon": "cannon revolver",
    "umbrella": "umbrella",
    "container": "barrel cup ewer",
    "barrel": "barrel",
    "tool": "wrench scissors",
    "lamp": "lamp",
}
CIFAR = {
    "animal": "bird cat deer dog frog horse",
    "mammal": "cat deer dog horse",
    "bird": "bird",
    "dog": "dog",
    "cat family": "cat",
    "hoofed animal": "deer horse",
    "vehicle": "airplane automobile ship truck",
    "motor vehicle": "automobile truck",
    "aircraft": "airplane",
    "boat": "ship",
}
BIRDS = {"bird": "*"}  # every folder


def run(data: Path | None, *, tiny: bool) -> dict:
    sets = {"caltech101": CALTECH, "cifar10/test": CIFAR, "cub200/images": BIRDS}
    if data is None or not all((data / name).is_dir() for name in sets):
        return {"skipped": f"it needs --data with {', '.join(sets)}"}
    rows, false = [], []
    for name, implied in sets.items():
        collection = Collection.from_folder(data / name)
        items = [item for item in collection.items if item.kind != "BACKGROUND_Google"]
        items = items[:: 40 if tiny else 1]
        paths = [data / name / item.path for item in items]
        kinds = [str(item.kind) for item in items]
        seen = look_at(f"{name.replace('/', '_')}{'_tiny' if tiny else ''}", paths, kinds)
        said = apply_rules(seen, kinds)
        listed = np.zeros((len(kinds), len(load_vocabulary().names)), dtype=bool)
        for word, folders in implied.items():
            truth = np.isin(kinds, folders.split()) | (folders == "*")
            j = load_vocabulary().names.index(word)
            listed[:, j] = truth
            for rule, yes in said.items():
                hits = int((yes[:, j] & truth).sum())
                rows.append(
                    {
                        "data": name,
                        "word": word,
                        "rule": rule,
                        "precision": hits / int(yes[:, j].sum()) if yes[:, j].any() else None,
                        "recall": hits / max(int(truth.sum()), 1),
                    }
                )
        for rule, yes in said.items():
            share, n_said = count_false(yes, listed)
            false.append({"data": name, "rule": rule, "false": share, "said": n_said})
    return {"rows": rows, "false": false}


def apply_rules(seen: Seen, kinds: list[str]) -> dict[str, np.ndarray]:
    """Return which words are said of which pictures, by each rule."""
    near = find_near(seen.X, N_NEAR)
    said = {}
    for looks, probabilities in (("first", seen.first), ("both", seen.probabilities)):
        said[looks] = score_words(word_probabilities(probabilities)) >= YES
        chances = word_chances(probabilities)
        for rule, known in (("near", None), ("kind", kinds)):
            scores = score_words(pool_chances(chances, near, known))
            said[f"{looks}, {rule}"] = (scores >= YES) & find_supported(scores, known)
    return said


def count_false(yes: np.ndarray, listed: np.ndarray) -> tuple[float, float]:
    """Return the share of the words said that the list excludes, and how many a picture has."""
    known = listed.any(axis=1)
    n_said = int(yes[known].sum())
    n_false = int(find_false(yes, listed)[known].sum())
    return n_false / max(n_said, 1), n_said / max(int(known.sum()), 1)


def find_false(yes: np.ndarray, listed: np.ndarray) -> np.ndarray:
    """Return which words are said that the list excludes, (n, n_words) bool."""
    n_words = yes.shape[1]
    above = [find_above(k) for k in range(n_words)]
    is_last = listed.copy()  # listed, and no word below it is
    for k in range(n_words):
        for general in above[k]:
            is_last[:, general] &= ~listed[:, k]
    allowed = listed.copy()
    for k in range(n_words):
        for general in above[k]:
            allowed[:, k] |= is_last[:, general]
            allowed[:, general] |= listed[:, k]
    return yes & ~allowed


def table(result: dict) -> str:
    lines = [
        "| data | words said | rule | mean precision | mean recall | false | words per picture |",
        "|---|---|---|---|---|---|---|",
    ]
    false = {(cell["data"], cell["rule"]): cell for cell in result["false"]}
    groups: dict[tuple[str, str], list[dict]] = {}
    for row in result["rows"]:
        groups.setdefault((row["data"], row["rule"]), []).append(row)
    for (data, rule), rows in groups.items():
        said = [row["precision"] for row in rows if row["precision"] is not None]
        precision = np.mean(said) if said else np.nan
        recall = np.mean([row["recall"] for row in rows])
        cell = false[data, rule]
        lines.append(
            f"| {data} | {len(said)} of {len(rows)} | {rule} | {precision:.2f} | {recall:.2f} "
            f"| {cell['false']:.3f} | {cell['said']:.1f} |"
        )
    lines += ["", "| word (caltech101, both, near) | precision | recall |", "|---|---|---|"]
    for row in result["rows"]:
        if row["data"] == "caltech101" and row["rule"] == "both, near":
            precision = "–" if row["precision"] is None else f"{row['precision']:.2f}"
            lines.append(f"| {row['word']} | {precision} | {row['recall']:.2f} |")
    return "\n".join(lines)
