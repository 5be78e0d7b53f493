"""That a model file is the one that was signed.

The signature is a file of 64 bytes: Ed25519 over the 64 bytes of the model's SHA3-512.
OpenSSL 3 makes and verifies the same:

    openssl genpkey -algorithm ed25519 -out model.key
    openssl pkey -in model.key -pubout -out model.pub
    openssl dgst -sha3-512 -binary -out digest model.gguf
    openssl pkeyutl -sign -rawin -inkey model.key -in digest -out model.gguf.sig
    openssl pkeyutl -verify -rawin -pubin -inkey model.pub -in digest -sigfile model.gguf.sig
"""

import os
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from apps.engine.digest import Digest, digest
from apps.engine.errors import BadArtefact

_SIGNATURE_BYTES = 64
_MAX_KEY_BYTES = 4096


@dataclass(frozen=True)
class Trust:
    """Whose models are computed with; the signature is FILE.sig unless it is named."""

    key: Ed25519PublicKey
    signature: Path | None = None

    def __call__(self, descriptor: int, path: str) -> Digest:
        """The digest of the open model. Errors: `BadArtefact` if it is not the signed one."""
        where = self.signature or Path(path + ".sig")
        signature = _read(where, _SIGNATURE_BYTES, "sign the model, or name its signature")
        if len(signature) != _SIGNATURE_BYTES:
            raise BadArtefact(
                f"{where}: not a signature of {_SIGNATURE_BYTES} bytes; sign the model again"
            )
        found = digest(descriptor, path)
        try:
            self.key.verify(signature, found.value)
        except InvalidSignature:
            raise BadArtefact(
                f"{path}: not what {where} was made for, or by another key than the trusted one;"
                " fetch the file and its signature again, or correct the key"
            ) from None
        return found


def read_trust(key: str | os.PathLike[str], signature: str | os.PathLike[str] | None) -> Trust:
    """The trust in a public key's PEM file. Errors: `BadArtefact` for any other file."""
    data = _read(Path(key), _MAX_KEY_BYTES, "name the file of the public key")
    try:
        found = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        found = None
    if not isinstance(found, Ed25519PublicKey):
        raise BadArtefact(
            f"{os.fspath(key)}: not an Ed25519 public key in PEM; make it with openssl pkey -pubout"
        )
    return Trust(found, Path(signature) if signature else None)


def _read(path: Path, limit: int, advice: str) -> bytes:
    """The file's bytes, at most one more than `limit`."""
    try:
        with path.open("rb") as file:
            return file.read(limit + 1)
    except OSError as error:
        raise BadArtefact(f"{path}: {error.strerror}; {advice}") from None
