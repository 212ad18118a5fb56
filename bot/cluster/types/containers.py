"""What nodes do to containers, and how these get what was meant."""

import re

VISIBLE_GPUS = "NVIDIA_VISIBLE_DEVICES"
# With this a container of NVIDIA's runtime gets no GPU and no driver, as from any other runtime.
NO_GPUS = "void"
_EATEN = re.compile(r"\$\$+|\$(?=\()")


def unexpanded(text: str) -> str:
    """The text for a command, an argument or a variable, so that it arrives as it stands.

    A kubelet makes $ of $$ and fills in $(NAME), wherever that stands in the text.
    """
    return _EATEN.sub(lambda found: found[0] * 2, text)


def without_gpus() -> dict[str, str]:
    """The variable for containers that request no GPU.

    Where NVIDIA's runtime is the default one, images that ask for all GPUs see those of others.
    """
    return {"name": VISIBLE_GPUS, "value": NO_GPUS}
