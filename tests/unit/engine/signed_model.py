"""A model and its signature, made by openssl with the commands in apps/engine/verify.py."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


def openssl(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True)


def keys(folder: Path, algorithm: str = "ed25519") -> tuple[Path, Path]:
    """The files of a new private and public key."""
    private, public = folder / "model.key", folder / "model.pub"
    openssl("genpkey", "-algorithm", algorithm, "-out", private).check_returncode()
    openssl("pkey", "-in", private, "-pubout", "-out", public).check_returncode()
    return private, public


@dataclass(frozen=True)
class Signed:
    """The four files."""

    model: Path
    private: Path
    public: Path
    signature: Path

    def openssl_says(self) -> bool:
        """Whether openssl verifies the signature."""
        verify = ("-verify", "-rawin", "-pubin", "-inkey", self.public, "-in", _digest(self.model))
        return openssl("pkeyutl", *verify, "-sigfile", self.signature).returncode == 0


def sign(folder: Path, data: bytes) -> Signed:
    """`data` as a model in `folder`, signed with a new key."""
    model, signature = folder / "model.gguf", folder / "model.gguf.sig"
    model.write_bytes(data)
    private, public = keys(folder)
    make = ("-sign", "-rawin", "-inkey", private, "-in", _digest(model), "-out", signature)
    openssl("pkeyutl", *make).check_returncode()
    return Signed(model, private, public, signature)


def _digest(model: Path) -> Path:
    found = model.with_name("digest")
    openssl("dgst", "-sha3-512", "-binary", "-out", found, model).check_returncode()
    return found
