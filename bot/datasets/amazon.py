"""Sessions of AWS's SDK that read the descriptions of its services once in a process."""

import threading
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boto3.session import Session
    from botocore.loaders import Loader

_CREATING = threading.Lock()


def amazon_session(**keys: Any) -> "Session":
    """A boto3 session with these keys; with none, it looks for the bot's own identity.

    A client of a new session costs 90 ms of processor time, most of it for reading JSON files of
    botocore; sharing what was read leaves 15 ms. Sessions are not shared, because they keep keys.
    """
    # Importing boto3 takes a third of a second, so it is imported only when needed.
    import boto3  # noqa: PLC0415 - see above
    import botocore.session  # noqa: PLC0415 - as above

    core = botocore.session.Session()
    with _CREATING:  # what two threads read at once would be read twice
        session = boto3.session.Session(botocore_session=core, **keys)
        core.register_component("data_loader", _descriptions())
    return session


@cache
def _descriptions() -> "Loader":
    from botocore.loaders import create_loader  # noqa: PLC0415 - as above

    return create_loader()
