"""Examples of submissions, one for each kind of run, shown in help."""

SUBMISSIONS = (
    (
        "submit lane --image ghcr.io/acme/lane:3.1 --gpus 2 --env BATCH_SIZE=33"
        " -- python train.py --epochs 3"
    ),
    (
        "submit eval --image ghcr.io/acme/lane:3.1 --gpus 1 --time 4h"
        " --pvc imagenet:/data:ro --secret WANDB_API_KEY=wandb/api-key -- python eval.py"
    ),
    (
        "submit fetch --image ghcr.io/acme/lane:3.1 --pvc standard:100Gi:/mnt"
        " --artifact /mnt/imagenet -- python fetch.py /mnt"
    ),
    (
        "submit xray --image ghcr.io/acme/lane:3.1 --gpus 1 --data chest-xray@v3:/data"
        " -- python train.py --data /data"
    ),
    (
        "submit fit --image ghcr.io/acme/lane:3.1 --gpus 1 --pvc imagenet:/data --snapshot imagenet"
        " --snapshot-keep 30d -- python train.py --data /data"
    ),
    (
        "submit lane3 --kind mpi --nodes 3 --gpus 1 --image ghcr.io/acme/lane:3.1"
        " --pvc imagenet:/data:ro -- python train.py"
    ),
    (
        "submit resnet --kind sync --nodes 2 --gpus 8 --image ghcr.io/acme/resnet:2.0"
        " --pvc imagenet:/data:ro -- python train.py"
    ),
    (
        "submit big --image ghcr.io/acme/lane:3.1 --gpus 4 --gpu-type h100"
        " -- python train.py --epochs 3"
    ),
    (
        "submit wide --image ghcr.io/acme/lane:3.1 --gpus 8 --on dgx,burst --fallback-after 30m"
        " -- python train.py"
    ),
    ("submit eval --image ghcr.io/acme/lane:3.1 --gpus 1 --after lane -- python eval.py"),
    (
        "submit tune --image ghcr.io/acme/lane:3.1 --gpus 1 --sweep lr=0.1,0.01 --at-most 1"
        " --metric accuracy --best max -- python train.py --lr {lr}"
    ),
    "submit nb --kind interactive --image quay.io/jupyter/base-notebook:2026-11-17 --time 4h",
    ("submit shell --kind interactive --image ghcr.io/acme/lane:3.1 --gpus 1 -- sleep infinity"),
    (
        "submit wide --kind elastic --nodes 1:3 --image ghcr.io/acme/lane:3.1 --gpus 8"
        " -- python train.py --epochs 3"
    ),
    (
        "submit net --kind nccl --nodes 2 --gpus 8"
        " --image public.ecr.aws/hpc-cloud/nccl-tests:cuda12.8.1"
    ),
)
