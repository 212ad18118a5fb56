"""Places in object stores: s3://bucket/folder/."""

from typing import NamedTuple

SCHEME = "s3://"


class Location(NamedTuple):
    """A bucket and a prefix of its keys, which ends with a slash or is empty."""

    bucket: str
    prefix: str

    @classmethod
    def of(cls, url: str) -> "Location":
        """The place that `s3://bucket/folder/` names."""
        bucket, _, prefix = url.removeprefix(SCHEME).partition("/")
        prefix = prefix.strip("/")
        return cls(bucket, f"{prefix}/" if prefix else "")

    @property
    def url(self) -> str:
        """The place as it is written."""
        return f"{SCHEME}{self.bucket}/{self.prefix}"

    def below(self, *folders: str) -> "Location":
        """A folder in it."""
        return Location(self.bucket, self.prefix + "".join(f"{each}/" for each in folders))

    def holds(self, other: "Location") -> bool:
        """Whether the other place is this one or in it."""
        return self.bucket == other.bucket and other.prefix.startswith(self.prefix)


def overlap(one: str, other: str) -> bool:
    """Whether one of two places is in the other; buckets of one name count as the same."""
    left, right = Location.of(one), Location.of(other)
    return left.holds(right) or right.holds(left)
