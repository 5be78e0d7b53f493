"""How to start the Triton server that the package `nvidia-pytriton` carries.

The server finds its Python backend and that backend's stub in one folder, which the package
does not have: the stubs, one for each Python version, lie elsewhere.
"""

import os
import secrets
import sys
import sysconfig
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from apps.pipeline.settings import Settings

ROOT = Path(__file__).parents[2]
MODELS = Path(__file__).parent / "models"
# Each model process has one region; a message that does not fit grows it by this much.
_SHM_BYTES = 1 << 20
_SHM_NEEDED = 24 << 20


class BackendError(Exception):
    """The server cannot be started here: one line, with what to do next."""


def package() -> Path:
    """The folder of the server in the installed package (found, not imported: it would start)."""
    spec = find_spec("pytriton")
    if spec is None or spec.origin is None:
        raise BackendError("the package nvidia-pytriton is not installed; install the lock file")
    return Path(spec.origin).parent / "tritonserver"


def prepare(folder: Path) -> Path:
    """Make and return a backend folder inside `folder`: links to the package's files."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = package() / "python_backend_stubs" / version / "triton_python_backend_stub"
    if not stub.exists():
        raise BackendError(f"the package has no stub for Python {version}; use Python 3.11")
    backend = folder / "backends" / "python"
    backend.mkdir(parents=True)
    for file in [*(package() / "backends" / "python").iterdir(), stub]:
        (backend / file.name).symlink_to(file)
    return backend.parent


def library_path() -> str:
    """The folders of the libraries that the stub loads. It must be this very Python's libpython:
    another build of the same version starts, and fails later in its standard library."""
    folder = Path(sysconfig.get_config_var("LIBDIR") or "/usr/lib")
    multiarch = folder / str(sysconfig.get_config_var("MULTIARCH") or "")
    name = f"libpython{sys.version_info.major}.{sys.version_info.minor}.so.1.0"
    for candidate in (folder, multiarch):
        if (candidate / name).exists():
            return f"{candidate}:{package().parents[1] / 'nvidia_pytriton.libs'}"
    raise BackendError(f"no {name} in {folder}; install Debian's libpython3.11")


def check_shared_memory(folder: Path = Path("/dev/shm")) -> None:  # noqa: S108
    """Raise BackendError unless the models' processes can talk to the server."""
    try:
        room = os.statvfs(folder)
    except OSError as error:
        raise BackendError(f"{folder}: {error.strerror}; mount a tmpfs there") from None
    if room.f_bavail * room.f_frsize < _SHM_NEEDED:
        raise BackendError(
            f"{folder} has less than {_SHM_NEEDED >> 20} MiB free; mount a larger tmpfs there"
        )


def command(settings: Settings, backends: Path, shm_prefix: str) -> list[str]:
    """The server's command line: gRPC only, what no caller needs behind a random key."""
    return [
        str(package() / "bin" / "tritonserver"),
        f"--model-repository={MODELS}",
        f"--backend-directory={backends}",
        "--allow-http=false",
        f"--grpc-address={settings.host}",
        f"--grpc-port={settings.grpc_port}",
        "--grpc-restricted-protocol=model-repository,shared-memory,trace,logging:"
        f"switchyard={secrets.token_hex(16)}",
        "--allow-metrics=true",
        "--metrics-address=127.0.0.1",
        f"--metrics-port={settings.metrics_port}",
        "--allow-gpu-metrics=false",
        "--pinned-memory-pool-byte-size=0",
        "--disable-auto-complete-config",
        "--exit-timeout-secs=15",
        "--log-info=false",
        f"--backend-config=python,shm-region-prefix-name={shm_prefix}",
        f"--backend-config=python,shm-default-byte-size={_SHM_BYTES}",
        f"--backend-config=python,shm-growth-byte-size={_SHM_BYTES}",
    ]


def environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """The server's environment: its libraries, this Python, this code, one BLAS thread each."""
    paths = [str(ROOT), inherited.get("PYTHONPATH", "")]
    return {
        **inherited,
        "PATH": f"{Path(sys.executable).parent}:{inherited.get('PATH', '/usr/bin:/bin')}",
        "LD_LIBRARY_PATH": library_path(),
        "PYTHONPATH": ":".join(path for path in paths if path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
