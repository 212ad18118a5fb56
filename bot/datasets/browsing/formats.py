"""Recognizes formats of files that are not text by how they begin."""

from typing import Final, NamedTuple


class _Sign(NamedTuple):
    """Bytes at a place of a file that only one format has there."""

    said: str
    magic: bytes
    at: int = 0


# A format that is also the container of others comes after them.
_SIGNS: Final = (
    _Sign("a PNG image", b"\x89PNG\r\n\x1a\n"),
    _Sign("a JPEG image", b"\xff\xd8\xff"),
    _Sign("a GIF image", b"GIF87a"),
    _Sign("a GIF image", b"GIF89a"),
    _Sign("a TIFF image", b"II*\x00"),
    _Sign("a TIFF image", b"MM\x00*"),
    _Sign("a BigTIFF image", b"II+\x00"),
    _Sign("a BigTIFF image", b"MM\x00+"),
    _Sign("a WebP image", b"WEBP", 8),
    _Sign("a JPEG 2000 image", b"\x00\x00\x00\x0cjP  \r\n\x87\n"),
    _Sign("an OpenEXR image", b"v/1\x01"),
    _Sign("a DICOM image", b"DICM", 128),
    _Sign("a NIfTI image", b"n+1\x00", 344),
    _Sign("a WAV sound", b"WAVE", 8),
    _Sign("an AVI video", b"AVI ", 8),
    _Sign("a FLAC sound", b"fLaC"),
    _Sign("an MP3 sound", b"ID3"),
    _Sign("an Ogg file", b"OggS"),
    _Sign("an MP4 or QuickTime video", b"ftyp", 4),
    _Sign("a Matroska or WebM video", b"\x1aE\xdf\xa3"),
    _Sign("a PDF document", b"%PDF-"),
    _Sign("a NumPy array", b"\x93NUMPY"),
    _Sign("a Parquet file", b"PAR1"),
    _Sign("an Arrow file", b"ARROW1\x00\x00"),
    _Sign("an Avro file", b"Obj\x01"),
    _Sign("an ORC file", b"ORC"),
    _Sign("an HDF5 file", b"\x89HDF\r\n\x1a\n"),
    _Sign("a NetCDF file", b"CDF\x01"),
    _Sign("a NetCDF file", b"CDF\x02"),
    _Sign("a MATLAB file", b"MATLAB 5.0 MAT-file"),
    _Sign("an SQLite database", b"SQLite format 3\x00"),
    _Sign("a GGUF model", b"GGUF"),
    _Sign("a safetensors model", b'{"', 8),
    _Sign("a Python pickle", b"\x80\x02"),
    _Sign("a Python pickle", b"\x80\x03"),
    _Sign("a Python pickle", b"\x80\x04\x95"),
    _Sign("a Python pickle", b"\x80\x05\x95"),
    _Sign(
        "a ZIP archive, or made of one like .npz, .pt and .xlsx",
        b"PK\x03\x04",
    ),
    _Sign("a ZIP archive", b"PK\x05\x06"),
    _Sign("a tar archive", b"ustar", 257),
    _Sign("a gzip file", b"\x1f\x8b"),
    _Sign("a bzip2 file", b"BZh"),
    _Sign("an xz file", b"\xfd7zXZ\x00"),
    _Sign("a Zstandard file", b"\x28\xb5\x2f\xfd"),
    _Sign("an LZ4 file", b"\x04\x22\x4d\x18"),
    _Sign("a 7-Zip archive", b"7z\xbc\xaf\x27\x1c"),
    _Sign("a RAR archive", b"Rar!\x1a\x07"),
    _Sign("an ELF program", b"\x7fELF"),
    _Sign("a WebAssembly program", b"\x00asm"),
)
# Text may begin like these, so they count only for what is not text.
_ALSO_TEXT: Final = frozenset(
    {b"ID3", b"ORC", b"BZh", b"PAR1", b"GGUF", b"OggS", b"fLaC", b"ustar", b"DICM", b"ftyp",
     b"WEBP", b"WAVE", b"AVI ", b'{"', b"MATLAB 5.0 MAT-file", b"GIF87a", b"GIF89a"}
)  # fmt: skip


def format_of(begin: bytes, *, is_text: bool = False) -> str | None:
    """What a file is that begins like this, with an article; None if unknown.

    Of what can be read as text, only formats count as which no text begins.
    """
    for sign in _SIGNS:
        if is_text and sign.magic in _ALSO_TEXT:
            continue
        if begin.startswith(sign.magic, sign.at):
            return sign.said
    return None
