"""Kinds of container parameters: image, CPU, memory, variables, volumes, code."""

import re
import shlex
from typing import NamedTuple

from bot.slack.grammar.parameters import Pattern, matched

_LONGEST_SWEPT = 100


class ImageReference(Pattern):
    """A container image with an optional registry, tag and digest."""

    word = "IMAGE"
    rule = re.compile(
        r"(?=.{1,255}\Z)(?:[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]{1,5})?/)?"
        r"[a-z0-9]+(?:[._/-]+[a-z0-9]+)*"
        r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
    )
    form = "a container image such as `registry/project/name:tag`"
    example = "ghcr.io/acme/lane:3.1"


class CpuQuantity(Pattern):
    """Processor cores, whole or in thousandths, as Kubernetes writes them."""

    word = "CPU"
    rule = re.compile(r"(?=.*[1-9])[0-9]{1,6}(?:\.[0-9]{1,3}|m)?")
    form = "CPU cores such as `8`, `0.5` or `500m`"
    example = "8"


class MemoryQuantity(Pattern):
    """An amount of memory with its unit; a bare number would mean bytes and is refused."""

    word = "SIZE"
    rule = re.compile(r"(?=.*[1-9])[0-9]{1,9}(?:\.[0-9]{1,3})?(?:[KMGTP]i|[kMGTP])")
    form = "an amount with its unit such as `512Mi`, `64Gi` or `1.5Ti`"
    example = "64Gi"


class EnvironmentVariable(NamedTuple):
    """A variable of the container's environment."""

    name: str
    value: str


class EnvironmentPair:
    """`NAME=VALUE` for a container's environment; the value may be empty."""

    word = "NAME=VALUE"
    form = "`NAME=VALUE`; NAME has letters, digits and `_` and does not begin with a digit"
    example = "BATCH_SIZE=33"
    rule = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,127})=(.*)", re.DOTALL)

    def read(self, text: str) -> EnvironmentVariable:
        """The name and the value."""
        return EnvironmentVariable(*matched(self.rule, text).groups())


class SweptParameter(NamedTuple):
    """A parameter of a sweep, and its values."""

    name: str
    values: tuple[str, ...]

    @property
    def variable(self) -> str:
        """The environment variable that holds its value in each run."""
        return f"SWEEP_{self.name.upper()}"


class SweptValues:
    """A parameter of a sweep with its values: `lr=0.1,0.01`."""

    word = "NAME=VALUE,VALUE"
    form = "a name and its values such as `lr=0.1,0.01`, with commas between them"
    example = "lr=0.1,0.01"
    rule = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,29})=([^\x00-\x1f]+)")

    def read(self, text: str) -> SweptParameter:
        """The name and the values, without spaces around them."""
        name, values = matched(self.rule, text).groups()
        found = tuple(each.strip() for each in values.split(","))
        if not all(0 < len(each) <= _LONGEST_SWEPT for each in found):
            raise ValueError(text)
        return SweptParameter(name, found)


class SecretReference(NamedTuple):
    """A variable whose value is one key of a Secret in the team's namespace."""

    name: str
    secret: str
    key: str


class SecretPair:
    """`NAME=secret/key`: a variable taken from a Secret, never written down here."""

    word = "NAME=SECRET/KEY"
    form = "`NAME=secret/key`: a variable, and the Secret and key that hold its value"
    example = "WANDB_API_KEY=wandb/api-key"
    rule = re.compile(
        r"([A-Za-z_][A-Za-z0-9_]{0,127})="
        r"([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)/([A-Za-z0-9._-]{1,253})"
    )

    def read(self, text: str) -> SecretReference:
        """The variable, the Secret and the key."""
        return SecretReference(*matched(self.rule, text).groups())


class VolumeMount(NamedTuple):
    """A PVC and its path in the container."""

    claim: str
    path: str
    read_only: bool


class NewVolume(NamedTuple):
    """A PVC to create: its storage class, its size, and its path in the container."""

    storage_class: str
    size: str
    path: str


