"""The library of Azure NetApp Files, as threads of the bot use it."""

import subprocess
import sys

# In a process of its own: in this one other tests may have made models before.
_OPENED = """
from azure.mgmt.netapp import models
from bot.config import Anf
from bot.volumes.arm import open_client

anf = Anf(subscription="01234567-89ab-cdef-0123-456789abcdef")
open_client(anf, anf.subscription).close()
kinds = [each for each in vars(models).values() if hasattr(each, "_calculated")]
print(len(kinds) > 100, [k for k in kinds if f"{k.__module__}.{k.__name__}" not in k._calculated])
"""


def test_no_thread_meets_a_model_first() -> None:
    command = [sys.executable, "-c", _OPENED]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert told.stdout == "True []\n"
