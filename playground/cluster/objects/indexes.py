"""Sets of completion indexes as Jobs write them: "0,2-4"."""

INDEX = "batch.kubernetes.io/job-completion-index"


def read_indexes(text: str, below: int | None = None) -> set[int]:
    """The indexes in a text (only those below a number, if one is given)."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first:
            found.update(range(int(first), int(last or first) + 1))
    return found if below is None else {index for index in found if index < below}


def show_indexes(indexes: set[int]) -> str:
    """Indexes as the Job controller writes them."""
    runs: list[list[int]] = []
    for index in sorted(indexes):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(a) if a == b else f"{a}{',' if b == a + 1 else '-'}{b}" for a, b in runs)


def indexes_problem(text: str, completions: int) -> tuple[int, str]:
    """How many indexes a text names, and what is wrong with it, if anything."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        limits = part.split("-")
        if len(limits) > 2:  # noqa: PLR2004 -- first and last
            return 0, (
                f'the fragment "{part}" violates the requirement that an index interval can have '
                "at most two parts separated by '-'"
            )
        for limit in limits:
            if not limit.isdigit():
                return 0, f'cannot convert string to integer for index: "{limit}"'
            if int(limit) >= completions:
                return 0, f'too large index: "{limit}"'
        first, end = int(limits[0]), int(limits[-1])
        if last >= first or (len(limits) > 1 and first >= end):
            previous, current = (last, first) if last >= first else (first, end)
            return 0, f"non-increasing order, previous: {previous}, current: {current}"
        total, last = total + end - first + 1, end
    return total, ""
