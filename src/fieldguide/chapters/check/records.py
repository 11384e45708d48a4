"""What needs a look, as records; and what is said of a new image: which specimens it is a copy of.

The problems, in the order in which they are told:

==============  ==================================================  ===============================
problem         what it means                                       confidence
==============  ==================================================  ===============================
``label``       the held-out key and the neighbours doubt a label   that the label is wrong
``copy``        two pictures are one                                correlation of their detail
``unreadable``  a file could not be read                            1
``no subject``  nothing stands out in a picture, or too little      how far below the limit, 0 to 1
``blurred``     a picture has no fine detail                        how far below the limit, 0 to 1
``dark``        a picture has no bright pixel                       how far below the limit, 0 to 1
``tiny``        a picture has few pixels                            1
``few``         a kind has too few specimens                        1
``alike``       two kinds cannot be told apart                      that the key errs in more than
                                                                    a quarter of cases
==============  ==================================================  ===============================
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

PROBLEMS = (
    *("label", "copy", "unreadable", "no subject", "blurred", "dark", "tiny"),
    *("few", "alike"),
)
COLUMNS = ("path", "problem", "detail", "confidence")


@dataclass(frozen=True)
class Finding:
    """Something that needs a look."""

    path: str  # the file, relative to the folder of the collection; of "few" and "alike" the kind
    problem: str  # one of PROBLEMS
    detail: str  # a sentence
    confidence: float  # 0 to 1
    specimen: int | None = None  # its number, where it is a specimen
    kinds: tuple[str, ...] = ()  # that the sentence names
    others: tuple[int, ...] = ()  # specimens that it is a copy of


@dataclass(frozen=True)
class Report:
    """All that needs a look, by problem, the most certain first."""

    findings: tuple[Finding, ...]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def of(self, problem: str) -> tuple[Finding, ...]:
        """Return the findings of one problem.

        Examples
        --------
        >>> report = Report((Finding("a.jpg", "dark", "…", 0.4), Finding("b.jpg", "tiny", "…", 1)))
        >>> [finding.path for finding in report.of("tiny")]
        ['b.jpg']
        """
        return tuple(each for each in self.findings if each.problem == problem)

    def to_rows(self) -> list[tuple[str, str, str, float]]:
        """Return the rows of a table with the columns ``COLUMNS``."""
        return [(f.path, f.problem, f.detail, round(f.confidence, 4)) for f in self.findings]


class CopiedSpecimen(NamedTuple):
    """A specimen that is the same picture."""

    id: Annotated[int, "number of the specimen, which is among the neighbours"]
    likeness: Annotated[float, "correlation of the detail of the two, 0 to 1"]


@dataclass(frozen=True)
class ImageCopies:
    """Specimens that a new image is a copy of."""

    copies: Annotated[tuple[CopiedSpecimen, ...], "the most alike first"]


EXAMPLE = ImageCopies(copies=(CopiedSpecimen(id=12, likeness=0.98),))
"""What docs/answer.md shows."""
