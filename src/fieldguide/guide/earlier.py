"""The guide that stands in the folder already: what it has measured is not measured again."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fieldguide.collection import Taken
from fieldguide.errors import GuideError
from fieldguide.guide import folder as files
from fieldguide.guide.catalogue import Catalogue
from fieldguide.guide.measure import Measured, list_pictures
from fieldguide.guide.views import Specimen


class Earlier:
    """An earlier guide of the same folder; empty where there is none that can be used."""

    def __init__(
        self,
        catalogue: Catalogue | None,
        features: dict[str, np.ndarray],
        info: dict[str, Any] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.info = info or {}
        self.folder = folder  # of its edition; None without an earlier guide
        self._catalogue = catalogue
        self._features = features
        self._rows = catalogue.stamps() if catalogue else {}
        if catalogue and not catalogue.knows_clips:
            # That version saw the first frame of a moving GIF alone: each is measured again.
            self._rows = {f: i for f, i in self._rows.items() if not _is_gif(f)}
        self.failed = catalogue.failed() if catalogue else {}  # reasons, by path, NUL, stamp
        # When and where, by path, NUL, stamp; of none in the guide of an earlier version.
        self.taken: dict[str, Taken] = catalogue.taken() if catalogue else {}

    @classmethod
    def open(cls, out: Path, measure_settings: str) -> "Earlier":
        """Open what is in ``out``; nothing is there when it was measured otherwise, or damaged."""
        try:
            info = files.read_info(out, older=True)
            if info.get("measure_settings") != measure_settings:
                return cls(None, {})
            folder = files.find_edition(out, info)
            catalogue = Catalogue(folder / files.CATALOGUE)
            if info["format"] == files.FORMAT:
                catalogue.check(info)
            n = info["n_specimens"]
            features = {name: files.read_features(folder, name, n) for name in info["features"]}
        except GuideError:
            return cls(None, {})
        return cls(catalogue, features, info, folder)

    def pictures(self) -> dict[str, tuple[str, ...]]:
        """Return the addresses of all pictures of every file, as path, NUL, stamp."""
        if self._catalogue is None:
            return {}
        clips = self._catalogue.clips()
        thumbnails = enumerate(self._catalogue.thumbnails())
        names = [list_pictures(*pair, clips.get(i)) for i, pair in thumbnails]
        return {file: names[row] for file, row in self._rows.items()}

    def digests(self) -> dict[str, str]:
        """Return the digest of every file, as path, NUL, stamp."""
        if self._catalogue is None:
            return {}
        digests = self._catalogue.digests()
        return {file: digests[row] for file, row in self._rows.items()}

    def read(self, path: str, stamp: str) -> Measured:
        """Return what was measured of a file that was seen."""
        reason = self.failed.get(f"{path}\0{stamp}")
        if reason is not None:
            return Measured(path, stamp, reason=reason)
        assert self._catalogue is not None
        row = self._rows[f"{path}\0{stamp}"]
        arrays = {
            name: np.array(self._features[name][row]) if name in self._features else None
            for name in ("properties", "embedding", "logits")
        }
        return self._catalogue.measured(row, arrays)

    def list_contents(self) -> list[tuple[str, str]]:
        """Return the path and the digest of every specimen."""
        if self._catalogue is None:
            return []
        return self._catalogue.contents()

    def sizes(self) -> set[str]:
        """Return the sizes of all files that were measured, as stamps begin with them."""
        return {find_size(file) for file in self._rows}

    def find_file(self, digest: str) -> str | None:
        """Return a file (path, NUL, stamp) of the same content; None where there is none."""
        return self._files.get(digest)

    def recognise(self, digests: Mapping[str, str]) -> None:
        """Take files that have another name or time now for those of the same content."""
        for file, digest in digests.items():
            same = self._files.get(digest)
            if same is not None:
                self._rows.setdefault(file, self._rows[same])

    @cached_property
    def _files(self) -> dict[str, str]:
        """A file of each content."""
        if self._catalogue is None:
            return {}
        digests = self._catalogue.digests()
        return {digests[row]: file for file, row in self._rows.items()}

    def feature(self, name: str, file: str) -> np.ndarray | None:
        """Return the row of a feature matrix for a file (path, NUL, stamp), or None."""
        if name not in self._features or file not in self._rows:
            return None
        return np.array(self._features[name][self._rows[file]])

    def specimens(self) -> list[Specimen]:
        """Return all specimens by their numbers."""
        if self._catalogue is None:
            return []
        return self._catalogue.specimens(range(self.info["n_specimens"]))

    def close(self) -> None:
        """Let go of the catalogue."""
        if self._catalogue:
            self._catalogue.close()


def _is_gif(file: str) -> bool:
    return file.partition("\0")[0].lower().endswith(".gif")


def find_size(file: str) -> str:
    """Return the size in the stamp of a file (path, NUL, stamp)."""
    return file.partition("\0")[2].partition("-")[0]
