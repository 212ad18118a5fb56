"""Commands of Run:ai as guides print them, pasted after `/train`."""

import pytest

from bot.errors import UsageError
from bot.slack.grammar.foreign import ForeignCommandError, Translation
from bot.slack.grammar.registry import Parsed, Registry
from handlers.declared import COMMANDS

REGISTRY = Registry(COMMANDS)
SHM = "`--large-shm` is left out: a run gets /dev/shm for its GPUs, and `--shm 64Gi` sets its size."
# As the guide to lane detection prints it: lines without backslashes.
LANE = """runai submit-mpi
      --name dist-lane-detection-training
      --large-shm
      --processes=3
      --gpu 1
      --pvc pvc-download-tusimple-data-0:/mnt
      --image muneer7589/dist-lane-detection:3.1
      -e USE_WORKERS="true"
      -e NUM_WORKERS=4"""
LANE_HERE = (
    "train submit dist-lane-detection-training --kind mpi --nodes 3 --gpus 1"
    " --pvc pvc-download-tusimple-data-0:/mnt --image muneer7589/dist-lane-detection:3.1"
    " --env USE_WORKERS=true --env NUM_WORKERS=4"
)
# As TR-4858 is printed: lines end within quoted options.
BENCHMARK = """$ runai submit netapp1 -i netapp/tensorflow-tfl-py3:20.01.0 --local-image
--large-shm -v /mnt:/mnt -v /tmp:/tmp --command python --args
"/netapp/scripts/run.py" --args "--
num_mounts=2" --args "--dgx_version=dgx1" -g 1"""


def foreign(text: str, command: str = "train") -> ForeignCommandError:
    """What the text is taken for."""
    with pytest.raises(ForeignCommandError) as caught:
        REGISTRY.parse(command, text)
    return caught.value


def refusal(text: str) -> str:
    """Why it is not translated."""
    with pytest.raises(UsageError) as caught:
        REGISTRY.parse("train", text)
    assert not isinstance(caught.value, ForeignCommandError)
    return f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    "text",
    [
        LANE,
        f"submit {LANE}",
        f"submit $ {LANE}",
        f"root@run-deploy:~# {LANE}",
        LANE.replace("\n", " \\\n"),
        LANE.replace("\n", "\\\r\n"),
        f"```\n{LANE}\n```",
        LANE.replace('"true"', "\u201ctrue\u201d").replace("--", "\u2014"),
        LANE.replace("--", "\u2013"),
        LANE.replace("--gpu 1", "\u2013g 1").replace("--image ", "-i="),
    ],
)
def test_the_guides_command_is_understood_however_pasted(text: str) -> None:
    error = foreign(text)
    assert error.text == LANE_HERE
    assert error.found.notes == (SHM,)
    assert not error.found.is_draft
    assert f"train {error.words}" == LANE_HERE


@pytest.mark.parametrize("lead", ["", "train ", "train submit "])
def test_it_is_understood_in_a_message_too(lead: str) -> None:
    with pytest.raises(ForeignCommandError) as caught:
        REGISTRY.parse_mention(f"{lead}{LANE}")
    assert (caught.value.text, caught.value.words) == (LANE_HERE, LANE_HERE)


def test_the_translation_reads_as_our_command() -> None:
    parsed = REGISTRY.parse("train", foreign(LANE).words)
    assert isinstance(parsed, Parsed)
    assert (parsed.values["name"], parsed.values["kind"]) == ("dist-lane-detection-training", "mpi")


