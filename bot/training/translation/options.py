"""The options of Run:ai's command line, and what takes their place here."""

from collections.abc import Mapping

VALUES: Mapping[str, str] = {
    **dict.fromkeys(("name",), "name"),
    **dict.fromkeys(("command",), "command"),
    **dict.fromkeys(("args",), "arguments"),
    **dict.fromkeys(("i", "image"), "--image"),
    **dict.fromkeys(("g", "gpu", "gpus", "gpu-devices-request"), "--gpus"),
    **dict.fromkeys(("cpu", "c", "cpu-core-request"), "--cpu"),
    **dict.fromkeys(("memory", "m", "cpu-memory-request"), "--memory"),
    **dict.fromkeys(("e", "env", "environment"), "--env"),
    **dict.fromkeys(("p", "project"), "--team"),
    **dict.fromkeys(("processes", "workers"), "--nodes"),
    **dict.fromkeys(("node-type", "node-pool", "node-pools"), "--gpu-type"),
    "pvc": "--pvc",
    "port": "--port",
}
"""Options with a value, by what it is here."""

FLAGS: Mapping[str, tuple[str, str]] = {
    "host-network": ("--host-network", ""),
    "interactive": ("--kind interactive", ""),
    "large-shm": (
        "",
        "is left out: a run gets /dev/shm for its GPUs, and `--shm 64Gi` sets its size.",
    ),
    "local-image": (
        "",
        "is left out: nodes pull the image from its registry, so it has to be in one.",
    ),
    "always-pull-image": ("", "is left out: use a tag of its own for each image."),
    "preemptible": (
        "",
        "is left out: whether a run can be preempted follows from its queue and `--priority`.",
    ),
}
"""Options without a value: what stands for them here, and a note that says why not."""

LEFT_OUT: Mapping[str, str] = {
    **dict.fromkeys(
        ("service-type", "s"),
        "is left out: a session gets its own address, which `open` on its card shows.",
    ),
    **dict.fromkeys(
        ("cpu-limit", "memory-limit", "cpu-core-limit", "cpu-memory-limit"),
        "is left out: a run may use the idle cores of its node, and its memory is its limit.",
    ),
    **dict.fromkeys(
        ("backoff-limit", "backofflimit"), "is left out: a run that fails is tried three times."
    ),
    **dict.fromkeys(
        ("ttl-after-finish",), "is left out: pods are kept for three days after the end of a run."
    ),
    "image-pull-policy": "is left out: use a tag of its own for each image.",
}
"""Options with a value that are not needed here, and why."""

VOLUMES = frozenset({"v", "volume"})
"""The option that mounts a folder of the node."""

KNOWN = frozenset({*VALUES, *LEFT_OUT, *VOLUMES})
"""All options that are followed by a value."""

OTHERS: Mapping[str, str] = {
    "gpu-memory": "use a fraction of a GPU, `--gpus 0.5`.",
    "working-dir": "start the program in a shell, `-- sh -c 'cd /app && python train.py'`.",
    "git-sync": "build the code into the image, and record it with `--code REPO@COMMIT`.",
    "job-name-prefix": "name the run; runs of one name are numbered, `lane#2`.",
    "attach": "follow the log with `train logs NAME --follow`.",
    "jupyter": "use `--kind interactive`, which starts a notebook.",
    "elastic": "use `--kind elastic --nodes 1:3`.",
    "run-as-user": "a platform admin sets `admission: {security: restricted}` for the team.",
    "host-ipc": "processes of a run share memory in /dev/shm; `--shm 64Gi` sets its size.",
}
"""Options that cannot be left out without a change of the run, and what to use."""

VERBS: Mapping[str, tuple[str, str]] = {
    "list": ("list", ""),
    "logs": ("logs", "For example `runai logs lane`."),
    "get": ("show", "For example `runai get lane`."),
    "describe": ("show", "For example `runai describe job lane`."),
    "delete": ("stop", "For example `runai delete lane`."),
    "bash": ("open", "For example `runai bash lane`."),
    "exec": ("open", "For example `runai exec lane`."),
    "suspend": ("", "`train stop NAME` stops a run, and `train resubmit NAME` starts it again."),
    "resume": ("", "`train resubmit NAME` starts a run again."),
    "config": ("", "The channel says for which team a command is; `--team NAME` names another."),
    "project": ("", "The channel says for which team a command is; `--team NAME` names another."),
    "submit-dist": ("", "Use `train submit lane --kind elastic --nodes 2 ...` or `--kind mpi`."),
}
"""Other verbs, by our verb, and a hint where there is none."""
