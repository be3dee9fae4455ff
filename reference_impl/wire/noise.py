"""Noise XX and NK with 25519, ChaChaPoly and BLAKE2s (Noise Protocol Framework, revision 34; CDC-002).

Sans-IO: messages in, messages out, without the length that goes before each on a socket.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2s
from typing import Literal

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from reference_impl.wire.errors import NoiseError
from reference_impl.wire.frames import KEY_BYTES, MAX_FRAME_PLAINTEXT, MAX_NOISE_MESSAGE, NOISE_TAG

MAX_NONCE = 2**64 - 1
"""Never used: the framework reserves it."""

_NONCE_ZEROS = bytes(4)
Token = Literal["e", "s", "ee", "es", "se"]


@dataclass(frozen=True, slots=True)
class KeyPair:
    """An X25519 key pair, 32 bytes each."""

    private: bytes = field(repr=False)
    public: bytes
    _loaded: X25519PrivateKey | None = field(default=None, repr=False, compare=False)
    """The private key ready for use, which takes longer to make than to use."""

    @classmethod
    def generate(cls) -> KeyPair:
        return cls._of(X25519PrivateKey.generate())

    @classmethod
    def from_private(cls, private: bytes) -> KeyPair:
        """Raises NoiseError unless `private` has 32 bytes."""
        if len(private) != KEY_BYTES:
            raise NoiseError(f"A private key has {KEY_BYTES} bytes, not {len(private)}.")
        return cls._of(X25519PrivateKey.from_private_bytes(private))

    @classmethod
    def _of(cls, key: X25519PrivateKey) -> KeyPair:
        return cls(key.private_bytes_raw(), key.public_key().public_bytes_raw(), key)

    def shared(self, remote: bytes) -> bytes:
        """The secret with the owner of a 32-byte public key. Raises NoiseError if there can be none."""
        own = self._loaded or X25519PrivateKey.from_private_bytes(self.private)
        try:
            return own.exchange(X25519PublicKey.from_public_bytes(remote))
        except ValueError:
            raise NoiseError("The other side's key is one with which no secret can be shared.") from None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A handshake pattern: the tokens of each message, the initiator's first."""

    name: str
    messages: tuple[tuple[Token, ...], ...]
    responder_key_known: bool

    @property
    def protocol(self) -> bytes:
        return f"Noise_{self.name}_25519_ChaChaPoly_BLAKE2s".encode("ascii")


XX = Pattern("XX", (("e",), ("e", "ee", "s", "es"), ("s", "se")), responder_key_known=False)
NK = Pattern("NK", (("e", "es"), ("e", "ee")), responder_key_known=True)


class CipherState:
    """One direction of traffic: a key, and the number of the next message, under which it is encrypted."""

    __slots__ = ("_cipher", "_next")

    def __init__(self, key: bytes) -> None:
        self._cipher = ChaCha20Poly1305(key)
        self._next = 0

    def encrypt(self, plaintext: bytes, associated_data: bytes | None = None) -> bytes:
        """The ciphertext and its 16-byte tag. Raises NoiseError if this direction is used up."""
        return self._cipher.encrypt(self._nonce(), plaintext, associated_data)

    def decrypt(self, ciphertext: bytes | bytearray, associated_data: bytes | None = None) -> bytes:
        """Raises NoiseError unless it is the very next message of the other side, whole and unchanged."""
        try:
            plaintext = self._cipher.decrypt(self._nonce(), ciphertext, associated_data)
        except InvalidTag:
            self._next -= 1
            raise NoiseError(
                f"Message {self._next} of {len(ciphertext)} bytes does not authenticate: it was changed, repeated, "
                "left out before, or made with another key."
            ) from None
        return plaintext

    def _nonce(self) -> bytes:
        number = self._next
        if number == MAX_NONCE:
            raise NoiseError("This direction of the session has sent all messages that its key allows.")
        self._next = number + 1
        return _NONCE_ZEROS + number.to_bytes(8, "little")


