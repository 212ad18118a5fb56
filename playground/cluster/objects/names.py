"""Names and labels as Kubernetes lets them be, and its words for those that it does not."""

import re
from collections.abc import Mapping
from typing import Any

from playground.cluster.objects.errors import Cause, wrong

LONGEST = 63
_LONGEST_SUBDOMAIN = 253
_RFC_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_RFC_1035_WORDS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_FORM = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_SUBDOMAIN = re.compile(_SUBDOMAIN_FORM)
_SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SUBDOMAIN_FORM}')"
)
_KEY_FORM = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_KEY = re.compile(_KEY_FORM)
_KEY_WORDS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    f"validation is '{_KEY_FORM}')"
)
_VALUE = re.compile(f"({_KEY_FORM})?")
_VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    f"or '12345', regex used for validation is '({_KEY_FORM})?')"
)


def label_faults(name: str) -> list[str]:
    """Why a name is no label of RFC 1035, in the words of Kubernetes."""
    return _faults(name, LONGEST, _RFC_1035, _RFC_1035_WORDS)


def subdomain_faults(name: str) -> list[str]:
    """Why a name is no subdomain of RFC 1123, as names of objects are."""
    return _faults(name, _LONGEST_SUBDOMAIN, _SUBDOMAIN, _SUBDOMAIN_WORDS)


def label_key_faults(key: str) -> list[str]:
    """Why the key of a label, or the name of a resource, is none."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        optional = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_KEY_WORDS}{optional}"]
    faults = []
    if slash:
        found = subdomain_faults(prefix) if prefix else ["must be non-empty"]
        faults += [f"prefix part {fault}" for fault in found]
    if not name:
        faults.append("name part must be non-empty")
    return faults + [f"name part {fault}" for fault in _faults(name, LONGEST, _KEY, _KEY_WORDS)]


def label_value_faults(value: str) -> list[str]:
    """Why the value of a label is none."""
    return _faults(value, LONGEST, _VALUE, _VALUE_WORDS)


def wrong_labels(labels: Mapping[str, Any] | None, where: str) -> list[Cause]:
    """What is wrong with a map of labels."""
    return [
        wrong(where, text, fault)
        for key, value in (labels or {}).items()
        for text, faults in ((key, label_key_faults(key)), (value, label_value_faults(value)))
        for fault in faults
    ]


def _faults(text: str, longest: int, form: re.Pattern[str], words: str) -> list[str]:
    faults = [] if len(text) <= longest else [f"must be no more than {longest} characters"]
    return faults if form.fullmatch(text) else [*faults, words]
