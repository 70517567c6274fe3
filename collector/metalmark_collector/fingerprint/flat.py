"""The fingerprint as one flat object, whose keys the recorded machines of the tests use too."""

from metalmark_db import chips
from metalmark_db.identity import machine_id
from metalmark_db.record import Machine

from .evidence import Evidence
from .probe import Gathered, Probe
from .readers import CONDITIONS, EXTRA, MACHINE, SOFTWARE


def fingerprint(probe: Probe) -> dict[str, object]:
    """Everything that can be told of a machine, with None for what cannot."""
    evidence = Evidence(Gathered(probe))
    machine = {field: read(evidence) for field, read in MACHINE.items()}
    others = {field: read(evidence) for table in (SOFTWARE, CONDITIONS, EXTRA) for field, read in table.items()}
    tiers, counts = machine["cpu_tiers"], machine["tier_counts"]
    facts = chips.facts(Machine(**machine))
    return {
        "machine_id": machine_id(Machine(**machine)),
        **machine,
        **{name: getattr(facts, name) for name in facts.__struct_fields__},
        "model": machine["model_identifier"],
        "tier_counts": None if counts is None else list(counts),
        "cpu_tiers": None if tiers is None else [{"name": name, "cores": cores} for name, cores in tiers],
        **others,
    }
