"""The few ICU functions the table generator needs, called in the library that icu4py ships."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import icu4py
from icu4py._version import icu_version, icu_version_info

_MAJOR = icu_version_info[0]
_LIBS = Path(icu4py.__file__).parent.parent / "icu4py.libs"
_ERR = ctypes.POINTER(ctypes.c_int)

DEFAULT_IGNORABLE = 5  # UCHAR_DEFAULT_IGNORABLE_CODE_POINT in uchar.h
SCRIPT = 0x100A  # UCHAR_SCRIPT in uchar.h


def _load(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(next(_LIBS.glob(f"libicu{name}-*"))), mode=ctypes.RTLD_GLOBAL)


_DATA, _UC, _I18N = _load("data"), _load("uc"), _load("i18n")


def _ok(status: ctypes.c_int, what: str) -> None:
    if status.value > 0:
        raise RuntimeError(f"{what}: ICU error {status.value}")


def _bind(library: ctypes.CDLL, name: str, result: object, *arguments: object) -> Callable[..., int]:
    function = getattr(library, f"{name}_{_MAJOR}")
    function.restype = result
    function.argtypes = list(arguments)
    return function  # type: ignore[no-any-return]


def _u16(text: str) -> tuple[ctypes.Array[ctypes.c_uint16], int]:
    raw = text.encode("utf-16-le", "surrogatepass")
    return (ctypes.c_uint16 * (len(raw) // 2 + 1)).from_buffer_copy(raw + b"\0\0"), len(raw) // 2


def _str(buffer: ctypes.Array[ctypes.c_uint16], length: int) -> str:
    return bytes(buffer)[: 2 * length].decode("utf-16-le", "surrogatepass")


_spoof_open = _bind(_I18N, "uspoof_open", ctypes.c_void_p, _ERR)
_spoof_skeleton = _bind(
    _I18N, "uspoof_getSkeletonUTF8", ctypes.c_int,
    ctypes.c_void_p, ctypes.c_uint, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, _ERR,
)  # fmt: skip
_has_property = _bind(_UC, "u_hasBinaryProperty", ctypes.c_int8, ctypes.c_int32, ctypes.c_int)
_int_property = _bind(_UC, "u_getIntPropertyValue", ctypes.c_int32, ctypes.c_int32, ctypes.c_int)
_char_type = _bind(_UC, "u_charType", ctypes.c_int8, ctypes.c_int32)
_char_name = _bind(
    _UC, "u_charName", ctypes.c_int32, ctypes.c_int32, ctypes.c_int, ctypes.c_char_p, ctypes.c_int32, _ERR
)
_digit_value = _bind(_UC, "u_charDigitValue", ctypes.c_int32, ctypes.c_int32)
_to_upper = _bind(_UC, "u_toupper", ctypes.c_int32, ctypes.c_int32)
_unicode_version = _bind(_UC, "u_getUnicodeVersion", None, ctypes.c_uint8 * 4)
_script_name = _bind(_UC, "uscript_getShortName", ctypes.c_void_p, ctypes.c_int)
_nfkc_casefold = _bind(_UC, "unorm2_getNFKCCasefoldInstance", ctypes.c_void_p, _ERR)
_nfkd = _bind(_UC, "unorm2_getNFKDInstance", ctypes.c_void_p, _ERR)
_normalize = _bind(
    _UC, "unorm2_normalize", ctypes.c_int32,
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32, _ERR,
)  # fmt: skip
_trans_open = _bind(
    _I18N, "utrans_openU", ctypes.c_void_p,
    ctypes.c_void_p, ctypes.c_int32, ctypes.c_int, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p, _ERR,
)  # fmt: skip
_trans_run = _bind(
    _I18N, "utrans_transUChars", None,
    ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32), ctypes.c_int32, ctypes.c_int32,
    ctypes.POINTER(ctypes.c_int32), _ERR,
)  # fmt: skip

CATEGORIES = [
    "Cn",
    "Lu",
    "Ll",
    "Lt",
    "Lm",
    "Lo",
    "Mn",
    "Me",
    "Mc",
    "Nd",
    "Nl",
    "No",
    "Zs",
    "Zl",
    "Zp",
    "Cc",
    "Cf",
    "Co",
    "Cs",
    "Pd",
    "Ps",
    "Pe",
    "Pc",
    "Po",
    "Sm",
    "Sc",
    "Sk",
    "So",
    "Pi",
    "Pf",
]


def _handle(opener: Callable[..., int], *arguments: object) -> int:
    status = ctypes.c_int(0)
    handle = opener(*arguments, ctypes.byref(status))
    _ok(status, "open")
    return handle


_SPOOF = _handle(_spoof_open)
_FOLDER = _handle(_nfkc_casefold)
_DECOMPOSER = _handle(_nfkd)


def version() -> str:
    """The ICU version, such as ``78.3``."""
    return icu_version


def unicode_version() -> str:
    """The Unicode version of ICU's data, such as ``17.0.0``."""
    parts = (ctypes.c_uint8 * 4)()
    _unicode_version(parts)
    return ".".join(str(part) for part in parts[:3])


