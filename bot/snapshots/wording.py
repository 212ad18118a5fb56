"""Wording of snapshots shared by cards, answers and replies."""


def mounting(claim: str, *, is_read_only: bool = False) -> str:
    """The option that mounts a PVC in a run."""
    return f"--pvc {claim}:/mnt{':ro' if is_read_only else ''}"
