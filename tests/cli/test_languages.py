"""``--language``: the pages are in it, and what cannot be is refused in one sentence."""

from tests.cli.commands import call


def test_pages_are_exported_in_a_language(small_guide, tmp_path):
    done = call("export", small_guide.folder, tmp_path / "site", "--language", "fr")
    assert done.exit_code == 0
    assert '<html lang="fr">' in (tmp_path / "site/index.html").read_text(encoding="utf-8")


def test_only_pages_have_a_language(small_guide, tmp_path):
    out = tmp_path / "table.csv"
    refused = call("export", small_guide.folder, out, "--format", "csv", "--language", "de")
    assert refused.exit_code == 2
    assert "Only the pages of 'site' are written in other languages" in refused.stderr
    assert not out.exists()


def test_a_language_that_there_is_not_is_refused_at_once(small_guide, tmp_path):
    for asked in (
        ("serve", small_guide.folder),
        ("export", small_guide.folder, tmp_path / "site"),
        ("demo", "--out", tmp_path / "demo"),
    ):
        refused = call(*asked, "--language", "tlh")
        assert refused.exit_code == 2
        assert "Pages cannot be written in 'tlh'; choose one of en, de, fr." in " ".join(
            refused.stderr.split()
        )
    assert list(tmp_path.iterdir()) == []
