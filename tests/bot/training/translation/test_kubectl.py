"""The manifests of the guide to synchronous training, pasted after `/train`."""

import copy
from textwrap import dedent
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import UsageError
from bot.slack.grammar.foreign import ForeignCommandError
from bot.slack.grammar.registry import Registry
from handlers.declared import COMMANDS

REGISTRY = Registry(COMMANDS)
POD = """\
          hostNetwork: true
          volumes:
          - name: dshm
            emptyDir:
              medium: Memory
          - name: testdata-iface1
            persistentVolumeClaim:
              claimName: pb-fg-all-iface1
          - name: results
            persistentVolumeClaim:
              claimName: tensorflow-results
          containers:
          - name: netapp-tensorflow-py2
            image: netapp/tensorflow-py2:19.03.0
            command: COMMAND
            resources:
              limits:
                nvidia.com/gpu: 8
            volumeMounts:
            - mountPath: /dev/shm
              name: dshm
            - mountPath: /mnt/mount_0
              name: testdata-iface1
            - mountPath: /tmp
              name: results
            securityContext:
              privileged: true
"""
WORKER = (
    """$ cat << EOF > ./netapp-tensorflow-multi-imagenet-worker.yaml
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: netapp-tensorflow-multi-imagenet-worker
    spec:
      replicas: 1
      selector:
        matchLabels:
          app: netapp-tensorflow-multi-imagenet-worker
      template:
        metadata:
          labels:
            app: netapp-tensorflow-multi-imagenet-worker
        spec:
"""
    + POD.replace("COMMAND", '["bash", "/netapp/scripts/start-slave-multi.sh", "22122"]')
    + """    EOF
    $ kubectl create -f ./netapp-tensorflow-multi-imagenet-worker.yaml
"""
)
MASTER = (
    """$ cat << EOF > ./netapp-tensorflow-multi-imagenet-master.yaml
    apiVersion: batch/v1
    kind: Job
    metadata:
      name: netapp-tensorflow-multi-imagenet-master
    spec:
      backoffLimit: 5
      template:
        spec:
"""
    + POD.replace(
        "COMMAND",
        '["python", "/netapp/scripts/run.py", "--port=22122", "--num_devices=16",'
        ' "--nodes=10.61.218.152,10.61.218.154"]',
    )
    + """          restartPolicy: Never
    EOF
    $ kubectl create -f ./netapp-tensorflow-multi-imagenet-master.yaml
"""
)
VOLUMES = (
    "--gpus 8 --pvc pb-fg-all-iface1:/mnt/mount_0 --pvc tensorflow-results:/tmp --host-network"
    " --privileged -- sh -c 'python /netapp/scripts/run.py --port=22122 --num_devices=16"
    " --nodes=$QUARTERMASTER_HOSTS'"
)
NAME, IMAGE = "netapp-tensorflow-multi-1cfede", "--image netapp/tensorflow-py2:19.03.0"
NOTES = (
    (
        f"The run is called `{NAME}` instead of `netapp-tensorflow-multi-imagenet-master`: names"
        " have at most 30 characters."
    ),
    (
        "The addresses of 2 nodes are replaced by `$QUARTERMASTER_HOSTS`: a run gets its nodes when"
        " it starts."
    ),
    (
        "The volume at /dev/shm is left out: a run has one for its GPUs, and `--shm 64Gi` sets its"
        " size."
    ),
    "`backoffLimit: 5` is left out: a run that fails is tried three times.",
)
PLAIN = """apiVersion: batch/v1
kind: Job
metadata: {name: lane}
spec:
  activeDeadlineSeconds: 90
  template:
    spec:
      volumes: [{name: data, hostPath: {path: /srv/imagenet}}]
      containers:
      - image: a/lane:1
        args: [--epochs, "3"]
        env:
        - {name: BATCH, value: "33"}
        - {name: TOKEN, valueFrom: {secretKeyRef: {name: wandb, key: api-key}}}
        - {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        resources: {requests: {cpu: "4", memory: 8Gi}, limits: {example.com/x: 1}}
        volumeMounts: [{name: data, mountPath: /data}]
"""
WHOLE = dedent(MASTER[MASTER.index("    apiVersion") : MASTER.index("    EOF")])


