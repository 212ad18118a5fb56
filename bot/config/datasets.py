"""What quartermaster.yaml says of datasets, and of the object stores they live in."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field, StringConstraints

from bot.config.fsx import FsxFolder, FsxService
from bot.config.kinds import BucketUrl, ClassName, Duration, Keep, Name, PlaceUrl, Size, StoreUrl
from bot.config.section import Section

DriverName = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", max_length=63)
]
_Image = Annotated[str, StringConstraints(min_length=1, max_length=255)]


class Store(Section):
    """An object store that speaks S3; its keys are files access-key-id and secret-access-key."""

    endpoint: StoreUrl | None = None
    """Its address, like https://grid.example.com:8082; without it Amazon S3."""

    region: Annotated[str, StringConstraints(min_length=1, max_length=63)] = "us-east-1"
    """The region that requests are signed for."""

    path_style: bool = False
    """Whether buckets stand in the path of addresses and not in the host name, as StorageGRID's."""

    ca_file: str | None = None
    """A file with its certificate's CA, for the bot; for pods it is `ca.crt` in the Secret."""

    secret: Name | None = None
    """The Secret in datasets.namespace with its keys; without it pods have their own identity."""

    credentials: str | None = None
    """A folder with those keys for the bot itself; without it the bot's own identity counts."""

    places: dict[Name, tuple[PlaceUrl, ...]] = Field(default_factory=dict)
    """Where in it each team may add datasets from and push to, like s3://lake/team-a/; no team may
    anywhere else."""

    shared: tuple[PlaceUrl, ...] = ()
    """Where in it every team may add datasets from, and none may push to by this."""


class CacheClass(Section):
    """A storage class whose volumes many nodes can mount (ReadWriteMany), for caches."""

    throughput_mib_per_tib: Annotated[float, Field(gt=0)] | None = None
    """MiB/s for each TiB of a volume: 16 on Standard, 64 on Premium, 128 on Ultra of ANF."""

    least_size: Size | None = None
    """The smallest volume it makes."""

    budget: Size | None = None
    """What all caches of the class may take, where no quota of the namespace says so."""

    price_per_gib_month: Annotated[float, Field(gt=0)] | None = None
    """What a GiB of a volume costs a month, in your currency, for reports of unused PVCs."""

    watermark_percent: Annotated[int, Field(ge=1, le=100)] | None = None
    """Above this part of its room the caches unused for longest are evicted."""

    fsx: FsxFolder | None = None
    """Then it is no storage class: versions are imported into this file system, not copied."""


class Layout(Section):
    """What rearranges a dataset's files once they are copied, before runs see them."""

    image: _Image | None = None
    """Its image; without it the bot's own."""

    command: Annotated[tuple[str, ...], Field(min_length=1)]
    """The command and its arguments; the files are in its working directory."""


class Datasets(Section):
    """Where datasets are looked through; without it there are no datasets."""

    namespace: Name
    """A namespace for nothing else: whoever may make pods there can read the stores' keys."""

    cluster: Name = "default"
    """A name from clusters."""

    image: _Image
    """The bot's own image, which the pods there run."""

    state: BucketUrl
    """Where manifests are kept, like s3://quartermaster-state/datasets."""

    state_store: Name
    """The store of that bucket: a name from stores."""

    service_account: Name | None = None
    """The service account of the pods, where it is their identity towards a store."""

    pull_secrets: tuple[Name, ...] = ()
    """Secrets in the namespace for pulling the image."""

    uid: Annotated[int, Field(ge=1)] = 10001
    """The user that the pods run as."""

    gid: Annotated[int, Field(ge=1)] = 10001
    """The group that the pods run as."""

    umask: Annotated[str, StringConstraints(pattern="^0?[0-7]{3}$")] = "0022"
    """What others may not do with the files of caches; with 0022 everybody reads them."""

    classes: dict[ClassName, CacheClass] = Field(default_factory=dict)
    """The storage classes that datasets are cached on; without any nothing is cached."""

    default_class: ClassName | None = None
    """The class where `--class` says none; not needed where there is one only."""

    keep: Keep = timedelta(days=1)
    """How long a cache stays that nobody uses; teams and `--ttl` can say otherwise."""

    notice: Duration = timedelta(hours=4)
    """How long before its eviction people are told."""

    refresh: Keep = "off"
    """How often the sources of datasets in use are looked through for new content, like 1d."""

    idle_claims: Keep = "off"
    """PVCs of teams that nobody was seen to mount for so long are told to admins every morning."""

    evictions_per_sweep: Annotated[int, Field(ge=1, le=1000)] = 5
    """The most caches that are evicted at once."""

    shards: Annotated[int, Field(ge=1, le=64)] = 1
    """How many pods fill a cache together."""

    fill_cpus: Annotated[int, Field(ge=1, le=64)] = 4
    """The most processors that such a pod uses; it reads sixteen objects at a time for each."""

    static_drivers: tuple[DriverName, ...] = (
        "nfs.csi.k8s.io",
        "efs.csi.aws.com",
        "fsx.csi.aws.com",
        "fsx.openzfs.csi.aws.com",
        "file.csi.azure.com",
        "filestore.csi.storage.gke.io",
    )
    """CSI drivers of which a volume can be mounted in other namespaces by its handle."""

    fsx: FsxService | None = None
    """Where FSx is asked; without it nothing of FSx is."""

    layouts: dict[Name, Layout] = Field(default_factory=dict)
    """What `--layout` may name."""
