"""GPUs as the CUDA driver names them, printed as JSON by a process of its own.

Only the driver tells the number of multiprocessors without torch. A driver that hangs or crashes
takes this small process with it and not the reader.
"""

import ctypes
import json

_MULTIPROCESSORS = 16  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT


def gpus(driver: ctypes.CDLL) -> list[dict[str, object]]:
    """Name, multiprocessors and memory of every GPU; empty if the driver does not start."""
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    return [_gpu(driver, index) for index in range(count.value)]


def _gpu(driver: ctypes.CDLL, index: int) -> dict[str, object]:
    device, cores, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    name = ctypes.create_string_buffer(200)
    driver.cuDeviceGet(ctypes.byref(device), index)
    driver.cuDeviceGetName(name, len(name), device)
    no_cores = driver.cuDeviceGetAttribute(ctypes.byref(cores), _MULTIPROCESSORS, device)
    no_memory = driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    return {
        "name": name.value.decode("utf-8", "replace"),
        "multiprocessors": None if no_cores else cores.value,
        "memory_bytes": None if no_memory else memory.value,
    }


def main() -> None:
    """Print the GPUs, or nothing where there is no driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    print(json.dumps({"gpus": gpus(driver)}))  # noqa: T201  the reader takes it from stdout


if __name__ == "__main__":
    main()