def test_folders_of_a_node_become_a_draft() -> None:
    assert foreign(BENCHMARK).found == Translation(
        "Run:ai",
        (
            "submit", "netapp1", "--image", "netapp/tensorflow-tfl-py3:20.01.0",
            "--pvc", "mnt:/mnt", "--pvc", "tmp:/tmp", "--gpus", "1",
            "--", "python", "/netapp/scripts/run.py", "--num_mounts=2", "--dgx_version=dgx1",
        ),
        (
            (
                "`--local-image` is left out: nodes pull the image from its registry, so it has to"
                " be in one."
            ),
            SHM,
            (
                "`-v /mnt:/mnt` mounts a folder of the node, which differs from node to node, so"
                " runs do not mount it. Use a PVC, `--pvc mnt:/mnt`, or a dataset,"
                " `--data mnt:/mnt`, with the name of yours for `mnt`."
            ),
            (
                "`-v /tmp:/tmp` mounts a folder of the node, which differs from node to node, so"
                " runs do not mount it. Use a PVC, `--pvc tmp:/tmp`, or a dataset,"
                " `--data tmp:/tmp`, with the name of yours for `tmp`."
            ),
        ),
        is_draft=True,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        (
            "$ runai project set team-a runai submit hyper1 -i gcr.io/run-ai-demo/quickstart -g 1",
            "submit hyper1 --image gcr.io/run-ai-demo/quickstart --gpus 1 --team team-a",
        ),
        (
            "runai submit build1 -i python -g 1 --interactive --command sleep --args infinity",
            "submit build1 --image python --gpus 1 --kind interactive -- sleep infinity",
        ),
        (
            "runai submit lane -i a/lane:1 -g 0.5 --command -- python train.py --epochs 3",
            "submit lane --image a/lane:1 --gpus 0.5 -- python train.py --epochs 3",
        ),
        (
            "runai submit test-ingress -i jupyter/base-notebook --interactive --port 80:8888",
            "submit test-ingress --image jupyter/base-notebook --kind interactive --port 8888",
        ),
        (
            "runai submit --name get --pvc azurenetappfiles:100Gi:/mnt --image a/get:1.0",
            "submit get --pvc azurenetappfiles:100Gi:/mnt --image a/get:1.0",
        ),
        ("~> runai list", "list"),
        ("runai list jobs", "list"),
        ("runai logs download-tusimple-data -t 10", "logs download-tusimple-data --tail 10"),
        ("runai logs lane --tail 1", "logs lane --tail 1"),
        ("runai logs lane -f", "logs lane --follow"),
        ("runai get hyper1", "show hyper1"),
        ("runai describe job hyper1", "show hyper1"),
        ("runai delete hyper1", "stop hyper1"),
        ("runai bash build1", "open build1"),
    ],
)
def test_each_command_of_the_guides_has_ours(text: str, ours: str) -> None:
    error = foreign(text)
    assert (error.text, error.found.notes) == (f"train {ours}", ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "runai submit lane -i a/b --gpu-memory 5G --foo",
            (
                "`--gpu-memory` and `--foo` of Run:ai have no counterpart here. `--gpu-memory`: use"
                " a fraction of a GPU, `--gpus 0.5`. Leave them out, or write the run with our own"
                " options: `/train submit --help`."
            ),
        ),
        (
            "runai submit lane -i a/b --foo 3",
            (
                "`--foo` of Run:ai has no counterpart here. Leave it out, or write the run with our"
                " own options: `/train submit --help`."
            ),
        ),
        (
            "runai submit -i a/b",
            (
                "The name of the job is missing. For example"
                " `runai submit lane -i ghcr.io/acme/lane:3.1 -g 1`. `--name lane` names it."
            ),
        ),
        (
            "runai submit lane -i a/b --args python train.py",
            (
                "`train.py` belongs to no option: the job is already called `lane`. Put quotes"
                ' around a value of several words, for example `--args "--epochs 3"`.'
            ),
        ),
        (
            "runai submit lane -i",
            "`-i` needs a value. For example `runai submit lane -i ghcr.io/acme/lane:3.1 -g 1`.",
        ),
        (
            'runai submit lane -i a/b --command "echo it\'s"',
            (
                "In `--command echo it's` a quote does not end. Close it, or put the command after"
                " `--`."
            ),
        ),
        (
            "runai suspend lane",
            (
                "`runai suspend` has no counterpart here. `/train stop NAME` stops a run, and"
                " `/train resubmit NAME` starts it again."
            ),
        ),
        (
            "runai delete",
            "`runai delete` needs the name of a run. For example `runai delete lane`.",
        ),
        (
            "runai submit lane -i a/b --memory 8",
            (
                "`--memory` takes an amount with its unit such as `512Mi`, `64Gi` or `1.5Ti`, not"
                " `8`. Write it like `--memory 64Gi`. For example `/train submit lane --image"
                " ghcr.io/acme/lane:3.1 --gpus 2 --env BATCH_SIZE=33 -- python train.py --epochs"
                " 3`."
            ),
        ),
    ],
)
def test_what_cannot_be_translated_says_what_to_use(text: str, said: str) -> None:
    assert refusal(text) == said


def test_long_names_are_cut_and_told_apart() -> None:
    long = "netapp-tensorflow-multi-imagenet"
    first, second = (foreign(f"runai submit {long}-{n} -i a/b") for n in ("one", "two"))
    assert first.text == "train submit netapp-tensorflow-multi-e669f0 --image a/b"
    assert second.text == "train submit netapp-tensorflow-multi-160ca5 --image a/b"
    assert first.found.notes == (
        (
            f"The run is called `netapp-tensorflow-multi-e669f0` instead of `{long}-one`: names"
            " have at most 30 characters."
        ),
    )


def test_a_run_called_runai_is_still_ours() -> None:
    parsed = REGISTRY.parse("train", "submit runai --image a/b")
    assert isinstance(parsed, Parsed)
    assert parsed.values["name"] == "runai"
