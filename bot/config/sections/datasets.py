"""Settings of datasets, and of their object stores."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from bot.config.kinds import BucketUrl, ClassName, Duration, Keep, Name, PlaceUrl, Size, StoreUrl
from bot.config.sections.fsx import FsxFolder, FsxService
from bot.config.sections.section import Section

DriverName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", max_length=63)
]
_Image = Annotated[str, StringConstraints(min_length=1, max_length=255)]


class Store(Section):
    """An object store."""

    type: Literal["s3", "gcs"] = "s3"
    """Its API: `s3` for Amazon S3 and compatible stores, `gcs` for Google Cloud Storage."""

    endpoint: StoreUrl | None = None
    """Its address, like https://grid.example.com:8082; without it, Amazon's or Google's."""

    public_endpoint: StoreUrl | None = None
    """Its address for people's computers, for `/dataset put`; without it, `endpoint`. Not for
    gcs."""

    region: Annotated[str, StringConstraints(min_length=1, max_length=63)] = "us-east-1"
    """The region that requests are signed for; not for gcs."""

    path_style: bool = False
    """Whether buckets are in the path of URLs instead of the host name, as in StorageGRID; not for
    gcs."""

    ca_file: str | None = None
    """A file with the CA of its certificate, for the bot; for pods, it is `ca.crt` in the
    Secret."""

    secret: Name | None = None
    """The Secret in `datasets.namespace` with its keys: access-key-id and secret-access-key, or
    key.json for gcs. Without it, pods use their own identity."""

    credentials: str | None = None
    """A folder with those keys for the bot itself; without it, the bot uses its own identity."""

    places: dict[Name, tuple[PlaceUrl, ...]] = Field(default_factory=dict)
    """Places in it where each team can add datasets from and push to, like s3://lake/team-a/. Teams
    can use no other places."""

    shared: tuple[PlaceUrl, ...] = ()
    """Places in it where every team can add datasets from. This does not allow pushes."""

    price_per_gib_month: Annotated[float, Field(gt=0)] | None = None
    """The monthly price of one GiB in it, in your currency, for the copies that `/dataset version
    --copy` makes."""


class CacheClass(Section):
    """A storage class for caches, with volumes that many nodes can mount (ReadWriteMany)."""

    throughput_mib_per_tib: Annotated[float, Field(gt=0)] | None = None
    """Throughput per TiB of a volume, in MiB/s. On ANF: Standard 16, Premium 64, Ultra 128."""

    least_size: Size | None = None
    """The smallest volume that it creates."""

    budget: Size | None = None
    """The total size of all caches of the class, if no quota of the namespace limits it."""

    price_per_gib_month: Annotated[float, Field(gt=0)] | None = None
    """The monthly price of one GiB of a volume, in your currency, for `/pvc` and for reports of
    unused PVCs."""

    watermark_percent: Annotated[int, Field(ge=1, le=100)] | None = None
    """Above this percentage of its capacity, the caches unused for longest are evicted."""

    fsx: FsxFolder | None = None
    """Makes this a file system instead of a storage class: versions are imported into it, not
    copied."""

    def monthly_price(self, size_bytes: int | None) -> float | None:
        """The price of a volume of this size for a month; None if price or size is unknown."""
        if self.price_per_gib_month is None or size_bytes is None:
            return None
        return self.price_per_gib_month * size_bytes / 2**30


class Layout(Section):
    """A command that rearranges a dataset's files once they are copied, before runs see them."""

    image: _Image | None = None
    """Its image; without it, the bot's own."""

    command: Annotated[tuple[str, ...], Field(min_length=1)]
    """The command and its arguments; the files are in its working directory."""


class ClusterCaches(Section):
    """Datasets in a further cluster; what is missing here is as in `datasets`."""

    namespace: Name | None = None
    """A namespace for nothing else in that cluster, with the same Secrets; without it,
    `datasets.namespace`."""

    service_account: Name | None = None
    """The service account of the pods there; without it, `datasets.service_account`."""

    classes: dict[ClassName, CacheClass]
    """The storage classes of that cluster that datasets are cached on; their budgets count its
    caches alone."""

    default_class: ClassName | None = None
    """The class there to use without `--class`; not needed if there is only one."""


