import hashlib
import os
from pathlib import Path

import pytest

from apps.engine.digest import digest
from apps.engine.errors import BadArtefact
from apps.engine.gguf import Gguf
from apps.engine.model import Model, default_trust
from apps.engine.verify import read_trust
from tests.unit.engine.signed_model import Signed, keys


def refusal(signed: Signed, signature: Path | None = None) -> str:
    with pytest.raises(BadArtefact) as caught:
        Model.open(signed.model, read_trust(signed.public, signature))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_model_that_openssl_signed_is_trusted(signed: Signed) -> None:
    assert signed.openssl_says()
    found = Model.open(signed.model, read_trust(signed.public, None)).file.digest
    assert found
    assert found.value == hashlib.sha3_512(signed.model.read_bytes()).digest()
    assert found.seconds > 0


def test_a_model_has_a_name_of_its_own(signed: Signed, tiny_path: Path) -> None:
    unverified = Model.open(signed.model).digest
    assert unverified == Model.open(signed.model).digest != Model.open(tiny_path).digest
    os.utime(signed.model, (1, 1))
    assert Model.open(signed.model).digest != unverified
    verified = Model.open(signed.model, read_trust(signed.public, None)).digest
    assert verified == hashlib.sha3_512(tiny_path.read_bytes()).digest()


def test_every_changed_byte_is_noticed(signed: Signed) -> None:
    data = signed.model.read_bytes()
    for place in (0, 5, len(data) // 2, len(data) - 1):
        changed = bytearray(data)
        changed[place] ^= 1
        signed.model.write_bytes(changed)
        assert not signed.openssl_says()
        assert str(signed.signature) in refusal(signed)
    signed.model.write_bytes(data + b"\0")
    assert str(signed.signature) in refusal(signed)


def test_a_foreign_key_is_no_trust(signed: Signed, tmp_path: Path) -> None:
    (tmp_path / "foreign").mkdir()
    _, public = keys(tmp_path / "foreign")
    with pytest.raises(BadArtefact, match="another key than the trusted one"):
        Model.open(signed.model, read_trust(public, None))


def test_a_missing_signature_is_named(signed: Signed) -> None:
    signed.signature.unlink()
    assert f"{signed.signature}: No such file" in refusal(signed)


@pytest.mark.parametrize("data", [b"", bytes(63), bytes(65), b"LS0t" * 22])
def test_a_file_that_is_no_signature_is_named(signed: Signed, data: bytes) -> None:
    signed.signature.write_bytes(data)
    assert f"{signed.signature}: not a signature" in refusal(signed)


def test_a_signature_may_lie_elsewhere(signed: Signed, tmp_path: Path) -> None:
    elsewhere = signed.signature.rename(tmp_path / "elsewhere")
    assert Model.open(signed.model, read_trust(signed.public, elsewhere)).file.digest


@pytest.mark.parametrize("kind", ["private", "rsa", "text", "missing", "folder"])
def test_what_is_no_public_key_is_refused(signed: Signed, tmp_path: Path, kind: str) -> None:
    key = tmp_path / kind
    if kind == "private":
        key = signed.private
    elif kind == "rsa":
        key.mkdir()
        key = keys(key, "rsa")[1]
    elif kind == "text":
        key.write_text("ssh-ed25519 AAAA")
    elif kind == "folder":
        key.mkdir()
    with pytest.raises(BadArtefact, match="public key") as caught:
        read_trust(key, None)
    assert str(key) in str(caught.value)


def test_the_environment_says_whom_to_trust(
    signed: Signed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert default_trust() is None
    monkeypatch.setenv("ENGINE_MODEL_SIGNATURE", str(signed.signature.rename(tmp_path / "s")))
    with pytest.raises(BadArtefact, match="set ENGINE_MODEL_KEY"):
        default_trust()
    monkeypatch.setenv("ENGINE_MODEL_KEY", str(signed.public))
    assert Model.open(signed.model, default_trust()).file.digest


def test_the_file_that_was_verified_is_the_one_that_is_mapped(
    signed: Signed, tmp_path: Path
) -> None:
    """Another file under the name, put there right after the verification, is not looked at."""
    trust = read_trust(signed.public, None)
    data = signed.model.read_bytes()

    def swap(descriptor: int, path: str) -> object:
        found = trust(descriptor, path)
        other = tmp_path / "other"
        other.write_bytes(bytes(len(data)))
        other.rename(signed.model)
        return found

    file = Gguf(signed.model, swap)  # type: ignore[arg-type]
    assert signed.model.read_bytes()[:4] == bytes(4)
    assert file.metadata["general.architecture"] == "llama"
    tensor = file.tensors["output_norm.weight"]
    assert tensor.raw.tobytes() == data[tensor.offset : tensor.offset + tensor.raw.size]


def test_a_file_that_grows_while_it_is_hashed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(10))
    descriptor = os.open(path, os.O_RDONLY)
    size = os.fstat(descriptor)
    monkeypatch.setattr(os, "fstat", lambda _: size)
    path.write_bytes(bytes(11))
    with pytest.raises(BadArtefact, match="10 bytes and then 11"):
        digest(descriptor, str(path))
    os.close(descriptor)
