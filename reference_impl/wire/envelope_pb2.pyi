from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Envelope(_message.Message):
    __slots__ = ("end_to_end_version", "recipient_pub", "ephemeral_pub", "ciphertext")
    END_TO_END_VERSION_FIELD_NUMBER: _ClassVar[int]
    RECIPIENT_PUB_FIELD_NUMBER: _ClassVar[int]
    EPHEMERAL_PUB_FIELD_NUMBER: _ClassVar[int]
    CIPHERTEXT_FIELD_NUMBER: _ClassVar[int]
    end_to_end_version: int
    recipient_pub: bytes
    ephemeral_pub: bytes
    ciphertext: bytes
    def __init__(self, end_to_end_version: _Optional[int] = ..., recipient_pub: _Optional[bytes] = ..., ephemeral_pub: _Optional[bytes] = ..., ciphertext: _Optional[bytes] = ...) -> None: ...