def foreign(text: str) -> ForeignCommandError:
    """What the text is taken for."""
    with pytest.raises(ForeignCommandError) as caught:
        REGISTRY.parse("train", text)
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        MASTER,
        f"submit {MASTER}",
        f"```\n{MASTER}```",
        MASTER.replace("<<", "&lt;&lt;").replace(">", "&gt;").replace('"', "\u201d"),
        MASTER[MASTER.index("apiVersion") :].partition("    EOF")[0],
    ],
)
def test_the_job_of_a_launcher_brings_its_workers(text: str) -> None:
    error = foreign(text)
    assert error.text == f"train submit {NAME} {IMAGE} --kind sync --nodes 2 {VOLUMES}"
    assert (error.found.notes, error.found.is_draft) == (NOTES, False)


def test_a_deployment_becomes_workers_of_their_own() -> None:
    error = foreign(WORKER + MASTER)
    assert error.text == (
        f"train submit {NAME} {IMAGE} --kind sync --nodes 2 --form deployment --worker-command"
        f" 'bash /netapp/scripts/start-slave-multi.sh 22122' {VOLUMES}"
    )
    assert error.found.notes == NOTES


JOB = "apiVersion: batch/v1\nkind: Job\n"
UNREADABLE = (
    "The manifest cannot be read as YAML. Paste it with its line breaks and indentation, best as a"
    " code block in a message that mentions the bot."
)
TOO_MUCH = "The manifest is too long or too deep, or has aliases. Paste one Job at a time."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("when: 2026-13-45", UNREADABLE),
        ("size: " + "9" * 5000, UNREADABLE),
        ("when: !!timestamp soon", UNREADABLE),
        ("rate: !!float fast", UNREADABLE),
        ("run: !!python/object/apply:os.system [id]", UNREADABLE),
        ("? [a, b]\n: c", UNREADABLE),
        ("deep: " + "[" * 4000 + "]" * 4000, TOO_MUCH),
        ("one: &a [x]\ntwo: *a", TOO_MUCH),
        ("note: " + "x" * 20_000, TOO_MUCH),
    ],
)
def test_no_yaml_breaks_the_bot(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        REGISTRY.parse("train", JOB + text)
    assert f"{caught.value.message} {caught.value.hint}" == said


@pytest.mark.parametrize(
    "rest",
    [
        "metadata: {name: }",
        (
            "metadata: {name: lane}\nspec: {activeDeadlineSeconds: .inf, template: {spec:"
            " {containers: [{image: a/lane:1}]}}}"
        ),
        "metadata: {name: lane}\nspec: {template: {spec: {containers: [{image: }]}}}",
        "metadata: {name: lane}\nspec: {template: {spec: {containers: []}}}",
        "metadata: [lane]",
    ],
)
def test_a_manifest_with_gaps_is_refused(rest: str) -> None:
    with pytest.raises(UsageError) as caught:
        REGISTRY.parse("train", JOB + rest)
    assert f"{caught.value.message} {caught.value.hint}" == (
        "The manifest is not complete: a Job has `metadata.name`, and in"
        " `spec.template.spec.containers` an image. Paste all of it, from `apiVersion:` on."
    )


ODD = st.sampled_from(
    [None, "", "lane", 0, -1, True, 1.5, [], [None], ["a"], {}, {"name": None}, {"name": "data"}]
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """All places within a document that hold a value."""
    if not isinstance(value, dict | list):
        return []
    rows = value.items() if isinstance(value, dict) else enumerate(value)
    return [place for key, each in rows for place in [(value, key), *places(each)]]


@given(st.data())
@settings(max_examples=500)
def test_any_manifest_is_understood_or_refused(data: st.DataObject) -> None:
    manifest = yaml.safe_load(data.draw(st.sampled_from([PLAIN, WHOLE])))
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(places(manifest)))
        holder[key] = copy.deepcopy(data.draw(ODD))
    with pytest.raises(UsageError):
        REGISTRY.parse("train", yaml.safe_dump(manifest))


def test_what_no_line_can_spell_is_refused() -> None:
    command = yaml.safe_dump(["sh", "-c", 'echo "a \\"b\\""'], default_flow_style=True, width=200)
    pod = f"{{containers: [{{image: a/lane:1, command: {command.strip()}}}]}}"
    rest = f"metadata: {{name: lane}}\nspec: {{template: {{spec: {pod}}}}}"
    with pytest.raises(UsageError) as caught:
        REGISTRY.parse("train", JOB + rest)
    assert not isinstance(caught.value, ForeignCommandError)
    assert f"{caught.value.message} {caught.value.hint}" == (
        "The command has quotes and backslashes that one line cannot hold here. Put it into a"
        " script in the image, and start that: `-- sh run.sh`."
    )


def test_arguments_alone_become_a_draft() -> None:
    pod = "{containers: [{image: a/lane:1, args: [--epochs, '3']}]}"
    error = foreign(f"{JOB}metadata: {{name: lane}}\nspec: {{template: {{spec: {pod}}}}}")
    assert error.text == "train submit lane --image a/lane:1 -- --epochs 3"
    assert error.found.is_draft
    assert error.found.notes == (
        (
            "Without `command`, the arguments are those of the image's own program. Here a command"
            " is whole: put the program before them."
        ),
    )


def test_a_plain_job_becomes_a_draft() -> None:
    error = foreign(PLAIN)
    assert error.text == (
        "train submit lane --image a/lane:1 --cpu 4 --memory 8Gi --env BATCH=33"
        " --secret TOKEN=wandb/api-key --pvc imagenet:/data --time 2m -- --epochs 3"
    )
    assert error.found.is_draft
    assert error.found.notes == (
        (
            "Without `command`, the arguments are those of the image's own program. Here a command"
            " is whole: put the program before them."
        ),
        "`example.com/x: 1` is left out.",
        "The variable NODE is left out: it has no fixed value.",
        (
            "`hostPath: /srv/imagenet` mounts a folder of the node, which differs from node to"
            " node, so runs do not mount it. Use a PVC, `--pvc imagenet:/data`, or a dataset,"
            " `--data imagenet:/data`, with the name of yours for `imagenet`."
        ),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            WORKER,
            (
                "This Deployment has the workers of a run, which end with it. Paste the Job of"
                " the launcher, after the Deployment or alone: `--kind sync` starts workers on the"
                " other nodes itself."
            ),
        ),
        (
            MASTER + MASTER,
            "There is more than one run in it. Paste one Job at a time.",
        ),
        (
            "kubectl apply apiVersion: v1\nkind: ConfigMap\n",
            (
                "A manifest of kind ConfigMap is no run. Jobs can be pasted, and Deployments of"
                " their workers."
            ),
        ),
        (
            "apiVersion: batch/v1 kind: Job metadata: name: x",
            (
                "The manifest cannot be read as YAML. Paste it with its line breaks and"
                " indentation, best as a code block in a message that mentions the bot."
            ),
        ),
        (
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: &a x, labels: *a}\n",
            TOO_MUCH,
        ),
        (
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\n",
            (
                "The manifest is not complete: a Job has `metadata.name`, and in"
                " `spec.template.spec.containers` an image. Paste all of it, from `apiVersion:` on."
            ),
        ),
        (
            "kubectl create -f ./netapp-tensorflow-multi-imagenet-master.yaml",
            (
                "kubectl is not available here. Paste its manifest to submit it here, from"
                " `apiVersion:` on."
            ),
        ),
        (
            "kubectl delete deployment netapp-tensorflow-multi-imagenet-worker",
            (
                "kubectl is not available here. `/train stop NAME` stops a run. Workers are deleted"
                " with their run."
            ),
        ),
        (
            "kubectl delete job netapp-tensorflow-multi-imagenet-master",
            (
                "kubectl is not available here. `/train stop"
                " netapp-tensorflow-multi-imagenet-master` stops a run. Workers are"
                " deleted with their run."
            ),
        ),
        (
            "$ kubectl logs -f netapp-tensorflow-multi-imagenet-master-ppwwj",
            (
                "kubectl is not available here. `/train logs"
                " netapp-tensorflow-multi-imagenet-master` shows the log of a run."
            ),
        ),
        (
            "kubectl logs netapp-tensorflow-multi-imagenet-worker-654fc7f486-v6725",
            "kubectl is not available here. `/train logs NAME` shows the log of a run.",
        ),
        (
            "kubectl describe pod/lane-ppwwj",
            (
                "kubectl is not available here. `/train show lane` shows a run, and"
                " `/train why lane` what it waits for."
            ),
        ),
        (
            "kubectl get pods -o wide",
            (
                "kubectl is not available here. `/train list` lists runs, and `/train show NAME`"
                " shows one."
            ),
        ),
    ],
)
def test_other_pastes_say_what_to_use(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        REGISTRY.parse("train", text)
    assert not isinstance(caught.value, ForeignCommandError)
    assert f"{caught.value.message} {caught.value.hint}" == said
