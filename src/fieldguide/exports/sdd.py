"""Kinds × attributes as SDD 1.1 (Structured Descriptive Data, a TDWG standard), in XML.

Each feature is a categorical character, each word a state of it, each kind a taxon with a coded
description: the states that it shows, and with the modifier "rare" those that few of its specimens
show. The form is that of the standard's own example of what Lucid supports
(``SDD-Test-Lucid.sdd11.xml``).
"""

import re
from pathlib import Path
from xml.etree import ElementTree

from fieldguide._files import write_bytes
from fieldguide.exports.order import Order
from fieldguide.exports.states import ABSENT, MOST_RARE, RARE, States, score_states

NAMESPACE = "http://rs.tdwg.org/UBIF/2006/"
_SCHEMA = f"{NAMESPACE} {NAMESPACE}Schema/1.1/SDD.xsd"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(order: Order) -> Path:
    """Write the document."""
    guide, states = order.guide, score_states(order)
    root = ElementTree.Element("Datasets", xmlns=NAMESPACE)
    root.set(f"{{{_XSI}}}schemaLocation", _SCHEMA)
    made = ElementTree.SubElement(root, "TechnicalMetadata", created=guide.about["created"])
    ElementTree.SubElement(
        made, "Generator", name="Fieldguide", version=guide.about["versions"]["fieldguide"]
    )
    dataset = ElementTree.SubElement(root, "Dataset", {_LANGUAGE: "en"})
    _label(dataset, guide.title, guide.summary)
    _list_taxa(dataset, states.kinds)
    _list_modifiers(dataset)
    _list_characters(dataset, states)
    _describe_kinds(dataset, states)
    ElementTree.register_namespace("xsi", _XSI)
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    write_bytes(order.target, text + b"\n")
    return order.target


def _list_taxa(dataset: ElementTree.Element, kinds: list[str]) -> None:
    names = ElementTree.SubElement(dataset, "TaxonNames")
    for k, kind in enumerate(kinds):
        _label(ElementTree.SubElement(names, "TaxonName", id=f"t{k}"), kind)


def _list_modifiers(dataset: ElementTree.Element) -> None:
    concepts = ElementTree.SubElement(dataset, "DescriptiveConcepts")
    concept = ElementTree.SubElement(concepts, "DescriptiveConcept", id="dc0")
    _label(concept, "How often a state is seen")
    modifiers = ElementTree.SubElement(concept, "Modifiers")
    rare = ElementTree.SubElement(modifiers, "Modifier", id="rare")
    _label(rare, "rare")
    ElementTree.SubElement(rare, "ModifierClass").text = "Frequency"
    limits = {"lowerestimate": "0.0", "upperestimate": str(MOST_RARE)}
    ElementTree.SubElement(rare, "ProportionRange", limits)


def _list_characters(dataset: ElementTree.Element, states: States) -> None:
    characters = ElementTree.SubElement(dataset, "Characters")
    for c, feature in enumerate(states.features):
        character = ElementTree.SubElement(characters, "CategoricalCharacter", id=f"c{c}")
        _label(character, feature.name)
        listed = ElementTree.SubElement(character, "States")
        for j in feature.columns:
            _label(ElementTree.SubElement(listed, "StateDefinition", id=f"s{j}"), states.words[j])


def _describe_kinds(dataset: ElementTree.Element, states: States) -> None:
    descriptions = ElementTree.SubElement(dataset, "CodedDescriptions")
    for k, kind in enumerate(states.kinds):
        description = ElementTree.SubElement(descriptions, "CodedDescription", id=f"d{k}")
        _label(description, kind)
        scope = ElementTree.SubElement(description, "Scope")
        ElementTree.SubElement(scope, "TaxonName", ref=f"t{k}")
        summary = ElementTree.SubElement(description, "SummaryData")
        for c, feature in enumerate(states.features):
            shown = [j for j in feature.columns if states.scores[k, j] != ABSENT]
            if not shown:
                continue
            of_feature = ElementTree.SubElement(summary, "Categorical", ref=f"c{c}")
            for j in shown:
                state = ElementTree.SubElement(of_feature, "State", ref=f"s{j}")
                if states.scores[k, j] == RARE:
                    ElementTree.SubElement(state, "Modifier", ref="rare")


def _label(parent: ElementTree.Element, text: str, detail: str = "") -> None:
    representation = ElementTree.SubElement(parent, "Representation")
    ElementTree.SubElement(representation, "Label").text = _NO_XML.sub("\ufffd", text)
    if detail:
        ElementTree.SubElement(representation, "Detail").text = _NO_XML.sub("\ufffd", detail)