class ClaimMount:
    """`claim:/path`, `claim:/path:ro` for reading only, or `class:100Gi:/path` for a new PVC."""

    word = "CLAIM:/PATH"
    form = (
        "`claim:/path`, `claim:/path:ro` for read-only access, or `storage-class:100Gi:/path` for a"
        " new PVC"
    )
    example = "imagenet:/data:ro"
    new = re.compile(
        r"([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)"
        r":((?=[^:]*[1-9])[0-9]{1,9}(?:\.[0-9]{1,3})?(?:[KMGTP]i|[kMGTP]))"
        r":(/[^:\s\x00]{1,1000})"
    )
    rule = re.compile(r"([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?):(/[^:\s\x00]{1,1000})(:ro|:rw)?")

    def read(self, text: str) -> VolumeMount | NewVolume:
        """The PVC, the path and whether it is read-only; or the PVC to create."""
        new = self.new.fullmatch(text)
        found: VolumeMount | NewVolume
        if new is not None:
            found = NewVolume(*new.groups())
        else:
            claim, path, mode = matched(self.rule, text).groups()
            found = VolumeMount(claim, path, read_only=mode == ":ro")
        if ".." in found.path.split("/"):
            raise ValueError(text)
        return found


class DataMount(NamedTuple):
    """A dataset, or one of its versions, and its path in the container."""

    reference: str
    path: str


class DatasetMount:
    """`chest-xray@v3:/data`, or `chest-xray:/data` for the newest version.

    `chest-xray@v3/train/:/data` is one folder of it.
    """

    word = "DATASET[@VERSION][/FOLDER]:/PATH"
    form = (
        "`dataset@version:/path`, `dataset:/path` for its newest version, or"
        " `dataset@version/folder/:/path` for one folder of it"
    )
    example = "chest-xray@v3:/data"
    rule = re.compile(
        r"([a-z0-9](?:[a-z0-9-]{0,28}[a-z0-9])?"
        r"(?:@[A-Za-z0-9](?:[A-Za-z0-9._-]{0,30}[A-Za-z0-9])?)?"
        r"(?:/[^:,\x00-\x1f]{1,400})?)"
        r":(/[^:\s\x00]{1,1000})"
    )

    def read(self, text: str) -> DataMount:
        """The dataset or version, and the path."""
        reference, path = matched(self.rule, text).groups()
        _, slash, folder = reference.partition("/")
        inner = folder.removesuffix("/").split("/") if slash else ()
        if ".." in path.split("/") or {"", ".", ".."} & set(inner):
            raise ValueError(text)
        return DataMount(reference, path)


class Artifact(NamedTuple):
    """A file or folder that a run writes, by its path in the containers."""

    path: str


class ArtifactPath:
    """The absolute path of a run's output, without a trailing slash."""

    word = "PATH"
    form = "an absolute path in the container, such as `/out/model.pt`"
    example = "/out/model.pt"
    rule = re.compile(r"(/[^/\s\x00]{1,255}){1,64}")

    def read(self, text: str) -> Artifact:
        """The path."""
        path = matched(self.rule, text.rstrip("/")).group()
        if {".", ".."} & set(path.split("/")):
            raise ValueError(text)
        return Artifact(path)


class FlavorName(Pattern):
    """A GPU type as the cluster names it: a ResourceFlavor, or a node pool of KAI."""

    word = "TYPE"
    rule = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?")
    form = "a GPU type as shown by `quota status`"
    example = "h100"


class CodeVersion(Pattern):
    """`REPO@COMMIT`: the code a run was started from, recorded with it."""

    word = "REPO@COMMIT"
    rule = re.compile(r"[A-Za-z0-9][\w.:/~-]{0,300}@[0-9a-fA-F]{7,40}", re.ASCII)
    form = "`REPO@COMMIT`, with at least 7 hex digits of the commit"
    example = "acme/lane@3f2a9c1"


class ShellWords:
    """A command in one word: quoted as a whole, split as a shell would."""

    word = "COMMAND"
    form = "a command in quotes such as `'bash serve.sh 22122'`"
    example = "'bash serve.sh 22122'"

    def read(self, text: str) -> tuple[str, ...]:
        """Its words."""
        words = tuple(shlex.split(text))
        if not words:
            raise ValueError(text)
        return words
