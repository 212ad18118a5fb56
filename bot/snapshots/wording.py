"""The words for snapshots, the same on cards, in answers and in messages."""


def mounting(claim: str, *, is_read_only: bool = False) -> str:
    """The option that mounts a PVC in a run."""
    return f"--pvc {claim}:/mnt{':ro' if is_read_only else ''}"
