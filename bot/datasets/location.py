"""Places in object stores: s3://bucket/folder/."""

from typing import NamedTuple


class Location(NamedTuple):
    """A bucket and a prefix of its keys, which ends with a slash or is empty."""

    bucket: str
    prefix: str
    scheme: str = "s3"

    @classmethod
    def of(cls, url: str) -> "Location":
        """The place that `s3://bucket/folder/` names."""
        scheme, _, place = url.partition("://")
        bucket, _, prefix = place.partition("/")
        prefix = prefix.strip("/")
        return cls(bucket, f"{prefix}/" if prefix else "", scheme)

    @property
    def url(self) -> str:
        """The place as it is written."""
        return f"{self.scheme}://{self.bucket}/{self.prefix}"

    def below(self, *folders: str) -> "Location":
        """A folder in it."""
        return self._replace(prefix=self.prefix + "".join(f"{each}/" for each in folders))

    def holds(self, other: "Location") -> bool:
        """Whether the other place is this one or in it."""
        return self.scheme == other.scheme and _holds(self, other)


def overlap(one: str, other: str) -> bool:
    """Whether one of two places is in the other.

    Buckets of one name count as the same, whatever the scheme: Cloud Storage speaks S3, too.
    """
    left, right = Location.of(one), Location.of(other)
    return _holds(left, right) or _holds(right, left)


def _holds(one: Location, other: Location) -> bool:
    return one.bucket == other.bucket and other.prefix.startswith(one.prefix)