class Datasets(Section):
    """How datasets are surveyed, cached and pushed; without it, there are no datasets."""

    namespace: Name
    """A namespace for nothing else: anyone who can create pods there can read the stores' keys."""

    cluster: Name = "default"
    """The cluster of the caches in `classes`, and of the Jobs of `/dataset version` and `/dataset
    put` unless another one is named: a name from `clusters`."""

    image: _Image
    """The bot's own image, which the pods there run."""

    state: BucketUrl
    """Where manifests are kept, like s3://quartermaster-state/datasets."""

    state_store: Name
    """The store of that bucket: a name from `stores`."""

    service_account: Name | None = None
    """The service account of the pods, if it is their identity for a store."""

    pull_secrets: tuple[Name, ...] = ()
    """Secrets in the namespace for pulling the image."""

    uid: Annotated[int, Field(ge=1)] = 10001
    """The user that the pods run as."""

    gid: Annotated[int, Field(ge=1)] = 10001
    """The group that the pods run as."""

    show_content: bool = False
    """Whether `/dataset head` may show the first lines of files in Slack."""

    umask: Annotated[str, StringConstraints(pattern="^0?[0-7]{3}$")] = "0022"
    """The umask for files of caches; with 0022, every user can read them."""

    classes: dict[ClassName, CacheClass] = Field(default_factory=dict)
    """The storage classes that datasets are cached on; without any, nothing is cached."""

    default_class: ClassName | None = None
    """The class to use without `--class`; not needed if there is only one."""

    clusters: dict[Name, ClusterCaches] = Field(default_factory=dict)
    """Further clusters in which datasets are recorded, pushed and cached, for the runs there."""

    keep: Keep = timedelta(days=1)
    """How long an unused cache is kept; teams and `--ttl` can override it."""

    notice: Duration = timedelta(hours=4)
    """How long before the eviction of a cache people are notified."""

    refresh: Keep = "off"
    """How often the sources of datasets in use are checked for new content, like 1d."""

    idle_claims: Keep = "off"
    """PVCs of teams not seen mounted for this long are reported to admins every morning."""

    evictions_per_sweep: Annotated[int, Field(ge=1, le=1000)] = 5
    """The maximum number of caches evicted at once."""

    shards: Annotated[int, Field(ge=1, le=64)] = 1
    """How many pods fill a cache together."""

    fill_cpus: Annotated[int, Field(ge=1, le=64)] = 4
    """The maximum number of CPUs that such a pod uses; it reads 16 objects at a time for each
    CPU."""

    slack_files: Size = 100 << 20
    """The maximum total size of the files that are copied from one message in Slack."""

    static_drivers: tuple[DriverName, ...] = (
        "nfs.csi.k8s.io",
        "efs.csi.aws.com",
        "fsx.csi.aws.com",
        "fsx.openzfs.csi.aws.com",
        "file.csi.azure.com",
        "filestore.csi.storage.gke.io",
    )
    """CSI drivers whose volumes can be mounted in other namespaces by their handle."""

    fsx: FsxService | None = None
    """The connection to Amazon FSx; without it, FSx is not used."""

    layouts: dict[Name, Layout] = Field(default_factory=dict)
    """The layouts that `--layout` accepts."""

    @property
    def everywhere(self) -> tuple[str, ...]:
        """The clusters with objects of datasets; the first one is that of `cluster`."""
        return (self.cluster, *self.clusters)

    @property
    def caching(self) -> tuple[str, ...]:
        """The clusters in which datasets are cached, as configured; none without any class."""
        return tuple(each for each in self.everywhere if self.at(each).classes)

    def at(self, cluster: str) -> "Datasets":
        """The settings of one cluster alone; unchanged for a cluster that has none of its own."""
        there = self.clusters.get(cluster)
        if there is None:
            return self
        told = {
            "cluster": cluster,
            "clusters": {},
            "namespace": there.namespace or self.namespace,
            "service_account": there.service_account or self.service_account,
            "classes": there.classes,
            "default_class": there.default_class,
        }
        return self.model_copy(update=told)

    def cluster_for(self, reach: Sequence[str]) -> str:
        """The cluster in which a team with these clusters caches unless it names another one."""
        there = self.caching
        return next((each for each in reach if each in there), (*there, self.cluster)[0])

    def named(self, cluster: str) -> str:
        """How messages name the cluster of a cache: not at all if all caches are in one."""
        return cluster if len(self.caching) > 1 else ""

    def classes_key(self, cluster: str) -> str:
        """Where the classes of a cluster are in the file."""
        return (
            f"datasets.clusters.{cluster}.classes"
            if cluster in self.clusters
            else ("datasets.classes")
        )