class Transport:
    """What a handshake ends in: two directions, one frame a message."""

    __slots__ = ("_receiving", "_sending")

    def __init__(self, sending: CipherState, receiving: CipherState) -> None:
        self._sending = sending
        self._receiving = receiving

    def encrypt(self, plaintext: bytes) -> bytes:
        """The next message to send. Raises NoiseError above MAX_FRAME_PLAINTEXT bytes."""
        if len(plaintext) > MAX_FRAME_PLAINTEXT:
            raise NoiseError(f"A message carries at most {MAX_FRAME_PLAINTEXT} bytes; here are {len(plaintext)}.")
        return self._sending.encrypt(plaintext)

    def decrypt(self, message: bytes | bytearray) -> bytes:
        """The plaintext of the next message received. Raises NoiseError."""
        if len(message) < NOISE_TAG:
            raise NoiseError(
                f"A message of {len(message)} bytes is shorter than the tag of {NOISE_TAG} that it ends with."
            )
        return self._receiving.decrypt(message)


class Handshake:
    """One side of a handshake. Call `write_message` and `read_message` in turn until `finished`, then `transport`.

    `static` is this side's long-term key (both sides of XX, the responder of NK), `remote_static` the responder's key,
    which the initiator of NK knows. `ephemeral` is fresh unless a test fixes it.
    """

    def __init__(  # noqa: PLR0913 - the arguments that the framework gives its Initialize
        self,
        pattern: Pattern,
        *,
        initiator: bool,
        static: KeyPair | None = None,
        remote_static: bytes | None = None,
        prologue: bytes = b"",
        ephemeral: KeyPair | None = None,
    ) -> None:
        self._pattern = pattern
        self._initiator = initiator
        self._static = static
        self._ephemeral = ephemeral
        self._remote_ephemeral = b""
        self.remote_static = remote_static
        """The other side's long-term key once it is known, else `None`."""
        self._step = 0
        self._symmetric = _Symmetric(pattern.protocol, prologue)
        if pattern.responder_key_known:
            known = remote_static if initiator else self._own("static key").public
            self._symmetric.mix_hash(_checked_key(known, "the responder's static key"))

    @property
    def finished(self) -> bool:
        return self._step == len(self._pattern.messages)

    @property
    def my_turn(self) -> bool:
        """Whether the next message is this side's to write."""
        return not self.finished and (self._step % 2 == 0) == self._initiator

    @property
    def handshake_hash(self) -> bytes:
        """The hash of everything that both sides have seen, 32 bytes; names the session once `finished`."""
        return self._symmetric.hash

    def write_message(self, payload: bytes = b"") -> bytes:
        """This side's next message. Raises NoiseError out of turn or if it would not fit."""
        parts = [_WRITE[token](self, token) for token in self._tokens(mine=True)]
        parts.append(self._symmetric.encrypt(payload))
        self._step += 1
        message = b"".join(parts)
        if len(message) > MAX_NOISE_MESSAGE:
            raise NoiseError(
                f"A Noise message has at most {MAX_NOISE_MESSAGE} bytes; this one would have {len(message)}."
            )
        return message

    def read_message(self, message: bytes) -> bytes:
        """The payload of the other side's next message. Raises NoiseError; the handshake is then of no more use."""
        tokens = self._tokens(mine=False)
        rest = message
        for token in tokens:
            rest = _READ[token](self, token, rest)
        payload = self._symmetric.decrypt(rest, f"the payload of handshake message {self._step + 1}")
        self._step += 1
        return payload

    def transport(self) -> Transport:
        """Raises NoiseError before the handshake is `finished`."""
        if not self.finished:
            raise NoiseError(f"The handshake stands at message {self._step + 1} of {len(self._pattern.messages)}.")
        first, second = self._symmetric.split()
        return Transport(first, second) if self._initiator else Transport(second, first)

    def _tokens(self, *, mine: bool) -> tuple[Token, ...]:
        if self.finished or self.my_turn is not mine:
            does = "written" if mine else "read"
            raise NoiseError(
                f"No handshake message is to be {does} now: {self._step} of {len(self._pattern.messages)} are done."
            )
        return self._pattern.messages[self._step]

    def _own(self, which: str) -> KeyPair:
        pair = self._static if which == "static key" else self._ephemeral
        if pair is None:
            raise NoiseError(f"This side of {self._pattern.name} needs its {which}.")
        return pair

    # -- tokens: `write` gives the bytes that the token adds, `read` what is left of the message behind it

    def _write_ephemeral(self, _token: Token) -> bytes:
        if self._ephemeral is None:
            self._ephemeral = KeyPair.generate()
        self._symmetric.mix_hash(self._ephemeral.public)
        return self._ephemeral.public

    def _write_static(self, _token: Token) -> bytes:
        return self._symmetric.encrypt(self._own("static key").public)

    def _write_dh(self, token: Token) -> bytes:
        self._mix(token)
        return b""

    def _read_ephemeral(self, _token: Token, rest: bytes) -> bytes:
        self._remote_ephemeral = _checked_key(rest[:KEY_BYTES], "the ephemeral key in a handshake message")
        self._symmetric.mix_hash(self._remote_ephemeral)
        return rest[KEY_BYTES:]

    def _read_static(self, _token: Token, rest: bytes) -> bytes:
        size = KEY_BYTES + NOISE_TAG
        self.remote_static = self._symmetric.decrypt(rest[:size], "the static key in a handshake message")
        _checked_key(self.remote_static, "the static key in a handshake message")
        return rest[size:]

    def _read_dh(self, token: Token, rest: bytes) -> bytes:
        self._mix(token)
        return rest

    def _mix(self, token: Token) -> None:
        """`es` is the initiator's ephemeral with the responder's static key, whoever computes it."""
        mine, theirs = (token[0], token[1]) if self._initiator else (token[1], token[0])
        own = self._own("ephemeral key" if mine == "e" else "static key")
        remote = self._remote_ephemeral if theirs == "e" else self.remote_static
        self._symmetric.mix_key(own.shared(_checked_key(remote, "the other side's key")))


