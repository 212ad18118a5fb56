"""Images that cannot be pulled, in the words of the container runtime."""


def pull_words(image: str) -> str:
    """Why an image cannot be pulled."""
    return f'failed to resolve reference "{image}": {image}: not found'


def pull_failure(image: str, *, first: bool) -> tuple[str, str]:
    """Reason and message of a container whose image cannot be pulled, at first and later."""
    if first:
        return "ErrImagePull", pull_words(image)
    return (
        "ImagePullBackOff",
        f'Back-off pulling image "{image}": ErrImagePull: {pull_words(image)}',
    )
