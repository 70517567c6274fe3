"""The generated pages: one row a kind. A new page is a template and a row here."""

from .content import chips, data, gpu_or_cpu, home, published, workloads
from .page import PageKind

PAGES: tuple[PageKind, ...] = (
    PageKind(path="index.md", template="index.md.j2", contents=home.home),
    PageKind(path="workloads/index.md", template="workloads.md.j2", contents=workloads.index),
    PageKind(path="workloads/<family>.md", template="workload.md.j2", contents=workloads.each),
    PageKind(path="chips/index.md", template="chips.md.j2", contents=chips.index),
    PageKind(path="chips/<chip>.md", template="chip.md.j2", contents=chips.each),
    PageKind(path="chips/other.md", template="other_chips.md.j2", contents=chips.other),
    PageKind(path="published/as-published.md", template="as_published.md.j2", contents=published.overview),
    PageKind(path="published/<source>.md", template="source.md.j2", contents=published.each),
    PageKind(path="published/gpu-or-cpu.md", template="gpu_or_cpu.md.j2", contents=gpu_or_cpu.page),
    PageKind(path="data.md", template="data.md.j2", contents=data.page),
)