_WRITE: Mapping[Token, Callable[[Handshake, Token], bytes]] = {
    "e": Handshake._write_ephemeral,
    "s": Handshake._write_static,
    "ee": Handshake._write_dh,
    "es": Handshake._write_dh,
    "se": Handshake._write_dh,
}
_READ: Mapping[Token, Callable[[Handshake, Token, bytes], bytes]] = {
    "e": Handshake._read_ephemeral,
    "s": Handshake._read_static,
    "ee": Handshake._read_dh,
    "es": Handshake._read_dh,
    "se": Handshake._read_dh,
}


class _Symmetric:
    """Chaining key, hash and, after the first Diffie-Hellman, a cipher (section 5.2 of the framework)."""

    def __init__(self, protocol: bytes, prologue: bytes) -> None:
        self.hash = protocol.ljust(32, b"\0") if len(protocol) <= 32 else blake2s(protocol).digest()
        self._chaining_key = self.hash
        self._cipher: CipherState | None = None
        self.mix_hash(prologue)

    def mix_hash(self, data: bytes) -> None:
        self.hash = blake2s(self.hash + data).digest()

    def mix_key(self, secret: bytes) -> None:
        self._chaining_key, key = _hkdf(self._chaining_key, secret)
        self._cipher = CipherState(key)

    def encrypt(self, plaintext: bytes) -> bytes:
        text = self._cipher.encrypt(plaintext, self.hash) if self._cipher else plaintext
        self.mix_hash(text)
        return text

    def decrypt(self, text: bytes, what: str) -> bytes:
        plaintext = text
        if self._cipher:
            if len(text) < NOISE_TAG:
                raise NoiseError(f"The handshake message ends inside {what}.")
            try:
                plaintext = self._cipher.decrypt(text, self.hash)
            except NoiseError:
                raise NoiseError(
                    f"Cannot authenticate {what}: the two sides differ in key, prologue or in what was sent before."
                ) from None
        self.mix_hash(text)
        return plaintext

    def split(self) -> tuple[CipherState, CipherState]:
        first, second = _hkdf(self._chaining_key, b"")
        return CipherState(first), CipherState(second)


def _hkdf(chaining_key: bytes, secret: bytes) -> tuple[bytes, bytes]:
    temporary = _hmac(chaining_key, secret)
    first = _hmac(temporary, b"\x01")
    return first, _hmac(temporary, first + b"\x02")


def _hmac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, blake2s)


def _checked_key(key: bytes | None, what: str) -> bytes:
    if key is None:
        raise NoiseError(f"Missing: {what}.")
    if len(key) != KEY_BYTES:
        raise NoiseError(f"A key has {KEY_BYTES} bytes; {what} has {len(key)}.")
    return key
