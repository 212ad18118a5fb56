"""Values that only commands about runs take."""

import re

from bot.slack.grammar.parameters import Pattern, RunReference, matched


class AnyRun(RunReference):
    """A run, or an external workload of the team, whose name may be longer."""

    rule = re.compile(r"([a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?)(?:#([1-9][0-9]{0,5}))?")


class PodName(Pattern):
    """A pod of a run: by its number, its role in the run, or its full name."""

    word = "POD"
    rule = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
    form = "the number of a pod such as `1`, `launcher`, `worker-1`, or a pod's whole name"
    example = "1"


class PriorityName(Pattern):
    """A priority class of the cluster."""

    word = "CLASS"
    rule = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?")
    form = "the name of a WorkloadPriorityClass of the cluster"
    example = "interactive"


class PresetName(Pattern):
    """A preset of quartermaster.yaml."""

    word = "PRESET"
    rule = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
    form = "the name of a preset, as `/train presets` lists them"
    example = "resnet"


class TemplateNames:
    """Compute templates of quartermaster.yaml, in the order in which a run tries them."""

    word = "TEMPLATE[,TEMPLATE]"
    form = "names of compute templates, separated by commas, as `/train templates` lists them"
    example = "dgx,burst"

    def read(self, text: str) -> tuple[str, ...]:
        """The names, in order."""
        names = tuple(each.strip() for each in text.split(","))
        for each in names:
            matched(PresetName.rule, each)
        return names


class FormName(Pattern):
    """An alternative form of a kind."""

    word = "FORM"
    rule = re.compile(r"[a-z][a-z0-9-]{0,30}")
    form = "a form of the kind"
    example = "deployment"


class StateKept(Pattern):
    """A PVC of the team, or the path of one that the run mounts."""

    word = "PVC"
    rule = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?|/[^:\s\x00]{1,1000}")
    form = "the name of a PVC such as `results`, or the path where the run mounts one"
    example = "results"


class MetricName(Pattern):
    """A result that the bot reads from logs."""

    word = "RESULT"
    rule = re.compile(r"[A-Za-z][A-Za-z0-9 _/.-]{0,38}[A-Za-z0-9]?")
    form = "the name of a result on cards of runs, such as `accuracy` or `'val loss'`"
    example = "accuracy"


class MetricNames(Pattern):
    """Metrics of a run, with commas between them."""

    word = "METRIC"
    rule = re.compile(r"[\w .:/@%()+=\[\],-]{1,500}")
    form = "names of metrics such as `loss`, or `loss,val/loss`, in quotes if they have spaces"
    example = "loss"
