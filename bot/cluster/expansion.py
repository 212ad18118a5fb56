"""What a kubelet makes of words before a container gets them."""

import re

_EATEN = re.compile(r"\$\$+|\$(?=\()")


def unexpanded(text: str) -> str:
    """The text for a command, an argument or a variable, so that it arrives as it stands.

    A kubelet makes $ of $$ and fills in $(NAME), wherever that stands in the text.
    """
    return _EATEN.sub(lambda found: found[0] * 2, text)
