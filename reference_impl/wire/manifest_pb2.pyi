from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Member(_message.Message):
    __slots__ = ("noise_pub", "signing_pub", "name")
    NOISE_PUB_FIELD_NUMBER: _ClassVar[int]
    SIGNING_PUB_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    noise_pub: bytes
    signing_pub: bytes
    name: str
    def __init__(self, noise_pub: _Optional[bytes] = ..., signing_pub: _Optional[bytes] = ..., name: _Optional[str] = ...) -> None: ...

class GroupManifest(_message.Message):
    __slots__ = ("group_id", "version", "parent", "members", "issued_by", "signature")
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    ISSUED_BY_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    group_id: bytes
    version: int
    parent: bytes
    members: _containers.RepeatedCompositeFieldContainer[Member]
    issued_by: bytes
    signature: bytes
    def __init__(self, group_id: _Optional[bytes] = ..., version: _Optional[int] = ..., parent: _Optional[bytes] = ..., members: _Optional[_Iterable[_Union[Member, _Mapping]]] = ..., issued_by: _Optional[bytes] = ..., signature: _Optional[bytes] = ...) -> None: ...
