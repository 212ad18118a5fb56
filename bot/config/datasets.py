"""What quartermaster.yaml says of datasets, and of the object stores they live in."""

from typing import Annotated

from pydantic import Field, StringConstraints

from bot.config.kinds import BucketUrl, Name, StoreUrl
from bot.config.section import Section


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

    teams: tuple[Name, ...] = ()
    """Teams that may add datasets from it; nobody else may."""


class Datasets(Section):
    """Where datasets are looked through; without it there are no datasets."""

    namespace: Name
    """A namespace for nothing else: whoever may make pods there can read the stores' keys."""

    cluster: Name = "default"
    """A name from clusters."""

    image: Annotated[str, StringConstraints(min_length=1, max_length=255)]
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
