"""The charts of the site, one kind a file and one line in this table."""

from . import chip, gpu_or_cpu, published, speed, workload
from .base import Chart

CHARTS: dict[str, Chart] = {
    "speed": speed.CHART,
    "workload": workload.CHART,
    "chip": chip.CHART,
    "published": published.CHART,
    "gpu_or_cpu": gpu_or_cpu.CHART,
}
