"""Pages get names of their own, whatever the database holds."""

from metalmark_site.facts import Facts, slugs


def test_page_names_differ_even_when_names_look_alike() -> None:
    """Two chips that differ in a sign or in case do not share a page, and none takes the index's place."""
    given = slugs(["Apple M1", "apple m1", "Apple+M1", "index", "other", "///"])
    assert given == {
        "Apple M1": "apple-m1",
        "apple m1": "apple-m1-2",
        "Apple+M1": "apple-m1-3",
        "index": "index-2",
        "other": "other-2",
        "///": "unnamed",
    }


def test_only_well_formed_names_get_a_chip_page(facts: Facts, hostile: tuple[str, ...]) -> None:
    """Plain letters, digits, blanks, brackets, plus and minus; all else is gathered on the page Other."""
    assert {"Apple M1", "Apple M4 Max", "NVIDIA RTX 4090", "AMD EPYC 7B13"} <= facts.chip_slugs.keys()
    assert not set(hostile) & facts.chip_slugs.keys()
    assert "Intel(R) Core(TM) i9-10940X CPU @ 3.30GHz" not in facts.chip_slugs
    assert set(hostile) <= facts.measured.keys()


def test_chips_with_published_facts_have_a_page_without_a_run(facts: Facts) -> None:
    """The first site already knows the Macs from M1 on."""
    assert facts.chip_slugs["Apple M5 Pro"] == "apple-m5-pro"


def test_facts_without_rows_have_no_pages() -> None:
    """An empty database is no error."""
    empty = Facts()
    assert empty.chip_slugs == empty.workload_slugs == empty.source_slugs == {}
