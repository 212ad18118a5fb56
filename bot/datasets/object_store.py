"""Reads a few small objects from an object store, for the bot itself."""

from collections.abc import Iterator
from contextlib import contextmanager

from bot.config import Settings as Configuration
from bot.config import Store
from bot.datasets.location import Location
from bot.datasets.manifest import Entry
from bot.datasets.worker.failures import WorkError
from bot.datasets.worker.stores.client import StoreClient
from bot.datasets.worker.stores.http import RefusedError
from bot.datasets.worker.stores.registry import TYPES, Settings, connected
from bot.datasets.worker.stores.settings import NoIdentityError, UnreadableError
from bot.errors import StorageError

# One more attempt if the first is not answered.
_PATIENCE_SECONDS = 0.1
GONE = "not_found"
"""The code of the error for an object that does not exist."""

_TRY_AGAIN = "Try again in a minute."


class ObjectStore:
    """A client of one object store, named as in the configuration; close it after use.

    Each instance reads the keys again, so that it uses rotated ones. Every request has a short
    time-out.
    """

    def __init__(self, name: str, store: Store) -> None:
        self._name = name
        self._store = store
        self._clients: dict[str, StoreClient] = {}

    def get(self, place: Location, name: str) -> bytes:
        """The content of an object below a place; StorageError if it cannot be read."""
        key = f"{place.prefix}{name}"
        with self._failing(f"{place.scheme}://{place.bucket}/{key}"):
            return self._client(place.bucket).read(key)

    def begin(self, place: Location, entry: Entry, most_bytes: int) -> bytes:
        """The first bytes of an object; StorageError if it is no longer the recorded one."""
        with self._failing(f"{place.url}{entry.key}"):
            engine = self._client(place.bucket).engine("auto", place.prefix, 1)
            return b"".join(engine.chunks(entry, 0, min(most_bytes, entry.size)))

    def look(self, place: Location) -> None:
        """Checks that a place can be listed; StorageError if it cannot."""
        with self._failing(place.url):
            self._client(place.bucket).probe(place.prefix)

    def close(self) -> None:
        """Closes its connections."""
        for client in self._clients.values():
            client.close()

    def _client(self, bucket: str) -> StoreClient:
        if bucket not in self._clients:
            where = settings_of(self._store, self._store.ca_file, self._store.credentials)
            self._clients[bucket] = connected(where, bucket, _PATIENCE_SECONDS)
        return self._clients[bucket]

    @contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        """Turns failures of the client into a StorageError for an admin of the bot."""
        doing = f"Reading {what} from store {self._name}"
        setting = f"stores.{self._name}.credentials"
        try:
            yield
        except UnreadableError as error:
            files = TYPES[self._store.type].files
            raise StorageError(
                f"The keys of store {self._name} cannot be read: {error.why}.",
                f"{setting} must name a folder with {files}.",
            ) from error
        except NoIdentityError as error:
            raise StorageError(
                f"{doing} failed: the bot has no keys for it and no identity of its own.",
                f"A platform admin must set {setting}.",
            ) from error
        except WorkError as error:
            raise self._refusal(doing, error) from error

    def _refusal(self, doing: str, error: WorkError) -> StorageError:
        setting = f"stores.{self._name}"
        code = str(error.code or error.status) if isinstance(error, RefusedError) else ""
        if error.keys:
            return _object_refusal(doing, error, setting)
        if error.reason == "not_found":
            said = f"{doing} failed: it does not exist ({code})."
            return StorageError(said, "It may have been deleted.", code=GONE)
        if error.reason == "no_access":
            why = code or error.message.rstrip(".")
            return StorageError(
                f"{doing} failed: the store rejected the bot's keys ({why}).",
                f"A platform admin must check {setting}.credentials.",
            )
        if code:
            # A request that is wrong stays so: the region or the endpoint is another one.
            said = f"{doing} failed: the store returned {code}."
            where = f"A platform admin finds them below {setting}."
            return StorageError(said, f"{error.hint} {where}" if error.hint else _TRY_AGAIN)
        return StorageError(
            f"{doing} failed: the store cannot be reached ({type(error.__cause__).__name__}).",
            f"{_TRY_AGAIN} {setting} sets the endpoint.",
        )


def _object_refusal(doing: str, error: WorkError, setting: str) -> StorageError:
    """Why the content of an object could not be read; engines do not say it in the store's code."""
    match error.reason:
        case "changed":
            return StorageError(error.message, "Record a new version of the dataset.")
        case "no_access":
            return StorageError(
                f"{doing} failed: the store does not let the bot read it.",
                f"A platform admin must allow it for the keys in {setting}.credentials.",
            )
        case _:
            said = f"{doing} failed: the store cannot be reached, or is too busy."
            return StorageError(said, f"{_TRY_AGAIN} {setting} sets the endpoint.")


def opened(settings: Configuration, name: str) -> ObjectStore:
    """The client of a configured store; StorageError if the settings no longer have it."""
    store = settings.stores.get(name)
    if store is None:
        raise StorageError(
            f"Store {name} is no longer in quartermaster.yaml.",
            "A platform admin must add it again.",
        )
    return ObjectStore(name, store)


def settings_of(store: Store, ca_file: str | None, credentials: str | None) -> Settings:
    """The settings of a store for a client; the files are where that client finds them."""
    kind = TYPES[store.type].settings
    told = {name: getattr(store, name) for name in kind.__struct_fields__}
    return kind(**(told | {"ca_file": ca_file, "credentials": credentials}))
