"""Names as labels of DNS: what Services, and everything with hosts of its own, have to fit."""

import re

LONGEST = 63
_RFC_1035 = re.compile(r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
_WORDS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def label_faults(name: str) -> list[str]:
    """Why a name is no label of RFC 1035, in the words of Kubernetes."""
    faults = [] if len(name) <= LONGEST else [f"must be no more than {LONGEST} characters"]
    return faults if _RFC_1035.match(name) else [*faults, _WORDS]
