"""A clock that stands still until a test moves it."""


class Watch:
    """Seconds as `time.monotonic` tells them, from 100 on."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds
