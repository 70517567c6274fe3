"""The torch side of the workloads: imported when one is built, not when it is listed."""