def skeleton(text: str) -> str:
    """UTS 39 skeleton: what the text looks like, as prototypes of confusables.txt."""
    status, buffer = ctypes.c_int(0), ctypes.create_string_buffer(1024)
    length = _spoof_skeleton(_SPOOF, 0, text.encode(), -1, buffer, 1024, ctypes.byref(status))
    _ok(status, "skeleton")
    return buffer.raw[:length].decode()


def _normalized(handle: int, text: str) -> str:
    source, length = _u16(text)
    target, status = (ctypes.c_uint16 * 256)(), ctypes.c_int(0)
    size = _normalize(handle, source, length, target, 256, ctypes.byref(status))
    _ok(status, "normalize")
    return _str(target, size)


def nfkc_casefold(text: str) -> str:
    """NFKC_Casefold: compatibility forms composed, case folded, default ignorables removed."""
    return _normalized(_FOLDER, text)


def nfkd(text: str) -> str:
    """Compatibility decomposition."""
    return _normalized(_DECOMPOSER, text)


def transliterator(name: str) -> Callable[[str], str]:
    """One of ICU's own transliterators, such as ``Latin-ASCII``."""
    identifier, size = _u16(name)
    handle = _handle(_trans_open, identifier, size, 0, None, 0, None)

    def run(text: str) -> str:
        source, length = _u16(text)
        buffer = (ctypes.c_uint16 * 256)(*source)
        count, limit, status = ctypes.c_int32(length), ctypes.c_int32(length), ctypes.c_int(0)
        _trans_run(handle, buffer, ctypes.byref(count), 256, 0, ctypes.byref(limit), ctypes.byref(status))
        _ok(status, name)
        return _str(buffer, count.value)

    return run


def category(point: int) -> str:
    """General category, such as ``Lu``."""
    return CATEGORIES[_char_type(point)]


def char_name(point: int) -> str:
    """Unicode name, or an empty string."""
    status, buffer = ctypes.c_int(0), ctypes.create_string_buffer(256)
    length = _char_name(point, 0, buffer, 256, ctypes.byref(status))
    return buffer.raw[:length].decode()


def script(point: int) -> str:
    """Four-letter script code, such as ``Latn``; ``Zinh`` for inherited, ``Zyyy`` for common."""
    return str(ctypes.string_at(_script_name(_int_property(point, SCRIPT))).decode()) if point >= 0 else ""


def is_ignorable(point: int) -> bool:
    """Whether the code point is invisible by default (zero width joiners, variation selectors ...)."""
    return bool(_has_property(point, DEFAULT_IGNORABLE))


def digit(point: int) -> int:
    """Decimal digit value, or -1."""
    return _digit_value(point)


def upper(point: int) -> int:
    """Simple uppercase mapping."""
    return _to_upper(point)
