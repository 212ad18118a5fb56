"""Alice trains on two nodes: as one Job, and as a guide's launcher and workers, pasted."""

from playground.settings import Setup
from playground.story.person import Person
from playground.story.steps import ends_well, is_admitted, submits
from playground.story.story import Story

_ADMISSION = {"images": ["ghcr.io/acme/*"], "host_network": ["sync"], "privileged": ["sync"]}
SETUP = Setup(settings={"teams": {"team-a": {"admission": _ADMISSION}}})
IMAGE = "--image ghcr.io/acme/resnet:2.0"
COMMAND = f"--kind sync --nodes 2 --gpus 6 {IMAGE} --pvc imagenet:/data:ro -- python train.py"
BESIDE = ("secrets", "services")
GROUPED = (*BESIDE, "deployments")
_POD = """\
      hostNetwork: true
      volumes:
      - name: dshm
        emptyDir: {medium: Memory}
      - name: data
        persistentVolumeClaim: {claimName: imagenet}
      containers:
      - name: resnet
        image: ghcr.io/acme/resnet:2.0
        command: COMMAND
        resources: {limits: {nvidia.com/gpu: 6}}
        volumeMounts:
        - {mountPath: /dev/shm, name: dshm}
        - {mountPath: /mnt/mount_0, name: data}
        securityContext: {privileged: true}
"""
_WORKER = (
    """cat << EOF > ./worker.yaml
apiVersion: apps/v1
kind: Deployment
metadata: {name: multi-imagenet-worker}
spec:
  replicas: 1
  selector: {matchLabels: {app: multi-imagenet-worker}}
  template:
    metadata: {labels: {app: multi-imagenet-worker}}
    spec:
"""
    + _POD.replace("COMMAND", '["bash", "/scripts/start-slave-multi.sh", "22122"]')
    + "EOF\n"
)
_MASTER = (
    """cat << EOF > ./master.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: netapp-tensorflow-multi-imagenet-master}
spec:
  template:
    spec:
"""
    + _POD.replace(
        "COMMAND",
        '["python", "/scripts/run.py", "--port=22122", "--nodes=10.61.218.152,10.61.218.154"]',
    )
    + "      restartPolicy: Never\nEOF\nkubectl create -f ./master.yaml"
)
_SHORT = "netapp-tensorflow-multi-1cfede"


async def play(story: Story) -> None:
    """Launcher and workers begin, end and are stopped together, as one Job or as a group."""
    alice = story.person("Alice")
    story.trains("ghcr.io/acme/resnet", seconds_per_epoch=60)
    story.allowed_writes |= {f"{verb} {each}" for verb in ("create", "delete") for each in GROUPED}
    await _wrong_words_are_explained(story, alice)
    resnet = await submits(story, alice, "#team-a", "resnet", COMMAND)
    await is_admitted(story, resnet)
    await resnet.shows("Running for", "GPUs: 12 (6 on each of 2 nodes)", "Nodes: gpu-1, gpu-2")
    for each in BESIDE:
        await story.cluster_has(each, "team-a", "resnet", count=1)
    await ends_well(alice, "#team-a", resnet, "resnet")
    await resnet.shows("Succeeded in", "total images/sec 9748.80000")
    await _one_is_stopped(story, alice)
    await _the_guide_is_pasted(story, alice)
    await _one_node_is_compared(story, alice)


async def _wrong_words_are_explained(story: Story, alice: Person) -> None:
    await alice.types("#team-a", f"/train submit resnet --kind sync --nodes 2 {IMAGE}")
    await alice.is_told("--kind sync needs the command that runs on every node.")
    bob = story.person("Bob")
    await bob.types("#team-b", f"/train submit resnet --host-network {COMMAND}")
    await bob.is_told("team-b may not use the host network with --kind sync.")
    other = COMMAND.replace("ghcr.io/acme", "docker.io/evil")
    await alice.types("#team-a", f"/train submit resnet {other}")
    await alice.is_told(
        "team-a may not run the image docker.io/evil/resnet:2.0.", "It may run: ghcr.io/acme/"
    )
    await alice.types("#team-a", "/train runai submit lane -i ghcr.io/acme/lane:3.1 -v /mnt:/data")
    await alice.is_told(
        "This is a command of Run:ai.",
        "-v /mnt:/data mounts a folder of the node",
        "Use a PVC, --pvc mnt:/data, or a dataset, --data mnt:/data",
        "Nothing was started.",
    )


async def _one_is_stopped(story: Story, alice: Person) -> None:
    story.trains("ghcr.io/acme/resnet", never_ends=True)
    again = await submits(story, alice, "#team-a", "again", COMMAND)
    await is_admitted(story, again)
    await again.shows("Running for")
    await alice.types("#team-a", "/train stop again")
    await alice.is_told("Stopping again")
    await again.shows("Stopped after")
    await alice.is_mentioned("#team-a", "again was stopped by", thread=again)
    for name in ("resnet", "again"):
        for each in BESIDE:
            await story.cluster_has(each, "team-a", name, count=0)
    await story.cluster_has("pods", "team-a", "again", count=0)


async def _the_guide_is_pasted(story: Story, alice: Person) -> None:
    """Its launcher is a Job and its worker a Deployment; Kueue admits their pods as one group."""
    story.trains("ghcr.io/acme/resnet", seconds_per_epoch=60)
    await alice.types("#team-a", f"/train {_WORKER}{_MASTER}")
    shown = await alice.is_told(
        "This is a command of kubectl.",
        f"The run is called {_SHORT} instead of netapp-tensorflow-multi-imagenet-master",
        "The addresses of 2 nodes are replaced by $QUARTERMASTER_HOSTS",
        "Nothing was started yet. Do you want to run it?",
    )
    if shown is None:
        return
    await alice.clicks(shown, "Run it")
    await alice.is_told(f"Submitted run {_SHORT} with 2 nodes, each with 6 GPUs")
    card = await story.card("#team-a", _SHORT)
    await is_admitted(story, card)
    for each in GROUPED:
        await story.cluster_has(each, "team-a", _SHORT, count=1)
    await card.shows("GPUs: 12 (6 on each of 2 nodes)", "Nodes: gpu-1, gpu-2")
    await ends_well(alice, "#team-a", card, _SHORT)
    for each in GROUPED:
        await story.cluster_has(each, "team-a", _SHORT, count=0)


async def _one_node_is_compared(story: Story, alice: Person) -> None:
    alone = COMMAND.replace("--nodes 2", "--nodes 1")
    single = await submits(story, alice, "#team-a", "single", alone)
    await is_admitted(story, single)
    await ends_well(alice, "#team-a", single, "single")
    await alice.types("#team-a", "/train compare single resnet --by nodes")
    await alice.is_told(
        "Throughput by number of nodes",
        "resnet reaches 9,748.80 total images/sec on 12 GPUs, 100.0 % of 9,748.80",
    )
