"""Are the network's words true? Precision and recall against what folder names imply.

Caltech-101's and CUB-200's photographs had a part in the choice of the thresholds and of some
words, CIFAR-10's did not. Its pictures of 32 px are far from what the network was trained on.
"The rule" lowers the threshold of a word that most of the collection shows; "the rule for any
collection" does not. "Both looks" is the rule on the mean of what the network says of the middle of
a picture and of its subject; guides read words from the first look alone.
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from fieldguide._parallel import map_in_order
from fieldguide.collection import Collection
from fieldguide.features import DeepFeatures, FeatureStack
from fieldguide.features.network import Network
from fieldguide.features.vocabulary import (
    YES,
    load_vocabulary,
    score_words,
    word_probabilities,
    word_thresholds,
)

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
    "spider or scorpion": "scorpion tick",
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
    rows = []
    for name, implied in sets.items():
        collection = Collection.from_folder(data / name)
        chosen = [i for i, item in enumerate(collection.items) if item.kind != "BACKGROUND_Google"]
        chosen = chosen[:: 40 if tiny else 1]
        kinds = np.array([collection.items[i].kind for i in chosen])
        images = [collection.picture(i)[0].image for i in chosen]
        first = DeepFeatures("probabilities").transform(images)
        p, both = word_probabilities(first), word_probabilities((first + look_twice(images)) / 2)
        said = {
            "p ≥ 0.5": p >= 0.5,
            "p ≥ 0.2": p >= 0.2,
            "the rule for any collection": score_words(p, word_thresholds()) >= YES,
            "the rule": score_words(p, word_thresholds(p)) >= YES,
            "both looks": score_words(both, word_thresholds(both)) >= YES,
        }
        for word, folders in implied.items():
            truth = np.isin(kinds, folders.split()) | (folders == "*")
            j = load_vocabulary().names.index(word)
            for rule, yes in said.items():
                hits = int((yes[:, j] & truth).sum())
                rows.append(
                    {
                        "data": name,
                        "word": word,
                        "rule": rule,
                        "precision": hits / max(int(yes[:, j].sum()), 1),
                        "recall": hits / max(int(truth.sum()), 1),
                    }
                )
    return {"rows": rows}


def look_twice(images: list) -> np.ndarray:
    """Return the probabilities of the network's classes in the closer look at each picture."""
    network = Network()
    stack = FeatureStack("looks", n_jobs=2).fit(images, network=network)

    def look(image: Any) -> np.ndarray:
        looks = stack.look_closer(image, network)
        assert looks is not None
        return np.asarray(looks.closer.logits)[0]

    return softmax(np.stack(list(map_in_order(look, images, n_jobs=2))), axis=1)


def table(result: dict) -> str:
    lines = ["| data | words | rule | mean precision | mean recall |", "|---|---|---|---|---|"]
    groups: dict[tuple[str, str], list[dict]] = {}
    for row in result["rows"]:
        groups.setdefault((row["data"], row["rule"]), []).append(row)
    for (data, rule), rows in groups.items():
        precision = np.mean([row["precision"] for row in rows])
        recall = np.mean([row["recall"] for row in rows])
        lines.append(f"| {data} | {len(rows)} | {rule} | {precision:.2f} | {recall:.2f} |")
    lines += ["", "| word (caltech101, the rule) | precision | recall |", "|---|---|---|"]
    for row in result["rows"]:
        if row["data"] == "caltech101" and row["rule"] == "the rule":
            lines.append(f"| {row['word']} | {row['precision']:.2f} | {row['recall']:.2f} |")
    return "\n".join(lines)
